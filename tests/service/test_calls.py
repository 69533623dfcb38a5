"""What can be called over HTTP, and what comes back."""

import json
from types import SimpleNamespace
from urllib.parse import quote

import pytest

import sottovoce as sv
from sampling import every
from sottovoce.rehearsal import NotRehearsed
from sottovoce.service.endpoints.models import Tell
from sottovoce.studies import Study, delete_study, move_study


def problem(answer, kind):
    assert answer.headers["content-type"] == "application/problem+json"
    found = answer.json()
    assert (found["type"], found["status"]) == (f"/problems/{kind}", answer.status_code)
    return found


@pytest.fixture
def spring(serve, sqlite_url):
    served = serve(storage=sqlite_url)
    served.create()
    return served


def test_numbers_are_written_as_they_are_wanted(spring):
    dense, sparse = spring.ask(size=1)["actions"][0]["x"], spring.ask(x="sparse")["x"]
    assert (len(dense), set(sparse)) == (6, {"dimension", "index", "value"})
    assert len(sparse["index"]) == len(sparse["value"]) == 2
    assert spring.ask(x="none")["x"] is None
    assert [one["x"] for one in spring.ask(size=2, x="sparse")["actions"]] != [None, None]


def test_the_same_key_the_same_action(served):
    """Asked once and counted once; for another segment, person or size it is another request."""
    served.create(segments={"names": ["phone", "desktop"]}, privacy={"epsilon": 1.0, "contributions": 2})
    ask, key = {"segment": "phone", "person": "ada"}, {"Idempotency-Key": "order 17"}
    first, again = (served.client.post("/studies/spring/ask", json=ask, headers=key) for _ in range(2))
    assert first.json() == again.json() != served.ask(headers={"Idempotency-Key": "order 18"}, **ask)
    assert ("idempotent-replayed" in first.headers, again.headers["idempotent-replayed"]) == (False, "true")
    for other in ({"segment": "desktop"}, {"person": "grace"}, {"size": 2, "person": None, "people": ["ada"] * 2}):
        body = {name: value for name, value in (ask | other).items() if value is not None}
        problem(served.client.post("/studies/spring/ask", json=body, headers=key), "idempotency-key-reused")
    assert served.look("status")["asked"] == 2
    assert not served.ask(**ask)["wants_loss"]  # the third of two


def test_the_end_of_the_horizon(served):
    served.create(horizon=30)
    assert len(served.ask(size=29)["actions"]) == 29
    said = problem(served.client.post("/studies/spring/ask", json={"size": 2718}), "horizon-reached")
    assert said["detail"].startswith("more actions were asked for, and 1 of")
    assert "2718" not in said["detail"]  # nothing that was sent
    served.ask()
    problem(served.client.post("/studies/spring/ask"), "horizon-reached")


def test_names_of_all_kinds(served):
    for name in ("a/b", "50 %", "frühling", "a?b#c", "status", "x" * 200):
        served.create(name)
        path = f"/studies/{quote(name, safe='')}"
        action = served.client.post(f"{path}/ask").json()
        assert served.client.post(f"{path}/tell", json={"id": action["id"], "loss": 0.5}).json()["recorded"] == 1
        assert served.client.get(f"{path}/status").json()["name"] == name


def test_creating_says_what_is_wrong_without_repeating_it(spring):
    wish = {"name": "b", "domain": "simplex:4", "horizon": 100, "privacy": {"epsilon": 1.0}}
    for change, words in (
        ({"privacy": {"epsilon": 1.0, "rho": 77.25}}, "exclude each other"),
        ({"privacy": {"local": True, "contributions": 77}}, "epsilon, or rho, or none"),
        ({"domain": "simplex:77777777777"}, "whole numbers"),
        ({"domain": {"a secret": 1}}, "domain"),
        ({"choices": {"a secret": 1}}, "..."),
        ({"labels": ["a secret"]}, "labels"),
        ({"loss_range": [77.25, 0.0]}, "loss_range"),
    ):
        answer = spring.client.post("/studies", json=wish | change)
        assert words in problem(answer, "malformed")["detail"]
        assert "secret" not in answer.text
        assert "77" not in answer.text
    created = spring.client.post("/studies", json=wish)
    assert (created.status_code, created.json()["created"], created.json()["warnings"]) == (201, True, [])
    assert spring.client.post("/studies", json=wish).status_code == 200
    differing = problem(spring.client.post("/studies", json=wish | {"horizon": 777}), "configuration-mismatch")
    assert "horizon" in differing["detail"]
    assert "777" not in differing["detail"]


