"""An export holds what was released and what is public: all of it, and nothing else."""

import json
import re

import numpy as np
import pytest
from study_tools import Look

import sottovoce as sv
from sottovoce.studies import export_lines

OPTIONS = {
    "domain": sv.domains.Birkhoff(3),
    "horizon": 2000,
    "loss_range": (0.0, 1.0),
    "privacy": sv.PureDP(1.0),
    "losses": "linear",
    "integral": True,
    "seed": 1,
}
WAYS = {"posterior": {"probes": 3, "least_events": 8}, "designs": {"plan": "worst-case"}}


@pytest.fixture(params=WAYS)
def way(request):
    return request.param


@pytest.fixture
def study(tmp_path, way):
    with sv.Study.open(f"sqlite:///{tmp_path}/study.db", name="a", deadline=1e6, **OPTIONS, **WAYS[way]) as study:
        for _ in range(3):
            actions = study.ask_round()
            wanted = actions.ids[actions.wants_loss]
            study.tell(wanted[2:], np.full(len(wanted) - 2, 0.25))
            study.forget(wanted[:2])
        yield study


def test_an_export_says_what_the_study_was_made_with_and_where_it_stands(study, way):
    exported = study.export()
    found = json.loads(json.dumps(exported, allow_nan=False))
    made = found["configuration"]
    assert (found["name"], made["domain_name"], made["horizon"], made["deadline"]) == ("a", "Birkhoff(3)", 2000, 1e6)
    assert made["privacy"] == {"kind": "PureDP", "epsilon": 1.0, "contributions": 1}
    assert found["privacy"] == str(study.privacy)
    assert found["status"] == json.loads(json.dumps(study.status().to_dict()))
    assert found["epochs"][0]["plan"]["exploration"] == study.plan.exploration == way
    assert found["epochs"][0]["plan"]["noise"]["family"] == "laplace"
    counters, *rounds = map(json.loads, export_lines(exported))
    assert {**counters, "rounds": rounds} == found


def test_an_export_has_every_closed_round_as_it_was_played(study, way):
    played = study.ask(10)  # a fourth round, open
    found = study.export()["rounds"]
    assert [one["round"] for one in found] == [0, 1, 2]
    assert [one["first_event"] for one in found] == np.cumsum([0] + [one["size"] for one in found[:-1]]).tolist()
    assert all(one["state"] == "released" and one["missing"] == 2 for one in found)
    numbers = WAYS[way].get("probes", 1)
    assert all(len(one["released"]) == len(one["weights"]) == numbers for one in found)
    sums = [one["released"][0] for one in found]
    assert all(float(one).is_integer() for one in sums)  # integers with integer noise
    assert len(set(sums)) == len(sums)
    for one in found:  # in the domain's own coordinates: doubly stochastic matrices
        point = np.reshape(one["point"], (3, 3))
        np.testing.assert_allclose(point.sum(axis=0), 1, atol=1e-6)
        np.testing.assert_allclose(point.sum(axis=1), 1, atol=1e-6)
    assert len(played) == 10


def test_an_export_holds_no_loss_of_an_open_round(study, tmp_path):
    actions = study.ask_round()
    wanted = actions.ids[actions.wants_loss]
    study.tell(wanted[:-1], np.linspace(0.2, 0.7, len(wanted) - 1))
    integers = list(Look(f"sqlite:///{tmp_path}/study.db", "a").told().values())
    assert len(integers) == len(wanted) - 1
    numbers = set(re.findall(r"[-+.\deE]+", json.dumps(study.export())))  # whole ones: six digits may be a part of any
    assert numbers.isdisjoint(map(str, integers))


def test_a_dropped_round_is_exported_without_numbers(study, tmp_path):
    study.ask(5)
    study.close()
    with sv.Study.open(f"sqlite:///{tmp_path}/study.db", name="a", restored=True) as again:
        last = again.export()["rounds"][-1]
    assert (last["state"], last["size"], last["missing"]) == ("dropped", 5, None)
    assert "released" not in last
