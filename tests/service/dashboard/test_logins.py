"""Logging in and out: a cookie that no page reads, forms that no other site can send, and nothing for anybody else."""

import random
from urllib.parse import quote

import pytest
from sites import OWN, address, log_in

from sampling import every
from sottovoce.errors import StorageError

ATTACKS = [
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "none"},
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://127.0.0.1:8000.evil.example"},
    {"Sec-Fetch-Site": "cross-site", "Origin": "http://127.0.0.1:8000"},
    {},
]


@pytest.fixture
def text(site):
    return site.ring.create(["read"])[1]


def test_a_cookie_is_the_browsers_and_ours_and_for_pages_alone(site, text):
    client = site.client()
    site.add("spring")
    answer = log_in(client, text)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("sottovoce=")
    assert all(part in cookie for part in ("HttpOnly", "SameSite=strict", "Path=/"))
    assert not [part for part in ("Secure", "Domain") if part in cookie]
    assert client.get("/").status_code == 200
    assert client.get("/studies/spring/status").status_code == 401  # a page of another site could make a browser call


def test_over_https_the_cookie_is_bound_to_host_and_encryption(site, text):
    cookie = log_in(site.client("https://decisions.example"), text).headers["set-cookie"]
    assert "__Host-sottovoce" in cookie
    assert "Secure" in cookie


def test_a_key_is_not_taken_over_a_plain_connection(site, text):
    client = site.client("http://decisions.example")
    page = client.get("/login").text
    assert "not encrypted" in page
    assert 'name="key"' not in page
    answer = log_in(client, text)
    assert answer.status_code == 400
    assert "set-cookie" not in answer.headers


def test_wrong_keys_look_alike_and_one_that_may_not_read_may_not_log_in(site):
    client, (old, text) = site.client(), site.ring.create(["read"])
    site.ring.revoke(old.id)
    pages = [log_in(client, one) for one in (text, "", "sv_" + 12 * "a" + "_" + 43 * "b")]
    assert [page.status_code for page in pages] == [401, 401, 401]
    assert len({page.text for page in pages}) == 1
    assert "script>" not in log_in(client, "<script>").text.split("<main")[1]
    answer = log_in(client, site.ring.create(["ask", "tell"])[1])
    assert (answer.status_code, "may not read" in answer.text) == (403, True)
    assert client.get("/").status_code == 303


@every("headers", ATTACKS)
def test_forms_of_other_sites_change_nothing(site, text, headers):
    """Nor log a reader in as somebody else; nor does a link."""
    client, stranger = site.reader(), site.client()
    assert client.post("/logout", headers=headers).status_code == 403
    assert client.get("/logout").status_code == 405
    assert client.get("/").status_code == 200
    assert stranger.post("/login", data={"key": text}, headers=headers).status_code == 403
    assert stranger.get("/").status_code == 303
    own = {"Origin": "http://127.0.0.1:8000"}  # what a browser without Sec-Fetch-Site says
    assert client.post("/logout", headers=own).status_code == 303
    assert client.get("/").status_code == 303


def test_forms_that_are_none_are_refused(site):
    client, kind = site.client(), {"Content-Type": "application/x-www-form-urlencoded"}
    for body in (b"\xff\xfe", b"key=" + b"a" * 20_000, b"a&b", b"&".join([b"a=1"] * 50)):
        assert client.post("/login", content=body, headers=OWN | kind).status_code == 403
    assert client.post("/login", content=b"{}", headers=OWN | {"Content-Type": "application/json"}).status_code == 403


def test_a_key_sees_its_study_and_hears_nothing_of_others(site):
    for name in ("spring", "autumn"):
        site.add(name)
    client = site.reader("read", study="spring")
    page = client.get("/").text
    assert "spring" in page
    assert "autumn" not in page
    assert client.get(address("spring")).status_code == 200
    for part in ("", "/statement"):
        there, nowhere = (client.get(address(name) + part) for name in ("autumn", "nowhere"))
        assert there.status_code == nowhere.status_code == 403
        assert there.text == nowhere.text


