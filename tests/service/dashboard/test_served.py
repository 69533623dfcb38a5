"""The dashboard as the service serves it, with its keys, its limits and its own OpenAPI document."""

import contextlib
import random
import warnings

import pytest

import sottovoce as sv
from sottovoce.service.app import create_app
from sottovoce.service.keys import KeyStore
from sottovoce.service.settings import Settings
from sottovoce.service.store import ServiceStore

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from starlette.testclient import TestClient

OWN = {"Sec-Fetch-Site": "same-origin"}
PAGES = ("/", "/login", "/docs", "/dashboard/keys", "/problems/malformed", "/openapi.json")
FORMS = ("/login", "/logout", "/dashboard/keys/revoke")


@pytest.fixture
def served(tmp_path):
    """`served(dev=True)` is a client of a service that has a study, and the text of a key that may do everything."""
    url = f"sqlite:///{tmp_path / 'studies.db'}"
    options = {"domain": sv.domains.Simplex(["tea", "milk"]), "horizon": 1_000, "loss_range": (0.0, 1.0)}
    sv.Study.open(url, name="spring & co", privacy=sv.PureDP(1.0), losses="linear", **options).close()
    store = ServiceStore(url)
    ring = KeyStore(store)
    _, text = ring.create(["admin"])
    ring.close()
    with contextlib.ExitStack() as stack:

        def begin(**settings):
            app = create_app(Settings(storage=url, **settings))
            client = TestClient(app, base_url="http://127.0.0.1", follow_redirects=False)
            stack.enter_context(client)
            return client, text

        yield begin


def log_in(client, text):
    return client.post("/login", data={"key": text}, headers=OWN)


def test_a_reader_goes_from_the_login_to_a_study(served):
    client, text = served()
    assert client.get("/").headers["location"] == "/login?next=%2F"
    assert log_in(client, text).status_code == 303
    assert "spring &amp; co" in client.get("/").text
    page = client.get("/dashboard/studies/spring%20%26%20co")
    assert page.status_code == 200
    assert "&#39;spring &amp; co&#39; --may ask,tell" in page.text  # what is copied to a shell is quoted for it
    assert client.get("/dashboard/studies/spring%20%26%20co/parts/now").status_code == 200
    assert client.get("/dashboard/studies/nothing").status_code == 404


def test_a_cookie_is_for_pages_and_not_for_calls(served):
    """A page of another site could make a browser call with it, if it were."""
    client, text = served()
    log_in(client, text)
    assert client.get("/studies/spring%20%26%20co/status").status_code == 401
    assert client.post("/studies/spring%20%26%20co/ask").status_code == 401


def test_the_manual_has_every_endpoint_that_there_is(served):
    client, text = served()
    log_in(client, text)
    document, page = client.get("/openapi.json").json(), client.get("/docs").text
    assert len(document["paths"]) > 8
    for path in document["paths"]:
        assert f'<span class="path">{path}</span>' in page, path
    assert "Idempotency-Key" in page
    assert "application/x-ndjson" in page


def test_development_needs_no_login_and_says_so(served):
    client, _ = served(dev=True)
    page = client.get("/")
    assert page.status_code == 200
    assert "DEVELOPMENT: NO KEYS" in page.text
    assert client.get("/dashboard/keys").status_code == 200
    assert "Revoke" not in client.get("/dashboard/studies/spring%20%26%20co").text


def test_pages_are_counted_by_their_templates(served):
    """The name of a study is its owners' business: it is under no label."""
    client, text = served()
    log_in(client, text)
    client.get("/dashboard/studies/spring%20%26%20co")
    client.get("/dashboard/studies/secret-name")
    found = ""
    while "/dashboard/studies/{name}" not in found:  # requests are counted a moment after they were answered
        found = client.get("/metrics", headers={"Authorization": f"Bearer {text}"}).text
    assert "spring" not in found
    assert "secret" not in found


@pytest.mark.parametrize("dev", [True, False])
def test_what_nobody_would_send_is_answered_in_words(served, dev):
    """Odd names, hosts, cookies and forms: never a failure of ours, and nothing is changed."""
    client, text = served(dev=dev)
    if not dev:
        log_in(client, text)
    coins, answers = random.Random(1), []
    for name in (
        "%00",
        "%ff",
        "%ed%a0%80",
        "..%2f..%2fetc",
        3_000 * "a",
        "%0d%0aSet-Cookie:x",
        "spring/parts/",
        "{name}",
    ):
        answers += [client.get(f"/dashboard/studies/{name}{tail}") for tail in ("", "/parts/now", "/statement")]
    odd = {
        "Host": ("[", "", "a b", "evil.example", "127.0.0.1:99999999"),
        "Cookie": ("sottovoce=\xff", "sottovoce=" + 7_000 * "a", "sottovoce=;sottovoce=b"),
        "Authorization": ("Bearer \xff", "Bearer", "Basic eDp5"),
    }
    for name, values in odd.items():
        for value in values:
            headers = {name: value.encode("latin-1")}
            answers += [client.request(way, path, headers=headers) for way in ("GET", "POST") for path in PAGES]
    for _ in range(40):
        body = bytes(coins.randrange(256) for _ in range(coins.randrange(200)))
        headers = OWN | {"Content-Type": "application/x-www-form-urlencoded"}
        answers += [client.post(path, content=body, headers=headers) for path in FORMS]
    assert not [answer for answer in answers if answer.status_code >= 500]
    assert not any("\r" in value or "\n" in value for answer in answers for value in answer.headers.values())
    assert dev or log_in(client, text).status_code == 303  # a form that is empty logs out
    assert dev or client.get("/dashboard/keys").text.count("living") == 1
