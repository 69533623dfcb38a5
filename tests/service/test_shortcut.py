"""The shortcut to the calls that come most often answers as the usual way does."""

import re

import pytest

from sottovoce.service import shortcut

STREAM = {"Content-Type": "application/x-ndjson"}


def calls(served, one, two):
    """Return what comes back for calls of all kinds, good and bad."""
    post = served.client.post
    yield post("/studies/spring/tell", json={"id": one, "loss": 0.5})
    yield post("/studies/spring/tell", json={"id": one, "loss": 0.5})
    yield post("/studies/spring/tell", json={"ids": [two], "losses": [0.5]})
    yield post("/studies/spring/tell", content=f'{{"id": "{two}", "loss": 0.5}}', headers=STREAM)
    yield post("/studies/spring/tell", json={"id": "unknown", "loss": 0.5})
    yield post("/studies/spring/tell", json={"id": one, "loss": "0.5"})
    yield post("/studies/spring/tell", content=b"{")
    yield post("/studies/spring/tell")
    yield post("/studies/spring/forget", json={"ids": [one]})
    yield post("/studies/spring/ask", json={"size": 0})
    yield post("/studies/spring/ask", json={"size": 10**9})
    yield post("/studies/none/ask")
    yield post("/studies//ask")
    yield post("/studies/spring/ask/")
    yield post("/studies/spring/nothing")
    yield post("/studies/spring/status")
    yield served.client.get("/studies/spring/ask")
    yield served.client.put("/studies/spring/tell")


@pytest.mark.parametrize("dev", [True, False])
def test_both_ways_answer_alike(serve, sqlite_url, monkeypatch, dev):
    seen, taken = [], []
    for name, address in (("spring", shortcut._ADDRESS), ("spring", re.compile(r"(?!)"))):
        monkeypatch.setattr(shortcut, "_ADDRESS", address)
        served = serve(storage=sqlite_url.replace("study.db", f"{len(seen)}.db"), dev=True)
        served.create(name)
        one, two = (action["id"] for action in served.ask(size=2)["actions"])
        if not dev:
            served.stop()
            served = serve(storage=sqlite_url.replace("study.db", f"{len(seen)}.db"), dev=False)
        answers = list(calls(served, one, two))
        seen.append([(one.status_code, one.headers["content-type"], one.text) for one in answers])
        taken.append(served.client.post("/studies/spring/ask").status_code)
    assert seen[0] == seen[1]
    assert taken == [200, 200] if dev else [401, 401]
    assert {status for status, *_ in seen[0]} >= ({200, 404, 405, 413, 422} if dev else {401, 404, 405})


def test_the_shortcut_is_taken(serve, sqlite_url, monkeypatch):
    """Without it, every call would go by way of the framework's own handling of requests."""
    from fastapi import routing

    served = serve(storage=sqlite_url)
    served.create()
    usual = []
    run = routing.run_endpoint_function
    monkeypatch.setattr(routing, "run_endpoint_function", lambda **given: (usual.append(1), run(**given))[1])
    served.tell(id=served.ask()["id"], loss=0.5)
    assert not usual
    served.look("status")
    assert usual