@every(
    "path",
    ["https://evil.example/", "//evil.example", "/\\evil.example", "/dashboard/\r\nSet-Cookie: a=b", "javascript:1"],
)
def test_a_login_leads_nowhere_else(site, text, path):
    client = site.client()
    assert 'name="next" value="/"' in client.get(f"/login?next={quote(path, safe='')}").text
    assert log_in(client, text, next=path).headers["location"] == "/"


def test_whoever_is_not_logged_in_is_led_to_the_form_and_back(site, text):
    site.add("a b/c")
    client = site.client()
    led = client.get("/dashboard/studies/a%20b%2Fc")
    assert led.headers["location"].startswith("/login?next=%2Fdashboard%2Fstudies%2Fa")
    page = client.get(led.headers["location"]).text
    answer = log_in(client, text, next=page.split('name="next" value="')[1].split('"')[0])
    assert client.get(answer.headers["location"]).status_code == 200


def test_a_login_ends_with_its_key_and_counts_against_it(make_site):
    site = make_site("slow", rate=0.001)  # ten calls of a key, and no more
    client = site.reader()
    assert [client.get("/").status_code for _ in range(10)] == [200] * 9 + [429]
    client = site.reader()
    for key in site.ring.list():
        site.ring.revoke(key.id)
    assert client.get("/").status_code == 303


def test_a_key_in_the_header_will_do(site):
    client, (_, text) = site.client(), site.ring.create(["ask"])
    key = {"Authorization": f"Bearer {text}"}
    assert client.get("/docs", headers=key).status_code == 200
    assert client.get("/openapi.json", headers=key).json()["info"]["title"]
    assert client.get("/openapi.json").status_code == 401
    assert client.get("/", headers=key).status_code == 403
    assert client.get("/docs", headers={"Authorization": "Bearer wrong"}).status_code == 303


def test_a_study_that_cannot_be_shown_is_said_to_be(site, monkeypatch):
    """In words of ours: those of the library may say where studies are stored."""

    def broken(settings, name):
        raise StorageError("sqlite:////secret/place.db cannot be reached")

    monkeypatch.setattr("sottovoce.service.context.open_study", broken)
    page = site.reader().get(address("spring"))
    assert (page.status_code, page.headers["retry-after"]) == (503, "1")
    assert "secret" not in page.text


@pytest.mark.parametrize("dev", [True, False])
def test_what_nobody_would_send_is_answered_in_words(make_site, dev):
    """Odd names, hosts, cookies and forms: never a failure of ours."""
    site = make_site(dev=dev)
    client = site.client() if dev else site.reader("admin")
    coins, answers = random.Random(1), []
    names = ("%00", "%ff", "%ed%a0%80", "..%2f..%2fetc", 3_000 * "a", "%0d%0aSet-Cookie:x", "spring/parts/", "{name}")
    answers += [client.get(f"/dashboard/studies/{name}{tail}") for name in names for tail in ("", "/statement")]
    odd = {
        "Host": ("[", "", "a b", "evil.example", "127.0.0.1:99999999"),
        "Cookie": ("sottovoce=\xff", "sottovoce=" + 7_000 * "a", "sottovoce=;sottovoce=b"),
        "Authorization": ("Bearer \xff", "Bearer", "Basic eDp5"),
    }
    for name, values in odd.items():
        for value in values:
            for path in ("/", "/login", "/docs", "/problems/malformed", "/openapi.json"):
                headers = {name: value.encode("latin-1")}
                answers += [client.request(way, path, headers=headers) for way in ("GET", "POST")]
    for _ in range(40):
        body = bytes(coins.randrange(256) for _ in range(coins.randrange(200)))
        headers = OWN | {"Content-Type": "application/x-www-form-urlencoded"}
        answers += [client.post(path, content=body, headers=headers) for path in ("/login", "/logout")]
    assert not [answer for answer in answers if answer.status_code >= 500]
    assert not any("\r" in value or "\n" in value for answer in answers for value in answer.headers.values())
