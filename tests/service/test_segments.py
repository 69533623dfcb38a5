"""Studies with segments over HTTP: whom an action is for, in bodies, queries and problems."""

import json

import pytest

from sampling import every

NAMES = {"names": ["phone", "desktop"]}
SECRET = "very-private-segment"


def kind_of(answer):
    return answer.json()["type"].removeprefix("/problems/"), answer.status_code


@pytest.fixture
def served(served):
    served.create(segments=NAMES)
    return served


@every(
    ("body", "kind"),
    [
        ({"segment": SECRET}, ("unknown-segment", 404)),
        ({"segments": ["phone", SECRET]}, ("unknown-segment", 404)),
        ({"segment": {SECRET: "phone"}}, ("unknown-segment", 404)),
        ({}, ("malformed", 422)),
        ({"segment": "phone", "segments": ["phone"]}, ("malformed", 422)),
        ({"size": 3, "segments": ["phone"]}, ("malformed", 422)),
        ({"segments": []}, ("malformed", 422)),
        ({"segment": True}, ("malformed", 422)),
        ({"segment": [["phone"]]}, ("malformed", 422)),
        ({"segment": "x" * 10_000}, ("malformed", 422)),
    ],
)
def test_what_is_wrong_is_refused_without_repeating_it(body, kind, served):
    served.create("plain")  # has no segments, and refuses them all
    answer, plain = (served.client.post(f"/studies/{name}/ask", json=body) for name in ("spring", "plain"))
    assert kind_of(answer) == kind
    assert not body or kind_of(plain) == ("malformed", 422)
    assert SECRET not in answer.text + plain.text
    assert served.look("status")["asked"] == 0


def test_a_recommendation_is_for_one_or_for_all(served):
    actions = served.ask(segments=["phone", "desktop"] * 40)["actions"]
    served.tell(ids=[one["id"] for one in actions], losses=[0.1 + 0.1 * ("tea" in one["chosen"]) for one in actions])
    assert {one["segment"] for one in served.look("recommend")["segments"]} == {"phone", "desktop"}
    for query in (f"recommend?segment={SECRET}", f"posterior?segment={SECRET}"):
        answer = served.client.get(f"/studies/spring/{query}")
        assert kind_of(answer) == ("unknown-segment", 404)
        assert SECRET not in answer.text
    assert kind_of(served.client.get("/studies/spring/posterior")) == ("malformed", 422)
    lines = served.client.get("/studies/spring/export").text.splitlines()
    assert {json.loads(line)["segment"] for line in lines[1:]} == {"phone", "desktop"}
    for what in ("plan", "statement", "outstanding"):
        served.look(what)


def test_factors_are_named_in_their_order_or_by_name(serve, sqlite_url):
    served = serve(storage=sqlite_url)
    served.create(segments={"factors": {"device": ["phone", "desktop"], "hour": [8, 20]}})
    served.ask(segment=["phone", 8])
    served.ask(size=2, segment={"hour": 20, "device": "phone"})
    served.ask(segments=[["phone", 8], {"hour": 8, "device": "desktop"}])
    found = served.look("status")["segments"]
    assert found == [
        {"segment": ["phone", 8], "events": 2},
        {"segment": ["phone", 20], "events": 2},
        {"segment": ["desktop", 8], "events": 1},
    ]
    for words in ("phone,20", "hour=20,device=phone"):
        assert served.client.get("/studies/spring/recommend", params={"segment": words}).status_code == 200


def test_what_segments_are_made_with_is_checked_without_repeating_it(served):
    wish = {"name": "other", "domain": "simplex:3", "horizon": 100, "privacy": {"epsilon": 1.0}}
    for segments in ({"names": [SECRET, SECRET]}, {"names": ["a"], "factors": {SECRET: ["b"]}}, {"limit": 0}, {}):
        answer = served.client.post("/studies", json=wish | {"segments": segments})
        assert kind_of(answer)[0] == "malformed"
        assert SECRET not in answer.text
    again = served.create(segments=NAMES)
    assert not again["created"]
    answer = served.client.post("/studies", json=wish | {"name": "spring", "segments": {"names": [SECRET]}})
    assert kind_of(answer)[0] == "configuration-mismatch"
    assert SECRET not in answer.text