def test_creating_a_study_again_is_not_a_way_to_end_its_life(served):
    """Arguments of `Study.open` that are no choices of a plan stay out: `restored` would drop losses on record."""
    served.create(choices={})
    told = {"ids": [one["id"] for one in served.ask(size=3)["actions"]], "losses": [0.5] * 3}
    assert served.tell(**told).json()["recorded"] == 3
    before = served.look("status")
    wish = {"name": "spring", "domain": "hypersimplex:6,2", "horizon": 10_000, "privacy": {"epsilon": 1.0}}
    for other in ("restored", "ledger", "repeat", "noise", "url", "name"):
        refused = served.client.post("/studies", json=wish | {"choices": {other: True}})
        problem(refused, "malformed")
    assert served.look("status") == before
    assert served.tell(**told).json()["already"] == 3


@pytest.mark.filterwarnings("ignore:epsilon = 100 protects hardly anybody")  # in the process of the service
def test_creating_warns_of_a_promise_that_protects_hardly_anybody(served):
    privacy = {"epsilon": 100.0}
    wish = {"name": "a", "domain": "simplex:4", "horizon": 100, "privacy": privacy}
    for path, body in (("studies", wish), ("evaluations", {"name": "b", "privacy": privacy})):
        (warned,) = served.client.post(f"/{path}", json=body).json()["warnings"]
        assert warned.startswith("epsilon = 100 protects hardly anybody")


def test_a_forecast_is_played_once_for_each_release(spring, monkeypatch):
    played = []

    def play(study, rehearse):
        if study.status().round:
            raise NotRehearsed("it cannot be said")
        played.append(rehearse)
        return SimpleNamespace(to_dict=lambda: {"horizon": 60})

    monkeypatch.setattr(Study, "forecast", play)
    for rehearse in (0.3, 0.5, 0.3):
        assert spring.client.get(f"/studies/spring/forecast?rehearse={rehearse}").json() == {"horizon": 60}
    assert played == [0.5]
    while not spring.look("status")["round"]:
        block = [action["id"] for action in spring.ask(size=4)["actions"]]
        spring.tell(ids=block, losses=[0.5] * 4)
    refused = spring.client.get("/studies/spring/forecast?rehearse=0.5")  # played anew, after a release
    assert problem(refused, "state-refused")["detail"] == "it cannot be said"


def test_local_privacy_wants_reports(served):
    served.create(privacy={"epsilon": 1.0, "local": True})
    channel = sv.local.OneBitChannel.from_dict(served.look("channel"))
    one = served.ask()["id"]
    problem(served.tell(id=one, loss=0.5), "wrong-report")
    assert served.tell(id=one, report=sv.local.privatise(0.5, channel)).json()["recorded"] == 1
    two = [action["id"] for action in served.ask(size=2)["actions"]]
    assert served.tell(ids=two, reports=[1, -1]).json()["recorded"] == 2
    problem(served.tell(id=served.ask()["id"], report=3), "invalid-loss")


def test_a_study_with_simulated_noise_can_only_be_looked_at(serve, sqlite_url):
    seeded = serve(storage=sqlite_url, simulated=5)
    seeded.create()
    seeded.stop()
    plain = serve(storage=sqlite_url)
    assert plain.look("status")["asked"] == 0
    problem(plain.client.post("/studies/spring/ask"), "state-refused")


def test_readiness_is_about_the_storage(serve, own_server):
    served = serve(storage=f"{own_server.url}/postgres")
    assert served.client.get("/ready").json() == {"status": "ok"}
    own_server.stop()
    away = served.client.get("/ready")
    assert (problem(away, "storage-error")["status"], "127.0.0.1" in away.text) == (503, False)
    assert served.client.get("/health").json() == {"status": "ok"}
    own_server.start()
    found = [served.client.get("/ready").status_code for _ in range(4)]
    assert found[-1] == 200  # a lost connection is noticed once by each that has one


def test_no_loss_that_was_read_is_in_print():
    told = Tell(id="a", loss=0.7312846), Tell(ids=["a"], reports=[7312846])
    assert "7312846" not in repr(told) + "".join(map(str, told)) + "".join(map(repr, (one.call for one in told)))


@every(
    ("path", "body", "words"),
    [
        ("/spring/ask", {"size": 0}, "size: Input should be greater than or equal to 1"),
        ("/spring/forget", {"planted": 1, "ids": ["a"]}, "the body: Extra inputs are not permitted"),
        ("/spring/ask", {"x": "all"}, "x: Input should be 'dense', 'sparse' or 'none'"),
        ("/spring/ask", [1], "the body: Input should be a valid dictionary"),
        (
            "/spring/tell",
            {"id": 1, "loss": "0.5"},
            "id: Input should be a valid string; loss: Input should be a valid number, or Input should be a valid list",
        ),
        (
            "",
            {"name": "a", "domain": "simplex:3", "horizon": 9, "privacy": {"epsilon": "1"}},
            "privacy.epsilon: Input should be a valid number",
        ),
    ],
)
def test_a_refusal_says_what_would_do(served, path, body, words):
    answer = served.client.post(f"/studies{path}", json=body)
    assert (answer.status_code, answer.json()["detail"].startswith(words)) == (422, True), answer.text


