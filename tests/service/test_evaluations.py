"""Evaluations over HTTP: created, opened, assigned to, told and released; nothing that was sent comes back."""

import logging
from concurrent.futures import ThreadPoolExecutor

import pytest

import sottovoce as sv


@pytest.fixture
def served(served):
    assert create(served).status_code == 201
    return served


def create(service, **changes):
    wish = {"name": "checkout", "privacy": {"none": True}, "patience": 500, "seed": 5} | changes
    return service.client.post("/evaluations", json=wish)


def post(service, call, headers=None, **body):
    return service.client.post(f"/evaluations/checkout/{call}", json=body, headers=headers)


def done(answer):
    assert answer.status_code == 200, answer.text
    return answer.json()


def look(service, call):
    return service.client.get(f"/evaluations/checkout/{call}")


def kind(answer):
    return answer.json()["type"].removeprefix("/problems/")


def test_from_creation_to_the_mean(served):
    again = create(served)
    assert (again.status_code, again.json()["created"]) == (200, False)
    assert done(post(served, "open", events=4)) == {"number": 0, "events": 4}
    assert done(post(served, "open", events=4)) == {"number": 1, "events": 4}
    people = [done(post(served, "assign")) for _ in range(2)]
    assert sorted(one["number"] for one in people) == [0, 1]
    people += done(post(served, "assign", size=4))["assigned"]
    people += done(post(served, "assign", number=0, size=1))["assigned"]
    mine = {number: [one["id"] for one in people if one["number"] == number] for number in (0, 1)}
    assert [len(mine[0]), len(mine[1])] == [4, 3]
    assert done(post(served, "tell", id=mine[0][0], loss=0.5)) == {"recorded": 1, "already": 0, "dropped": 0}
    assert done(post(served, "tell", id=mine[0][0], loss=0.5)) == {"recorded": 0, "already": 1, "dropped": 0}
    block = mine[0][1:3] + mine[1]  # of whichever evaluations
    assert done(post(served, "tell", ids=block, losses=[0.25, 0.25, 1.0, 1.0, 1.0]))["recorded"] == 5
    assert kind(look(served, "result?number=0")) == "not-released"
    assert [one["assigned"] for one in done(look(served, "status"))["open"]] == [4, 3]
    assert done(post(served, "forget", ids=mine[0])) == {"closed": 1}
    assert done(look(served, "result?number=0"))["mean"] == 1.5 / 4
    assert done(post(served, "close", number=1)) == {"number": 1, "closed": True, "abandoned": False}
    assert [(one["number"], one["mean"]) for one in done(look(served, "results"))["results"]] == [(0, 0.375), (1, 1.0)]
    assert done(post(served, "tell", id=mine[0][3], loss=0.5, late="drop"))["dropped"] == 1


def test_refusals_are_problem_documents_and_repeat_nothing(served):
    done(post(served, "open", events=3))
    person = done(post(served, "assign"))["id"]
    done(post(served, "forget", ids=[person]))
    done(post(served, "open", events=7777))
    done(post(served, "abandon", number=1))
    for call, body, expected in (
        ("tell", {"id": person, "loss": 0.123456}, "round-closed"),
        ("tell", {"id": "1.0.2.0123456789ab", "loss": 0.123456}, "unknown-action"),
        ("tell", {"ids": [person, "0.123456"], "losses": [0.1, 0.2]}, "unknown-action"),
        ("tell", {"ids": [person], "losses": [0.123456, 0.2]}, "malformed"),
        ("tell", {"id": person, "report": 123456}, "wrong-report"),
        ("tell", {"id": person, "loss": "0.123456"}, "malformed"),
        ("tell", {"id": person, "loss": [0.123456, 0.2]}, "invalid-loss"),  # of items, which are not known here
        ("tell", {"id": person, "0.123456": 0.5}, "malformed"),
        ("assign", {"number": 0, "size": 7777}, "horizon-reached"),
        ("assign", {"size": 7777}, "horizon-reached"),
        ("assign", {"number": 123456}, "unknown-action"),
        ("assign", {"size": 10_001}, "too-large"),
        ("open", {"events": 0}, "malformed"),
        ("open", {"events": 2**53}, "malformed"),
        ("close", {"number": 1}, "state-refused"),
        ("close", {"number": 123456}, "unknown-action"),
    ):
        answer = post(served, call, **body)
        assert kind(answer) == expected, (call, body, answer.text)
        for said in ("123456", "7777", "0123456789ab", person, "9007199254740992"):
            assert said not in answer.text, answer.text
    person = done(post(served, "assign"))["id"]
    for loss in ("NaN", "-Infinity", "1e999"):
        body = f'{{"id": "{person}", "loss": {loss}}}'.encode()
        assert served.client.post("/evaluations/checkout/tell", content=body).status_code == 422
    for name in ("nowhere", "nowhere/else", "%00", "n" * 201):
        answer = served.client.post(f"/evaluations/{name}/assign")
        assert (answer.status_code, kind(answer)) == (404, "study-not-found")
        assert "nowhere" not in answer.text
    assert kind(look(served, "result?number=x")) == "malformed"
    assert kind(look(served, "channel")) == "no-channel"
    assert kind(create(served, privacy={"epsilon": 1.0})) == "configuration-mismatch"
    assert "checkout" not in create(served, privacy={"epsilon": 1.0}).text
    assert kind(create(served, name="line\nbreak")) == "malformed"


