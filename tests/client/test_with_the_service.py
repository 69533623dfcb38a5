"""The Python client against the real service."""

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.client import Retries
from sottovoce.errors import (
    HorizonReached,
    InvalidLoss,
    RoundClosed,
    ServiceAway,
    ServiceError,
    StudyNotFound,
    UnknownAction,
)
from sottovoce.service.keys import KeyStore
from sottovoce.service.store import ServiceStore

DRINKS = ["tea", "coffee", "cocoa", "milk", "water"]
QUICK = Retries(attempts=8, first=0.01, longest=0.5)
SETTINGS = {"domain": sv.domains.Hypersimplex(DRINKS, 2), "horizon": 2000, "loss_range": (0.0, 1.0), "seed": 3}
PLAYED = SETTINGS | {"losses": "linear", "integral": True, "probes": 3, "least_events": 4}


@pytest.fixture
def storage(tmp_path):
    return f"sqlite:///{tmp_path}/studies.db"


def create(storage, **changes):
    sv.Study.open(storage, name="spring", **(PLAYED | {"privacy": sv.PureDP(1.0)} | changes)).close()


def play(study, turns):
    """Ask and tell, one and in blocks; return what was asked, and the recommendation."""
    worth, seen = np.array([0.9, 0.1, 0.7, 0.2, 0.5]), []
    for turn in range(turns):
        if turn % 3:
            action = study.ask()
            seen.append(action.x)
            if action.wants_loss:
                study.tell(action.id, action.x @ worth / 2)
        else:
            actions = study.ask(10)
            seen.extend(actions.x)
            study.tell(actions.ids[actions.wants_loss], (actions.x @ worth / 2)[actions.wants_loss])
    return np.array(seen), study.recommend()


def test_through_http_and_directly_a_study_goes_the_same_way(storage, serving, tmp_path):
    simulated = {"privacy": sv.PureDP(1.0), "noise": sv.SimulatedNoise(5)}
    with sv.Study.open(f"sqlite:///{tmp_path}/direct.db", name="spring", **PLAYED, **simulated) as direct:
        asked, recommended = play(direct, 40)
        status, exported = direct.status(), direct.export()
    create(storage, noise=sv.SimulatedNoise(5))
    with serving(storage, dev=True, simulated=5) as url, sv.connect(url, study="spring", raw_losses=True) as remote:
        over_http, recommended_there = play(remote, 40)
        assert (over_http == asked).all()
        assert status.round > 5
        assert "SIMULATED NOISE" in remote.report(tmp_path / "page.html").read_text()
        there = remote.status()
        assert str(there) == str(status)
        assert there.to_dict() == status.to_dict()
        assert recommended_there.to_dict() == recommended.to_dict()
        assert str(recommended_there) == str(recommended)
        assert remote.export()["rounds"] == exported["rounds"] != []


def test_a_key_errors_and_what_is_outstanding(storage, serving):
    create(storage, horizon=40, patience=1)
    store = ServiceStore(storage)
    _, key = KeyStore(store).create(["ask", "tell"], study="spring")
    _, reader = KeyStore(store).create(["read"], study="spring")
    store.close()
    with serving(storage) as url:
        remote, looking = (
            sv.connect(url, study="spring", key=one, retries=QUICK, raw_losses=True) for one in (key, reader)
        )
        action = remote.ask()
        assert len(action.chosen) == 2
        assert set(action.chosen) <= set(DRINKS)
        again = remote.ask()
        assert sorted(again.chosen) == sorted(DRINKS[i] for i in again.indices)
        assert remote.forget(again.id) == 1
        assert remote.tell(action.id, 0.5) == (1, 0, 0)
        assert remote.tell(action.id, 0.5) == (0, 1, 0)
        with pytest.raises(UnknownAction):
            remote.tell("1.0.0.000000000000", 0.5)
        with pytest.raises(InvalidLoss):
            remote.tell(action.id, np.nan)
        with pytest.raises(ServiceError) as refused:
            remote.status()
        assert refused.value.kind == "forbidden"
        first = remote.ask(37)
        assert first.x.shape == (37, 5)
        assert looking.status().asked == 39
        waiting = looking.outstanding(5)
        assert waiting.ids.tolist() == first.ids[:5].tolist()
        assert "losses are outstanding" in str(waiting)
        assert remote.forget(first.ids[:2]) == 2
        with pytest.raises(RoundClosed):
            remote.tell(first.ids[0], 0.5)
        assert remote.tell(first.ids[0], 0.5, late="drop") == (0, 0, 1)
        remote.ask()
        with pytest.raises(HorizonReached):
            remote.ask()
        assert looking.recommend().x.sum() == 2
        with pytest.raises((StudyNotFound, ServiceError)):
            sv.connect(url, study="autumn", key=key).ask()
        for one in (remote, looking):
            one.close()


def test_local_privacy_from_end_to_end(storage, serving):
    create(storage, privacy=sv.LocalDP(1.0))
    with serving(storage, dev=True) as url, sv.connect(url, study="spring", privacy=sv.LocalDP(1.0)) as remote:
        actions = remote.ask(30)
        assert remote.channel == sv.local.OneBitChannel((0.0, 1.0), 1.0)
        with pytest.raises(TypeError, match="under LocalDP a raw loss is refused"):
            remote.tell(actions.ids, np.zeros(30))
        told = remote.tell(actions.ids, report=sv.local.privatise(np.linspace(0, 1, 30), remote.channel))
        assert told.recorded + told.dropped == 30
        assert remote.status().told == told.recorded > 0


def test_a_service_that_goes_and_comes_back_has_every_loss_once(storage, serving):
    create(storage, losses="convex", integral=False)
    with serving(storage, dev=True) as url:
        port = int(url.rpartition(":")[2])
        remote = sv.connect(url, study="spring", retries=QUICK, raw_losses=True)
        actions = remote.ask(60)
        assert remote.tell(actions.ids[:20], np.full(20, 0.5)).recorded == 20
    with pytest.raises(ServiceAway):
        remote.tell(actions.ids[20:], np.full(40, 0.25))
    with serving(storage, port, dev=True):
        assert remote.tell(actions.ids, np.full(60, 0.25)) == (40, 20, 0)
        assert remote.status().told == 60
        remote.close()
