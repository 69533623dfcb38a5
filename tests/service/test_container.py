"""deploy/Containerfile and deploy/compose.yaml: what they promise."""

import json
import re
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
FILE = ROOT / "deploy" / "Containerfile"


def instructions():
    """Return the instructions: name and the rest of its line."""
    text = re.sub(r"^\s*#.*\n", "", FILE.read_text(encoding="utf-8"), flags=re.MULTILINE).replace("\\\n", " ")
    return [tuple(line.split(None, 1)) for line in text.splitlines() if line.strip()]


def of(name):
    return [rest for one, rest in instructions() if one == name]


def test_the_image_is_small_pinned_and_not_roots():
    assert all(re.fullmatch(r"\S+/python:3\.\d+-slim( AS \w+)?", one) for one in of("FROM"))
    assert [line for line in of("RUN") if "apt-get install" in line] == [line for line in of("RUN") if "apt" in line]
    for line in of("RUN"):
        assert "apt-get install" not in line or ("--no-install-recommends" in line and "rm -rf /var/lib/apt" in line)
        assert "pip" not in line or "--without-pip" in line or "--no-cache-dir" in line
    last = [name for name, _ in instructions()][::-1]
    assert "RUN" not in last[: last.index("FROM")]  # the image itself holds what was copied from the stage before
    user, group = of("USER")[0].split(":")
    assert int(user) > 0 < int(group)
    assert not of("ADD")
    assert not re.search("password|secret|token", " ".join(of("ENV") + of("ARG")), re.IGNORECASE)
    (command,) = of("CMD")
    assert json.loads(command)[:2] == ["sottovoce", "serve"]
    assert "SOTTOVOCE_STORAGE" not in command


def test_all_that_is_copied_is_let_through_and_no_more():
    let_through = re.findall(r"^!(.+)$", (ROOT / ".containerignore").read_text(encoding="utf-8"), re.MULTILINE)
    copied = [source for line in of("COPY") if "--from" not in line for source in line.split()[:-1]]
    assert sorted(let_through) == sorted(copied)


def test_compose_starts_both_with_nothing_that_can_be_written_but_the_studies():
    file = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text(encoding="utf-8"))
    service, database = file["services"]["service"], file["services"]["database"]
    for one in (service, database):
        assert one["read_only"] is True
        assert one["security_opt"] == ["no-new-privileges:true"]
        assert one["ulimits"] == {"core": 0}
        assert re.fullmatch(r".+:\d[\w.]*", one["image"])
    assert (ROOT / "deploy" / service["build"]["context"] / service["build"]["dockerfile"]).resolve() == FILE
    assert (service["cap_drop"], service["tmpfs"]) == (["ALL"], ["/tmp"])
    assert service["depends_on"]["database"]["condition"] == "service_healthy"
    assert database["healthcheck"]["test"][:2] == ["CMD", "pg_isready"]
    assert service["ports"] == ["127.0.0.1:8420:8420"]
    assert "ports" not in database
    assert "volumes" not in service
    assert file["networks"]["back"] == {"internal": True}
    assert database["networks"] == ["back"]
    user, password, host, name = re.fullmatch(
        r"postgresql://(\w+):(\$\{.*\})@(\w+)/(\w+)", service["environment"]["SOTTOVOCE_STORAGE"]
    ).groups()
    assert host in file["services"]
    assert (user, name) == (database["environment"]["POSTGRES_USER"],) * 2  # a database is made with the user's name
    assert password == database["environment"]["POSTGRES_PASSWORD"]
