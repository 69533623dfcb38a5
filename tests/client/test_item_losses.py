"""Losses of items, from clients: what was clicked shows in no length, on the wire or on disk, and in no error."""

import json

import numpy as np
import pytest

import sottovoce as sv
from item_reports import PRIVATE, wrong_reports
from sampling import every
from shown import shows
from sottovoce.client._item_losses import ItemsShown

NAMES = ["mint-tea-777", "latte-778", "mocha-779", "water-780"]
CLICKS = [{}, {"latte-778": -1.0}, {"water-780": -0.31415, "mocha-779": -1e-9}, dict.fromkeys(NAMES, -1.0)]


@pytest.fixture
def items(stand_in):
    stand_in.items = NAMES


def in_order(clicks):
    return [clicks.get(name) for name in NAMES]


@pytest.mark.usefixtures("items")
@every("size", [None, 3])
def test_a_message_is_as_long_whatever_was_clicked(connected, stand_in, size):
    remote = connected()
    stand_in.requests.clear()
    for clicks in CLICKS:
        for told in (clicks, in_order(clicks)):
            asked = remote.ask(size)
            if size is None:
                remote.tell(asked.id, told)
            else:
                remote.tell(asked.ids, [told, {}, told])
    bodies = stand_in.bodies("tell")
    found = [json.loads(body) for body in bodies]
    ids = [json.dumps(one.get("id", one.get("ids"))) for one in found]
    assert len({len(body) - len(one) for body, one in zip(bodies, ids, strict=True)}) == 1
    rows = [one["loss"] if size is None else one["losses"][2] for one in found]
    assert rows == [in_order(clicks) for clicks in CLICKS for _ in range(2)]


@pytest.mark.usefixtures("items")
def test_no_error_shows_what_was_told(connected):
    remote = connected()
    action = remote.ask()
    for report in wrong_reports(NAMES):
        if isinstance(report, float | np.ndarray) and np.ndim(report) == 0:
            continue  # one number: it is for the service to refuse
        for ids, told in ((action.id, report), ([action.id], [report]), ("1.0.ff.unknown", {NAMES[0]: -0.31415})):
            with pytest.raises((sv.errors.SottovoceError, ValueError, TypeError)) as caught:
                remote.tell(ids, told)
            assert not shows(caught.value, *PRIVATE)


def test_names_are_known_where_actions_were_asked_for_and_the_oldest_are_let_go_of():
    items = ItemsShown(most=2)
    items.remember([{"id": str(one), "items": [["a", one], ["b", one]]} for one in range(3)])
    assert items.in_order(["2", "1"], [{("b", 2): 1.0}, [0.5, None]]) == ((None, 1.0), (0.5, None))
    with pytest.raises(sv.errors.InvalidLoss, match="known where it was asked for"):
        items.in_order(["0"], [{("b", 0): 1.0}])
    assert items.in_order(["0"], [np.array([1.0, 2.0])]) == ((1.0, 2.0),)


SETS = [
    sv.domains.Paths([("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), ("a", "d")], source="a", target="d"),
    sv.domains.Product({"drink": sv.domains.Simplex(NAMES), "cup": sv.domains.Simplex(2)}),
]


@pytest.mark.parametrize("domain", SETS, ids=["paths", "product"])
def test_a_service_learns_what_a_study_in_process_would(serving, tmp_path, domain):
    here, there = (f"sqlite:///{tmp_path}/{name}.db" for name in ("here", "there"))
    settings = {"domain": domain, "horizon": 400, "privacy": sv.NoPrivacy(), "feedback": "items", "seed": 1}
    settings |= {"integral": True, "loss_range": (0.0, 1.0), "most": 1.0, "name": "s"}
    with sv.Study.open(here, **settings) as study:
        expected = played(study, domain)
    sv.Study.open(there, **settings).close()
    with serving(there, dev=True) as url, sv.connect(url, study="s", raw_losses=True) as remote:
        assert played(remote, domain) == expected


def played(study, domain):
    """Tell by name and in order, one by one and in blocks; return what is recommended."""
    for turn in range(16):
        actions = study.ask(10) if turn % 2 else [study.ask() for _ in range(10)]
        ids, told = [str(one.id) for one in actions], []
        for one in actions:
            places = domain.in_order(one.indices)
            losses = [float(item % 2) for item in places]
            named = {name: 1.0 for name, loss in zip(domain.names_at(places), losses, strict=True) if loss}
            told.append(named if turn % 4 < 2 else losses)
        if turn % 2:
            study.tell(ids, told)
        else:
            for one, losses in zip(ids, told, strict=True):
                study.tell(one, losses)
    return study.recommend().x.tolist(), study.status().told