def test_a_set_changes_for_whoever_asks_next(spring):
    """Decisions speak the names of their own set, in one block as well; a refusal repeats no name that was sent."""
    drinks = ["tea", "planted juice", "mate"]
    wanted = {"domain": "hypersimplex:3,2", "labels": drinks}
    spring.ask()  # its round goes on
    for _ in range(2):  # an answer may be lost
        changed = spring.client.post("/studies/spring/change", json=wanted).json()
        assert "planted juice" in json.dumps(changed["domain"])
    actions = spring.ask(size=500, x="dense")["actions"]
    sizes = [len(one["x"]) for one in actions]
    assert sizes == sorted(sizes, reverse=True)
    assert set(sizes) == {6, 3}
    assert set(actions[-1]["chosen"]) <= set(drinks)
    assert spring.ask(size=5, x="sparse")["actions"][0]["x"]["dimension"] == 3
    kept = spring.client.post("/studies/spring/change", json={"patience": 77}).json()
    assert (kept, spring.look("status")["patience"]) == (changed, 77)
    for wrong, words in (
        ({"domain": "simplex:4"}, "has no names"),
        ({"domain": "planted:4"}, "domain must be"),
        ({"domain": "simplex:2", "labels": ["planted\ud800", "tea"]}, "and texts, numbers"),
        ({"labels": ["planted", "tea"]}, "labels come with the domain"),
        ({"features": [[1.0]]}, "nothing to change: pass domain"),
    ):
        refused = spring.client.post("/studies/spring/change", content=json.dumps(wrong))
        assert words in problem(refused, "malformed")["detail"]
        assert "planted" not in refused.text


def test_losses_of_items_are_told_by_name_or_in_order(served):
    served.create(name="spring", integral=True, loss_range=[-1.0, 0.0], feedback="items", most=1.0, choices={})
    one, other = served.ask(), served.ask()
    assert served.tell(id=one["id"], loss={one["chosen"][0]: -1.0}).json()["recorded"] == 1
    assert served.tell(id=other["id"], loss=[0.0, -1.0]).json()["recorded"] == 1
    block = served.ask(size=3)["actions"]
    answer = served.tell(ids=[one["id"] for one in block], losses=[{}, {block[1]["chosen"][1]: -1.0}, {}])
    assert answer.json() == {"recorded": 3, "already": 0, "dropped": 0}
    last = served.ask()
    unknown = next(name for name in ("tea", "coffee", "cocoa", "milk") if name not in last["chosen"])
    refused = served.tell(id=last["id"], loss={unknown: -1.0})
    assert refused.status_code == 422
    assert unknown not in refused.text


def test_an_item_that_is_called_like_a_member_is_not_named_in_a_refusal(served):
    labels = ["report", "late", "cocoa", "milk", "water", "juice"]
    names = ("report", "late")
    served.create(labels=labels, integral=True, loss_range=[-1.0, 0.0], feedback="items", most=1.0, choices={})
    for told in ({"report": "much"}, {"late": None}, {"report": [1.0]}):
        refused = served.tell(id=served.ask()["id"], loss=told)
        assert refused.status_code == 422
        assert not [one for one in names if one in refused.json()["detail"]]


def test_a_study_that_was_moved_away_is_not_found_and_another_one_of_its_name_is(serve, sqlite_url, tmp_path):
    service = serve(storage=sqlite_url)
    service.create()
    action = service.ask()
    move_study(sqlite_url, "spring", f"sqlite:///{tmp_path / 'elsewhere.db'}")
    for _ in range(2):  # by the study that is open, then by its name
        answer = service.tell(id=action["id"], loss=0.5)
        problem(answer, "study-not-found")
    delete_study(sqlite_url, "spring")
    service.create()
    assert service.tell(id=service.ask()["id"], loss=0.5).json()["recorded"] == 1


def test_every_example_of_the_document_is_understood(served):
    """In its order, with what the first examples create: nothing is malformed, or of a name that is not."""
    document = served.app.openapi()
    for path, ways in document["paths"].items():
        for way, about in ways.items():
            wanted = about.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
            names = [one["$ref"].rpartition("/")[2] for one in wanted.get("anyOf", [wanted]) if "$ref" in one]
            example = next((document["components"]["schemas"][name]["example"] for name in names), None)
            place = path.replace("{name}", "prices" if path.startswith("/evaluations") else "spring")
            needed = {one["name"]: 0 for one in about.get("parameters", ()) if one["in"] == "query" and one["required"]}
            answer = served.client.request(way, place, json=example, params=needed)
            assert answer.status_code != 422, (path, answer.text)
            assert "study-not-found" not in answer.text, (path, answer.text)
