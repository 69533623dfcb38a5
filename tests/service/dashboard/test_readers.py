"""Who reads pages: a key as a password, for pages alone, and never over a connection that is not encrypted."""

import random

import pytest
from sites import address

from sottovoce.errors import StorageError


def test_a_browser_is_asked_for_a_key_and_a_script_is_not(site):
    client = site.client()
    for path in ("/", "/docs", "/openapi.json", address("spring")):
        asked = client.get(path)
        assert (asked.status_code, asked.headers["www-authenticate"].partition(" ")[0]) == (401, "Basic")
        assert "www-authenticate" not in client.get(path, headers={"Sec-Fetch-Dest": "empty"}).headers


def test_a_key_is_not_taken_over_a_plain_connection(site):
    text = site.ring.create(["read"])[1]
    client = site.client("http://decisions.example")
    for auth in (None, ("x", text)):
        page = client.get("/", auth=auth)
        assert (page.status_code, "not encrypted" in page.text, "www-authenticate" in page.headers) == (
            403,
            True,
            False,
        )
    assert site.client("https://decisions.example").get("/", auth=("x", text)).status_code == 200


def test_a_password_is_for_pages_and_not_for_calls(site):
    """A page of another site could make a browser call with it, if it were."""
    site.add("spring")
    client = site.reader("admin")
    assert client.get("/").status_code == 200
    assert client.get("/studies/spring/status").status_code == 401
    assert client.post("/studies/spring/ask").status_code == 401
    for method in ("POST", "PUT", "DELETE", "PATCH"):  # and pages change nothing
        assert {client.request(method, path).status_code for path in ("/", address("spring"), "/docs")} == {405}


def test_wrong_keys_look_alike_and_one_that_may_not_read_sees_no_study(site):
    old, text = site.ring.create(["read"])
    site.ring.revoke(old.id)
    client = site.client()
    pages = [client.get("/", auth=("x", one)) for one in (text, "", "sv_" + 12 * "a" + "_" + 43 * "b", "<script>")]
    assert [page.status_code for page in pages] == [401] * 4
    assert len({page.text for page in pages}) == 1
    _, text = site.ring.create(["ask", "tell"])
    for auth, headers in ((("x", text), {}), (None, {"Authorization": f"Bearer {text}"})):
        page = client.get("/", auth=auth, headers=headers)
        assert (page.status_code, "may not read" in page.text) == (403, True)
        assert client.get("/docs", auth=auth, headers=headers).status_code == 200
        assert client.get("/openapi.json", auth=auth, headers=headers).json()["info"]["title"]


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


def test_pages_count_against_their_key_and_end_with_it(make_site):
    site = make_site("slow", rate=0.001)  # ten calls of a key, and no more
    client = site.reader()
    assert [client.get("/").status_code for _ in range(11)] == [200] * 10 + [429]
    client = site.reader()
    for key in site.ring.list():
        site.ring.revoke(key.id)
    assert client.get("/").status_code == 401


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
    """Odd names, hosts and passwords: never a failure of ours."""
    site = make_site(dev=dev)
    client = site.client() if dev else site.reader("admin")
    coins, answers = random.Random(1), []
    names = ("%00", "%ff", "%ed%a0%80", "..%2f..%2fetc", 3_000 * "a", "%0d%0aSet-Cookie:x", "spring/parts/", "{name}")
    answers += [client.get(f"/dashboard/studies/{name}{tail}") for name in names for tail in ("", "/statement")]
    odd = {
        "Host": ("[", "", "a b", "evil.example", "127.0.0.1:99999999"),
        "Authorization": ("Bearer \xff", "Bearer", "Basic eDp5", "Basic \xff", "Basic /w==", "Basic eA=", "Basic"),
    }
    odd["Authorization"] += tuple("Basic " + "".join(coins.choices("abAB09+/=", k=20)) for _ in range(20))
    for name, values in odd.items():
        for value in values:
            for path in ("/", "/docs", "/problems/malformed", "/openapi.json"):
                answers.append(client.get(path, headers={name: value.encode("latin-1")}, auth=None))
    assert not [answer for answer in answers if answer.status_code >= 500]
    assert not any("\r" in value or "\n" in value for answer in answers for value in answer.headers.values())
