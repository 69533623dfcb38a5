"""What a study says of itself to whoever exports, states or takes home: what was released and what is public."""

import json
import re

import numpy as np
import pytest
from study_tools import Look, ball, believing, sums

import sottovoce as sv
from sottovoce.errors import ConfigurationMismatch, StudyNotFound
from sottovoce.studies import export_lines, state_stored

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


# ---------------------------------------------------------------------- stating it where it lies


def test_a_statement_says_what_status_and_verify_say(sqlite_url, opened):
    study = opened(sqlite_url, name="spring", **sums(privacy=sv.PureDP(1.0)))
    for _ in range(2):
        block = study.ask_round()
        study.tell(block.ids[:-1], np.full(len(block) - 1, 0.5))
        study.forget(block.ids[-1:])
    study.ask(size=3)
    stated, status = state_stored(sqlite_url, "spring", verify=True), study.status()
    assert (stated.rounds, stated.open_rounds, stated.told) == (status.round, status.open_rounds, status.told)
    assert (stated.released, stated.forgotten, stated.incarnation) == (2, status.forgotten, status.incarnation)
    assert stated.asked >= status.asked  # a process may have reserved more than it has handed out
    assert stated.privacy == study.privacy
    assert stated.verification.ok
    assert not stated.restored


def test_a_server_is_stated_with_what_its_log_keeps_and_without_a_password(postgres_url, opened):
    opened(postgres_url, name="spring", **sums(privacy=sv.PureDP(1.0)))
    told = postgres_url.replace("tester@", "tester:hush-hush@")
    assert told != postgres_url
    stated = state_stored(told, "spring")
    assert "hush-hush" not in repr(stated)
    assert any("the server's own log" in one for one in stated.privacy.not_covered)
    assert not stated.reachable


def test_a_set_of_functions_has_to_be_passed_and_simulated_noise_has_not(sqlite_url, opened):
    cheapest = sv.domains.Custom(lambda cost: (np.arange(3) == np.argmin(cost)).astype(float), 3)
    study = opened(sqlite_url, name="own", **ball(domain=cheapest, privacy=sv.PureDP(1.0), noise=sv.SimulatedNoise(1)))
    with pytest.raises(ConfigurationMismatch):
        state_stored(sqlite_url, "own")
    stated = state_stored(sqlite_url, "own", domain=cheapest)
    assert stated.privacy.simulated
    assert stated == study.statement()
    with pytest.raises(StudyNotFound):
        state_stored(sqlite_url, "another")


def test_a_file_that_others_can_reach_is_noted(sqlite_url, shelf, opened):
    opened(sqlite_url, name="spring", **sums()).close()
    assert not state_stored(sqlite_url, "spring").reachable
    (shelf / "study.db").chmod(0o644)
    assert state_stored(sqlite_url, "spring").reachable


# ---------------------------------------------------------------------- what to take home


COSTS = np.array([0.9, 0.1, 0.8, 0.9, 0.2, 0.7]) / 2
BEST = np.array([0.0, 1.0, 0.0, 0.0, 1.0, 0.0])


def made(**changes):
    return believing(domain=sv.domains.Hypersimplex(6, 2), horizon=600, integral=False, seed=2) | changes


DESIGNS = {"exploration": "designs", "probes": None, "least_events": None}


@pytest.mark.parametrize("options", [{}, {"horizon": None}, {"horizon": None, **DESIGNS}])
def test_any_process_is_told_the_same_when_all_is_asked(opened, sqlite_url, options):
    """All of a horizon, or of three epochs of which the first has its losses: then no plan at hand knows anything."""
    given = {name: one for name, one in made(**options).items() if one is not None or name == "horizon"}
    study, other = opened(sqlite_url, **given), opened(sqlite_url)
    assert other.recommend().rounds == 0
    actions = study.ask(study.remaining or 256 + 512 + 100)
    told = slice(None if study.horizon else 256)
    study.tell(actions.ids[told], actions.x[told] @ COSTS)
    found = study.recommend()
    assert found.rounds > 0
    assert study.horizon is None or np.array_equal(found.x, BEST)
    assert found.to_dict() == other.recommend().to_dict()
    study.close()
    again = opened(sqlite_url)
    assert again.recommend().to_dict() == found.to_dict()
    assert again.remaining == study.remaining


def test_interactions_are_seen_and_said(opened, sqlite_url):
    """Losses that depend on pairs of items: the model of single items is refuted by what was released."""
    study = opened(sqlite_url, **made(horizon=20_000))
    assert study.status().fit_check is None
    actions = study.ask(16_000)
    pairs = np.abs(actions.x[:, 0::2].sum(axis=1) - 1.0)  # both of one kind, or one of each
    coins = np.random.default_rng(0).random(len(pairs))
    study.tell(actions.ids, (coins < 0.2 + 0.5 * pairs).astype(float))
    status, found = study.status(), study.recommend()
    assert status.fit_check.serious
    assert found.fit_check.serious
    assert "losses do not look linear in the action" in str(status)
    assert "do not look linear" in found.caution
    assert "plan='worst-case'" in str(found)
    assert status.to_dict()["fit_check"]["probability"] < 1e-4