def test_evaluations_are_no_study_and_a_study_is_no_evaluations(served):
    served.create(name="spring")
    assert kind(served.client.get("/studies/checkout/status")) == "study-not-found"
    assert kind(served.client.post("/studies/checkout/ask")) == "study-not-found"
    assert kind(served.client.post("/evaluations/spring/assign")) == "study-not-found"
    assert [one["name"] for one in served.client.get("/studies").json()["studies"]] == ["spring"]
    taken = served.client.post("/evaluations", json={"name": "spring", "privacy": {"none": True}})
    assert (kind(taken), "spring" in taken.text) == ("configuration-mismatch", False)


def test_a_repeated_request_is_answered_as_before(served):
    once = {"Idempotency-Key": "one"}
    for _ in range(3):
        assert done(post(served, "open", once, events=50)) == {"number": 0, "events": 50}
    first = done(post(served, "assign", {"Idempotency-Key": "two"}))
    again = post(served, "assign", {"Idempotency-Key": "two"})
    assert (again.json(), again.headers["Idempotent-Replayed"]) == (first, "true")
    assert kind(post(served, "assign", {"Idempotency-Key": "two"}, size=2)) == "idempotency-key-reused"
    assert kind(post(served, "open", {"Idempotency-Key": "two"}, events=5)) == "idempotency-key-reused"

    def ask(_):
        return post(served, "assign", {"Idempotency-Key": "three"}).json()

    with ThreadPoolExecutor(6) as callers:
        answers = list(callers.map(ask, range(6)))
    assert all(one == answers[0] for one in answers)
    status = done(look(served, "status"))["open"]
    assert [one["number"] for one in status] == [0]


def test_what_another_worker_has_answered_first_is_undone(served, monkeypatch):
    """Two workers that get the same request at once both find nothing on record; one of them is late."""
    done(post(served, "open", events=50))
    requests = served.app.state.context.requests

    async def nothing(wanted):
        return None

    for call, body in (("assign", {}), ("open", {"events": 7})):
        once = {"Idempotency-Key": call}
        first = done(post(served, call, once, **body))
        with monkeypatch.context() as patch:
            patch.setattr(requests, "find", nothing)
            again = post(served, call, once, **body)
        assert (done(again), again.headers["Idempotent-Replayed"]) == (first, "true")
    assert done(look(served, "evaluation?number=0"))["outstanding"] == 1
    assert [one["number"] for one in done(look(served, "status"))["open"]] == [0, 1]
    assert done(look(served, "evaluation?number=2"))["abandoned"]


def test_reports_of_owners(serve, sqlite_url):
    service = serve(storage=sqlite_url)
    assert create(service, privacy={"epsilon": 2.0, "local": True}).status_code == 201
    done(post(service, "open", events=3))
    ids = [one["id"] for one in done(post(service, "assign", size=3))["assigned"]]
    channel = sv.local.OneBitChannel.from_dict(done(look(service, "channel")))
    assert kind(post(service, "tell", id=ids[0], loss=0.5)) == "wrong-report"
    reports = [int(sv.local.privatise(0.5, channel)) for _ in ids]
    assert done(post(service, "tell", ids=ids, reports=reports))["recorded"] == 3
    assert done(look(service, "result?number=0"))["total"] == sum(reports)


def test_no_loss_is_logged(serve, sqlite_url, caplog, monkeypatch):
    """Not even where something breaks half-way, in whatever words: nobody knows whose they are."""
    caplog.set_level(logging.DEBUG)
    service = serve(storage=sqlite_url)
    create(service)
    done(post(service, "open", events=3))
    person = done(post(service, "assign"))["id"]
    done(post(service, "tell", id=person, loss=0.187654321))

    def breaks(self, number, ids, losses, late, people):
        raise kinds[-1](f"no room for {losses}")

    monkeypatch.setattr("sottovoce.evaluations.PrivateEvaluations._take_in", breaks)
    kinds = []
    for one in (RuntimeError, ValueError, TypeError):
        kinds.append(one)
        answer = post(service, "tell", id=person, loss=0.187654321)
        assert (answer.status_code, kind(answer), bool(answer.json()["incident"])) == (500, "internal", True)
        assert "1876" not in answer.text + caplog.text


def test_people_are_counted_by_whatever_call_and_a_repetition_counts_once(serve, url):
    service = serve(storage=url)
    create(service, privacy={"epsilon": 1.0, "contributions": 2})
    done(post(service, "open", events=9))
    secret, key = "ada@example.org", {"Idempotency-Key": "once"}
    first = done(post(service, "assign", key, person=secret))
    assert first["wants_loss"]
    assert done(post(service, "assign", key, person=secret)) == first
    assert kind(post(service, "assign", key, person="grace")) == "idempotency-key-reused"
    block = done(post(service, "assign", people=[secret, secret, "grace"]))["assigned"]
    assert [one["wants_loss"] for one in block] == [True, False, True]
    here = done(post(service, "assign", number=0, size=2, people=["grace", "grace"]))["assigned"]
    assert [one["wants_loss"] for one in here] == [True, False]
    ids = [one["id"] for one in [first, *block, *here]]
    assert done(post(service, "tell", ids=ids, losses=[0.5] * 6)) == {"recorded": 4, "already": 0, "dropped": 2}
    for wrong in ({}, {"person": secret, "people": [secret]}, {"size": 3, "people": [secret]}, {"person": 7}):
        answer = post(service, "assign", **wrong)
        assert (kind(answer), answer.status_code) == ("malformed", 422)
        assert secret not in answer.text
    assert done(post(service, "erase-people")) == {"erased": 2}
    assert kind(post(service, "assign", person=secret)) == "state-refused"
