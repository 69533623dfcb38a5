"""Who may call from where: origins of pages, proxies, TLS."""

import socket
import ssl
import sys

import httpx2
import pytest

from sampling import every
from sottovoce.cli import main
from sottovoce.service.settings import Settings
from started import started
from storages import free_port

PAGE = "https://shop.example"


def preflight(served, origin):
    headers = {
        "Origin": origin,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization",
    }
    return served.client.options("/studies/spring/ask", headers=headers)


@pytest.fixture
def paged(serve, sqlite_url):
    served = serve(storage=sqlite_url, origins=(PAGE,))
    served.create()
    return served


def test_pages_of_an_origin_that_is_named_may_call_without_cookies_and_no_others(paged):
    allowed = preflight(paged, PAGE)
    assert (allowed.status_code, allowed.headers["access-control-allow-origin"]) == (200, PAGE)
    assert "access-control-allow-credentials" not in allowed.headers
    assert preflight(paged, "https://other.example").status_code == 400
    for name, status in (("spring", 200), ("none", 404)):  # a page can read what went wrong
        answer = paged.client.post(f"/studies/{name}/ask", headers={"Origin": PAGE})
        assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (status, PAGE)
    other = paged.client.post("/studies/spring/ask", headers={"Origin": "https://other.example"})
    assert other.headers.get("access-control-allow-origin") not in ("*", "https://other.example")


def test_no_page_may_call_where_none_is_named(served):
    served.create()
    assert preflight(served, PAGE).status_code >= 400
    answer = served.client.post("/studies/spring/ask", headers={"Origin": PAGE})
    assert (answer.status_code, "access-control-allow-origin" in answer.headers) == (403, False)


@every(
    ("headers", "status"),
    [
        ({"Host": "localhost:8420"}, 200),
        ({"Host": "evil.example"}, 403),  # a name that was made to lead here
        ({"Host": "127.0.0.1.evil.example"}, 403),
        ({"Origin": "https://evil.example", "Content-Type": "text/plain"}, 403),  # what a form may send anywhere
        ({"Origin": "null"}, 403),
        ({"Origin": PAGE}, 200),
    ],
)
def test_without_keys_no_page_of_somebody_elses_gets_in(paged, headers, status):
    """A browser on this machine reaches the loopback for every page that it shows."""
    before = paged.look("status")["asked"]
    answer = paged.client.post("/studies/spring/ask", content=b"{}", headers=headers)
    assert answer.status_code == paged.client.get("/", headers=headers).status_code == status
    assert paged.look("status")["asked"] == before + (status == 200)


@every("origin", ["*", "shop.example", "https://shop.example/", "https://shop.example/a"])
def test_origins_are_named_one_by_one(origin):
    with pytest.raises(ValueError, match="origins must be like https"):
        Settings(storage="sqlite:///a.db", origins=(origin,))


@every("host", ["0.0.0.0", "192.168.1.4", "service.example", "::"])
def test_without_keys_only_on_this_machine(host):
    with pytest.raises(ValueError, match="host must be"):
        Settings(storage="sqlite:///a.db", dev=True, host=host)
    Settings(storage="sqlite:///a.db", host=host)


def test_settings_travel_to_workers_and_show_no_password():
    settings = Settings(storage="postgresql://me:secret@host/db", workers=3, origins=(PAGE,), proxies=("10.0.0.1",))
    assert Settings.from_environment(settings.in_environment()) == settings
    assert "secret" not in repr(settings)


def test_the_command_serves_with_tls(certificate, tmp_path, sqlite_url):
    port, (cert, key) = free_port(), certificate
    command = [sys.executable, "-m", "sottovoce", "serve", "--storage", sqlite_url, "--port", port, "--dev"]
    with started([*command, "--certificate", cert, "--private-key", key], port, tmp_path / "log") as service:
        trusted = ssl.create_default_context(cafile=cert)
        assert httpx2.get(f"https://127.0.0.1:{port}/health", verify=trusted).json() == {"status": "ok"}
        with pytest.raises(httpx2.TransportError):
            httpx2.get(f"http://127.0.0.1:{port}/health")
    assert service.returncode in (0, -15)
    said = (tmp_path / "log").read_text()
    assert f"serving at https://127.0.0.1:{port}" in said
    assert "DEVELOPMENT: there are no keys" in said


@every(
    ("wrong", "words"),
    [
        (["--storage", "sqlite:////no/such/folder/a.db", "--workers", "2"], "folder /no/such/folder does not exist"),
        (["--certificate", "no.pem", "--private-key", "no.key"], "must be two files of one pair"),
    ],
)
def test_what_no_worker_could_start_with_is_said_once_in_a_line(sqlite_url, wrong, words, capsys):
    """Otherwise a supervisor starts workers for ever, and each says it in fifty lines."""
    with pytest.raises(SystemExit) as ended:
        main(["serve", "--storage", sqlite_url, *wrong])
    said = capsys.readouterr().err
    assert ended.value.code == 2
    assert words in " ".join(said.split())
    assert "serving at" not in said


def test_a_port_that_is_taken_is_said_instead(sqlite_url, capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(SystemExit) as ended:
        main(["serve", "--storage", sqlite_url, "--dev", "--port", str(taken.getsockname()[1])])
    said = capsys.readouterr().err
    assert ended.value.code == 2
    assert "cannot listen at port" in said
    assert "serving at" not in said
