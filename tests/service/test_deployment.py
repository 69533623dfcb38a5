"""The files in deploy/: nginx and systemd take them; requests pass through nginx as service-deployment.md says."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
import typer

from sottovoce.cli.app import app
from sottovoce.service.keys import KeyStore
from sottovoce.service.metrics import Metrics
from sottovoce.service.store import ServiceStore
from started import started
from storages import free_port

ROOT = Path(__file__).parents[2]
UNIT = ROOT / "deploy" / "sottovoce.service"
NGINX = ROOT / "deploy" / "nginx.conf"
PAGE = ROOT / "docs" / "how-to" / "service-deployment.md"
LOSS = "0.7318250649"  # planted: it must be in no file of nginx's


def curl(*arguments, send=None):
    """Return status, headers and body of an answer."""
    command = ["curl", "-sS", "-i", "-k", "--noproxy", "*", *map(str, arguments)]
    done = subprocess.run(command, input=None if send is None else send.encode(), capture_output=True, timeout=600)
    assert done.returncode == 0, done.stderr
    head, _, body = done.stdout.decode().rpartition("\r\n\r\n")
    return int(head.rpartition("HTTP/1.1 ")[2][:3]), head.lower(), body


def own_nginx(folder, ports):
    """Write the file as it stands with other ports, certificate and log, inside of what Debian has around it."""
    text = NGINX.read_text(encoding="utf-8")
    changes = {
        "listen 443 ssl;": f"listen 127.0.0.1:{ports['https']} ssl;",
        "listen 80;": f"listen 127.0.0.1:{ports['http']};",
        "    listen [::]:443 ssl;\n": "",
        "    listen [::]:80;\n": "",
        "127.0.0.1:8420": f"127.0.0.1:{ports['service']}",
        "/etc/ssl/sottovoce": str(folder),
        "/var/log/nginx": str(folder),
        "error.log crit;": "error.log warn;",  # so that it says when it writes a body to a file
    }
    for old, new in changes.items():
        assert old in text, old
        text = text.replace(old, new)
    (folder / "site.conf").write_text(text)
    user = "user root;" if os.geteuid() == 0 else ""
    paths = "".join(f"{one}_temp_path {folder}/{one};" for one in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    around = f"events {{}} http {{ access_log {folder}/access.log; {paths} include {folder}/site.conf; }}"
    (folder / "nginx.conf").write_text(f"{user} daemon off; pid {folder}/pid; error_log {folder}/error.log; {around}")
    return folder / "nginx.conf"


@pytest.fixture(scope="module")
def front(system_program, certificate, tmp_path_factory):
    """A service that trusts the proxy before it, nginx before that, and where to reach both."""
    nginx, folder = system_program("nginx"), tmp_path_factory.mktemp("front")
    for made, name in zip(certificate, ("fullchain.pem", "privkey.pem"), strict=True):
        shutil.copy(made, folder / name)
    ports = {name: free_port() for name in ("service", "https", "http")}
    configured = own_nginx(folder, ports)
    storage = f"sqlite:///{folder}/studies.db"
    serve = [sys.executable, "-m", "sottovoce", "serve", "--storage", storage, "--trust-proxy", "127.0.0.1"]
    ring = KeyStore(ServiceStore(storage))
    (folder / "key").write_text(f"Authorization: Bearer {ring.create(['admin'])[1]}")
    ring.close()
    with (
        started([*serve, "--port", ports["service"]], ports["service"], folder / "service.log"),
        started([nginx, "-c", configured, "-p", folder], ports["https"], folder / "nginx.out"),
    ):
        yield {
            "folder": folder,
            "service": f"http://127.0.0.1:{ports['service']}",
            "https": f"https://127.0.0.1:{ports['https']}",
            "http": f"http://127.0.0.1:{ports['http']}",
        }


def test_a_study_is_asked_and_told_through_nginx_and_nginx_keeps_nothing_of_it(front):
    key, base = ("-H", f"@{front['folder'] / 'key'}"), front["https"]
    study = {"name": "a b", "domain": "simplex:3", "horizon": 5000, "privacy": {"epsilon": 1}, "integral": True}
    assert curl(*key, f"{base}/studies", "-d", json.dumps(study))[0] == 201
    _, _, body = curl(*key, f"{base}/studies/a%20b/ask", "-d", '{"size": 1500}')
    ids = [one["id"] for one in json.loads(body)["actions"]]
    block = json.dumps({"ids": ids, "losses": [float(LOSS)] * len(ids)}, indent=8)
    assert len(block) > 16_384 * 4  # more than nginx holds in memory, if it gathers a body before it passes it on
    status, _, body = curl(*key, "--data-binary", "@-", f"{base}/studies/a%20b/tell", send=block)
    assert (status, json.loads(body)["recorded"]) == (200, 1500)
    assert "temporary file" not in (front["folder"] / "sottovoce.error.log").read_text()
    wrong = f"{base}/studies/a%20b/tell?loss={LOSS}"
    assert curl(wrong, "-d", LOSS)[0] == 401
    for file in (one for one in front["folder"].rglob("*") if one.is_file() and not one.name.startswith("studies")):
        assert LOSS.encode() not in file.read_bytes(), file


NAMED = ("-H", "Host: decide.example")  # and not a name of this machine, where nothing need be encrypted


def test_the_service_knows_by_nginx_that_the_connection_is_encrypted(front):
    said = ("-H", "X-Forwarded-Proto: http")  # what a client says is replaced
    status, head, _ = curl(*NAMED, f"{front['https']}/", *said)
    assert (status, "www-authenticate: basic" in head) == (401, True)  # a browser may ask its reader for a key
    assert "strict-transport-security" in head


def test_nothing_is_taken_in_the_clear_and_metrics_stay_inside(front):
    assert curl(f"{front['http']}/studies/a/tell", "-d", "{}")[0] == 403
    status, head, _ = curl(f"{front['http']}/")
    assert (status, "location: https://" in head) == (301, True)
    assert curl(f"{front['https']}/metrics")[0] == 401  # from this machine it is the key that is missing
    assert "deny all" in NGINX.read_text(encoding="utf-8").split("location = /metrics")[1].split("}")[0]


# ---------------------------------------------------------------------- what the page says of logs and metrics


def test_the_line_on_the_page_is_one_that_the_service_writes(front):
    """Its parts, in their order: a field that is added to the log has to be described."""
    form = r"\S+Z (?:GET|POST) /\S+(?: study=\"[^\"]+\")? status=\d+ ms=[\d.]+ key=\S+ bytes=\d+"
    shown = re.search(rf"^{form}$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert shown
    curl("-H", f"@{front['folder'] / 'key'}", f"{front['https']}/studies")
    deadline = time.monotonic() + 600
    while not (lines := re.findall(r"^.* key=[^-].*$", (front["folder"] / "service.log").read_text(), re.MULTILINE)):
        assert time.monotonic() < deadline  # lines are written many at a time
        time.sleep(0.05)
    assert all(re.fullmatch(form, line) for line in lines), lines
    rows = re.findall(r"^\| `?(\w+)`? \|", section("What is logged"), re.MULTILINE)
    assert rows == ["field", "time", "method", "route", *re.findall(r"(\w+)=", shown[0])]


def test_every_metric_is_on_the_page_and_no_other():
    there = set(re.findall(r"^# TYPE (\w+) (?:counter|histogram|gauge)$", Metrics().page()[0].decode(), re.MULTILINE))
    there = {name for name in there if not name.endswith("_created")}
    assert set(re.findall(r"^\| `(\w+)` \|", section("Metrics"), re.MULTILINE)) == there


def section(title):
    return PAGE.read_text(encoding="utf-8").split(f"\n## {title}\n")[1].split("\n## ")[0]


# ---------------------------------------------------------------------- systemd


def settings(name):
    return re.findall(rf"^{name}=(.*)$", UNIT.read_text(encoding="utf-8"), re.MULTILINE)


def test_the_unit_starts_a_command_that_there_is_and_gives_it_longer_than_its_grace():
    program, *arguments = settings("ExecStart")[0].split()
    assert Path(program).name == "sottovoce"
    assert arguments[0] == "serve"
    group = typer.main.get_command(app)
    context = group.make_context("sottovoce", list(arguments))
    _, command, rest = group.resolve_command(context, [*context._protected_args, *context.args])
    options = command.make_context("serve", rest, parent=context).params
    assert float(settings("TimeoutStopSec")[0]) > options["grace"]
    assert options["proxies"] == ["127.0.0.1"]
    assert not options["dev"]
    assert options["storage"] is None  # the password is in the file of the environment
    assert settings("EnvironmentFile")


def test_the_unit_is_hardened_where_systemd_counts_nothing():
    for name, value in (
        ("StateDirectoryMode", "0700"),
        ("LimitCORE", "0"),
        ("MemorySwapMax", "0"),
        ("Restart", "always"),
    ):
        assert settings(name) == [value], name


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_takes_the_unit_and_finds_little_exposed(tmp_path):
    unit = tmp_path / "sottovoce.service"
    unit.write_text(UNIT.read_text(encoding="utf-8").replace("/opt/sottovoce/bin/sottovoce", "/bin/true"))
    done = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    strict = ["systemd-analyze", "security", "--offline=true", "--threshold=20", unit]  # of 100
    done = subprocess.run(strict, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-500:]
