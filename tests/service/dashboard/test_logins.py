"""Logging in and out, and revoking: cookies that no page reads, forms that no other site can send."""

from urllib.parse import quote

import pytest

import sottovoce as sv
from sampling import every

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


def try_key(client, text, **changes):
    return client.post("/login", data={"key": text, "next": "/", **changes}, headers={"Sec-Fetch-Site": "same-origin"})


def test_a_login_sets_a_cookie_that_only_the_browser_and_we_can_use(context, client_of):
    client = client_of(context)
    _, text = context.ring.create(["read"])
    answer = try_key(client, text)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("sottovoce=")
    for part in ("HttpOnly", "SameSite=strict", "Path=/"):
        assert part in cookie
    assert "Secure" not in cookie
    assert "Domain" not in cookie
    assert client.get("/").status_code == 200


def test_over_https_the_cookie_is_bound_to_host_and_encryption(context, client_of):
    client = client_of(context, "https://decisions.example")
    _, text = context.ring.create(["read"])
    cookie = try_key(client, text).headers["set-cookie"]
    assert "__Host-sottovoce" in cookie
    assert "Secure" in cookie


def test_a_key_is_not_taken_over_a_plain_connection(context, client_of):
    client = client_of(context, "http://decisions.example")
    _, text = context.ring.create(["read"])
    page = client.get("/login").text
    assert "not encrypted" in page
    assert 'name="key"' not in page
    answer = try_key(client, text)
    assert answer.status_code == 400
    assert "set-cookie" not in answer.headers


def test_wrong_keys_look_alike(context, client_of):
    client = client_of(context)
    old, text = context.ring.create(["read"])
    context.ring.revoke(old.id)
    tries = [text, "", "sv_" + 12 * "a" + "_" + 43 * "b", "<script>"]
    pages = [try_key(client, one) for one in tries[:3]]
    assert [page.status_code for page in pages] == [401, 401, 401]
    assert len({page.text for page in pages}) == 1
    assert "script>" not in try_key(client, tries[3]).text.split("<main")[1]


def test_a_key_that_may_not_read_may_not_log_in(context, client_of):
    client = client_of(context)
    _, text = context.ring.create(["ask", "tell"])
    answer = try_key(client, text)
    assert answer.status_code == 403
    assert "may not read" in answer.text
    assert client.get("/").status_code == 303


@every("headers", ATTACKS)
def test_forms_of_other_sites_change_nothing(context, logged_in, headers):
    client = logged_in(context, ["admin"])
    victim, _ = context.ring.create(["ask"])
    form = {"id": victim.id, "sure": "yes", "back": "/dashboard/keys"}
    assert client.post("/dashboard/keys/revoke", data=form, headers=headers).status_code == 403
    assert client.post("/logout", headers=headers).status_code == 403
    assert [one.revoked for one in context.ring.list() if one.id == victim.id] == [None]
    assert client.get("/").status_code == 200
    own = {"Origin": "http://127.0.0.1:8000"}  # what a browser without Sec-Fetch-Site says
    assert client.post("/dashboard/keys/revoke", data=form, headers=own).status_code == 303
    assert client.post("/logout", headers=own).status_code == 303
    assert client.get("/").status_code == 303


def test_a_login_cannot_be_forged(context, client_of):
    """Somebody else's form must not log a reader in as somebody else."""
    client = client_of(context)
    _, text = context.ring.create(["read"])
    for headers in ATTACKS:
        assert client.post("/login", data={"key": text}, headers=headers).status_code == 403
    assert client.get("/").status_code == 303


@pytest.mark.parametrize("body", [b"\xff\xfe", b"key=" + b"a" * 20_000, b"a&b", b"&".join([b"a=1"] * 50)])
def test_forms_that_are_none_are_refused(context, client_of, own, body):
    client = client_of(context)
    client.get("/login")
    answer = client.post("/login", content=body, headers=own | {"Content-Type": "application/x-www-form-urlencoded"})
    assert answer.status_code == 403
    json = client.post("/login", content=b"{}", headers=own | {"Content-Type": "application/json"})
    assert json.status_code == 403


def test_nothing_changes_by_looking(context, logged_in):
    client = logged_in(context, ["admin"])
    for path in ("/logout", "/dashboard/keys/revoke"):
        assert client.get(path).status_code == 405
    assert client.get("/").status_code == 200


