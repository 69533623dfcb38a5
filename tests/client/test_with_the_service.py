"""The Python client against the real service; tests/test_parity.py holds its answers against those of memory."""

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.client import Retries
from sottovoce.errors import ServiceAway, ServiceError
from sottovoce.service.keys import KeyStore
from sottovoce.service.store import ServiceStore

QUICK = Retries(attempts=8, first=0.01, longest=0.5)


def test_a_service_that_goes_and_comes_back_has_every_loss_once_and_says_what_the_study_says(serving, tmp_path):
    storage = f"sqlite:///{tmp_path}/studies.db"
    settings = {"domain": sv.domains.Simplex(["tea", "coffee", "cocoa"]), "horizon": 2000, "loss_range": (0.0, 1.0)}
    sv.Study.open(storage, name="spring", privacy=sv.PureDP(1.0), least_events=4, **settings).close()
    store = ServiceStore(storage)
    (_, key), (_, reader) = (KeyStore(store).create(can, study="spring") for can in (["ask", "tell"], ["read"]))
    store.close()
    with serving(storage) as url:
        port = int(url.rpartition(":")[2])
        remote = sv.connect(url, study="spring", key=key, retries=QUICK, raw_losses=True)
        actions = remote.ask(60)
        assert remote.tell(actions.ids[:20], np.full(20, 0.5)).recorded == 20
        with pytest.raises(ServiceError) as refused:
            remote.status()
        assert refused.value.kind == "forbidden"
    with pytest.raises(ServiceAway):
        remote.tell(actions.ids[20:], np.full(40, 0.25))
    with serving(storage, port), sv.connect(url, study="spring", key=reader) as looking:
        assert remote.tell(actions.ids, np.full(60, 0.25)) == (40, 20, 0)
        remote.close()
        status, exported = looking.status(), looking.export()
        assert "spring" in looking.report(tmp_path / "page.html").read_text()
    with sv.Study.open(storage, name="spring") as study:
        assert status.to_dict() == study.status().to_dict()
        assert status.told == 60
        assert exported["rounds"] == study.export()["rounds"] != []
