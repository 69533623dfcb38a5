"""Who may call from where: origins of pages, proxies, TLS."""

import json
import shutil
import socket
import subprocess
import sys
import time

import httpx2
import pytest

from sampling import every
from sottovoce.cli import main
from sottovoce.service.settings import Settings

PAGE = "https://shop.example"


def preflight(served, origin):
    headers = {
        "Origin": origin,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization",
    }
    return served.client.options("/studies/spring/ask", headers=headers)


def test_pages_may_not_call_unless_their_origin_is_named(served):
    served.create()
    assert preflight(served, PAGE).status_code >= 400
    answer = served.client.post("/studies/spring/ask", headers={"Origin": PAGE})
    assert "access-control-allow-origin" not in answer.headers


def test_pages_of_an_origin_that_is_named_may_call_without_cookies(serve, sqlite_url):
    served = serve(storage=sqlite_url, origins=(PAGE,))
    served.create()
    allowed = preflight(served, PAGE)
    assert (allowed.status_code, allowed.headers["access-control-allow-origin"]) == (200, PAGE)
    assert "access-control-allow-credentials" not in allowed.headers
    assert preflight(served, "https://other.example").status_code == 400
    answer = served.client.post("/studies/spring/ask", headers={"Origin": PAGE})
    assert answer.headers["access-control-allow-origin"] == PAGE
    other = served.client.post("/studies/spring/ask", headers={"Origin": "https://other.example"})
    assert other.headers.get("access-control-allow-origin") not in ("*", "https://other.example")
    refused = served.client.post("/studies/none/ask", headers={"Origin": PAGE})  # a page can read what went wrong
    assert (refused.status_code, refused.headers["access-control-allow-origin"]) == (404, PAGE)


@pytest.fixture
def paged(serve, sqlite_url):
    served = serve(storage=sqlite_url, origins=(PAGE,))
    served.create()
    return served


@every(
    ("headers", "status"),
    [
        ({}, 200),
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
    assert answer.status_code == status
    assert paged.client.get("/", headers=headers).status_code == status
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


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """Return a certificate for this machine and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl to make a certificate with")
    folder = tmp_path_factory.mktemp("tls")
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    made += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", folder / "key.pem", "-out", folder / "cert.pem"]
    subprocess.run(made, check=True, capture_output=True)
    return folder / "cert.pem", folder / "key.pem"


def test_the_command_serves_with_tls(certificate, sqlite_url, free_port):
    cert, key = certificate
    command = [sys.executable, "-m", "sottovoce", "serve", "--storage", sqlite_url, "--port", str(free_port), "--dev"]
    service = subprocess.Popen(
        [*command, "--certificate", cert, "--private-key", key],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        answer = _answered(f"https://127.0.0.1:{free_port}/health", str(cert), service)
        assert json.loads(answer) == {"status": "ok"}
        with pytest.raises(httpx2.TransportError):
            httpx2.get(f"http://127.0.0.1:{free_port}/health")
    finally:
        service.terminate()
        _, err = service.communicate(timeout=600)
    assert service.returncode in (0, -15)
    assert f"serving at https://127.0.0.1:{free_port}" in err
    assert "DEVELOPMENT: there are no keys" in err


def _answered(address, cert, service):
    import ssl

    trusted = ssl.create_default_context(cafile=cert)
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline and service.poll() is None:
        try:
            return httpx2.get(address, verify=trusted).text
        except httpx2.TransportError:
            time.sleep(0.05)
    pytest.fail("the service does not answer")


def test_a_port_that_is_free_is_said_before_it_is_served(sqlite_url):
    """With --port 0 nobody could know where it listens otherwise."""
    command = [sys.executable, "-m", "sottovoce", "serve", "--storage", sqlite_url, "--port", "0", "--dev"]
    service = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    try:
        address = service.stderr.readline().split()[-1]
        assert int(address.rpartition(":")[2]) > 0
        assert json.loads(_answered(f"{address}/health", None, service)) == {"status": "ok"}
    finally:
        service.terminate()
        service.communicate(timeout=600)


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