def test_revoking_asks_once_more_and_ends_logins_at_once(context, logged_in, own):
    client, reader = logged_in(context, ["admin"]), logged_in(context, ["read"])
    victim = context.ring.list()[-1]
    form = {"id": victim.id, "back": "/dashboard/keys"}
    asked = client.post("/dashboard/keys/revoke", data=form, headers=own)
    assert "cannot be undone" in asked.text
    assert reader.get("/").status_code == 200
    done = client.post("/dashboard/keys/revoke", data=form | {"sure": "yes"}, headers=own)
    assert (done.status_code, done.headers["location"]) == (303, "/dashboard/keys")
    assert reader.get("/").status_code == 303
    assert f"revoked {20}" in client.get("/dashboard/keys").text
    gone = client.post("/dashboard/keys/revoke", data=form, headers=own)
    assert gone.status_code == 404


def test_keys_are_for_administrators_and_never_hold_a_secret(context, logged_in, own):
    context.add("spring")
    _, text = context.ring.create(["ask"], "spring", note="web")
    admin, reader, local = (logged_in(context, *one) for one in ((["admin"],), (["read"],), (["admin"], "spring")))
    assert text.split("_")[1] in admin.get("/dashboard/keys").text
    for client in (reader, local):
        assert client.get("/dashboard/keys").status_code == 403
        form = {"id": text.split("_")[1], "sure": "yes"}
        assert client.post("/dashboard/keys/revoke", data=form, headers=own).status_code == 403
        assert 'id="keys"' not in client.get("/dashboard/studies/spring").text
    pages = admin.get("/dashboard/keys").text + admin.get("/dashboard/studies/spring").text
    assert 'id="keys"' in pages
    assert text[16:] not in pages
    assert all(one.revoked is None for one in context.ring.list())


def test_a_key_sees_its_study_and_hears_nothing_of_others(context, logged_in):
    for name in ("spring", "autumn"):
        context.add(name)
    client = logged_in(context, ["read"], "spring")
    page = client.get("/").text
    assert "spring" in page
    assert "autumn" not in page
    assert client.get("/dashboard/studies/spring").status_code == 200
    for part in ("", "/parts/now", "/parts/learned"):
        there, nowhere = (client.get(f"/dashboard/studies/{name}{part}") for name in ("autumn", "nowhere"))
        assert there.status_code == nowhere.status_code == 403
        assert there.text == nowhere.text


@every(
    "path",
    ["https://evil.example/", "//evil.example", "/\\evil.example", "/dashboard/\r\nSet-Cookie: a=b", "javascript:1"],
)
def test_a_login_leads_nowhere_else(context, client_of, path):
    client = client_of(context)
    _, text = context.ring.create(["read"])
    assert 'name="next" value="/"' in client.get(f"/login?next={quote(path, safe='')}").text
    assert try_key(client, text, next=path).headers["location"] == "/"


def test_whoever_is_not_logged_in_is_led_to_the_form_and_back(context, client_of):
    context.add("a b/c")
    client = client_of(context)
    led = client.get("/dashboard/studies/a%20b%2Fc")
    assert led.status_code == 303
    assert led.headers["location"].startswith("/login?next=%2Fdashboard%2Fstudies%2Fa")
    _, text = context.ring.create(["read"])
    page = client.get(led.headers["location"]).text
    goes_to = page.split('name="next" value="')[1].split('"')[0]
    answer = try_key(client, text, next=goes_to)
    assert client.get(answer.headers["location"]).status_code == 200


def test_requests_of_a_login_count_against_its_key(context, logged_in):
    client = logged_in(context)
    key = context.ring.list()[0]
    before = context.calls[key.id]
    client.get("/")
    client.get("/dashboard/parts/studies")
    assert context.calls[key.id] == before + 2


def test_a_key_in_the_header_will_do(context, client_of):
    client = client_of(context)
    _, text = context.ring.create(["ask"])
    assert client.get("/docs", headers={"Authorization": f"Bearer {text}"}).status_code == 200
    assert client.get("/openapi.json", headers={"Authorization": f"Bearer {text}"}).json()["info"]["title"]
    assert client.get("/openapi.json").status_code == 401
    assert client.get("/", headers={"Authorization": f"Bearer {text}"}).status_code == 403
    assert client.get("/docs", headers={"Authorization": "Bearer wrong"}).status_code == 303


def test_a_study_that_cannot_be_shown_is_said_to_be(context, logged_in):
    """In words of ours: those of the library may say where studies are stored."""

    async def broken(name, function):
        raise sv.errors.StorageError("sqlite:////secret/place.db cannot be reached")

    context.look = broken
    page = logged_in(context).get("/dashboard/studies/spring")
    assert (page.status_code, page.headers["retry-after"]) == (503, "1")
    assert "secret" not in page.text
