"""deploy/Containerfile and deploy/compose.yaml: what they promise, and the image's steps carried out one by one.

Where there is no container engine, a folder takes the place of the image: what is copied into the image is copied
there, commands run with its paths, and what it starts is started and asked for its health. Packages come from the
environment of the tests, not from an index.
"""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

import httpx2
import pytest
import yaml

from storages import free_port

ROOT = Path(__file__).parents[2]
FILE = ROOT / "deploy" / "Containerfile"
OWN = re.compile(r"(?<![\w.*}/])/(build|opt|var|tmp)\b")  # what begins so is a path in the image
SHIMS = {"python": f'exec {shlex.quote(sys.executable)} "$@"', "apt-get": 'echo "$@" >> "$APT_GET"'}


def instructions():
    """Return the instructions: name and the rest of its line."""
    text = re.sub(r"^\s*#.*\n", "", FILE.read_text(encoding="utf-8"), flags=re.MULTILINE).replace("\\\n", " ")
    return [tuple(line.split(None, 1)) for line in text.splitlines() if line.strip()]


def of(name):
    return [rest for one, rest in instructions() if one == name]


class Image:
    """A folder that is built as the image would be."""

    def __init__(self, folder):
        self.folder, self.root = folder, folder / "root"
        self.arguments, self.environment, self.tools = {}, {}, folder / "tools"
        self.tools.mkdir()
        for name, line in SHIMS.items():
            (self.tools / name).write_text(f"#!/bin/sh\n{line}\n")
            (self.tools / name).chmod(0o755)
        for name, rest in instructions():
            getattr(self, name.lower(), lambda rest: None)(rest)

    def inside(self, text):
        return OWN.sub(lambda found: f"{self.root}{found[0]}", text)

    def from_(self, rest):
        """Begin a stage: nothing of the one before is left, but for what is copied from it."""
        if self.root.exists():
            self.root.rename(self.folder / "before")
        for place in ("tmp", "build", "opt"):
            (self.root / place).mkdir(parents=True)
        (self.root / "tmp").chmod(0o777)

    def arg(self, rest):
        name, _, value = rest.partition("=")
        self.arguments[name] = value

    def env(self, rest):
        for word in shlex.split(rest):
            name, _, value = word.partition("=")
            self.environment[name] = self.inside(value).replace("$PATH", os.environ["PATH"])

    def copy(self, rest):
        *sources, target = shlex.split(rest)
        if sources[0].startswith("--from="):
            (source,) = sources[1:]
            assert source == target  # scripts know where they are
            shutil.move(self.folder / "before" / source[1:], self.inside(target))
            return
        for source in sources:
            if (ROOT / source).is_dir():
                shutil.copytree(ROOT / source, self.inside(target), ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(ROOT / source, self.inside(target))

    def run(self, rest):
        path = f"{self.tools}:{os.environ['PATH']}"
        offline = {"PIP_NO_DEPS": "1", "PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "0"}
        told = {**self.arguments, **offline, "PATH": path, "APT_GET": str(self.folder / "apt-get")}
        hidden = ("PYTHONPATH", "PIP_CONSTRAINT", "PIP_FIND_LINKS")
        others = {name: value for name, value in os.environ.items() if name not in hidden}
        command = ["/bin/sh", "-euc", self.inside(rest)]
        done = subprocess.run(command, env={**others, **told}, cwd=self.root, capture_output=True, text=True)
        assert done.returncode == 0, (rest, done.stdout, done.stderr)
        for packages in self.root.glob("opt/*/lib/python*/site-packages"):  # what pip would have downloaded
            (packages / "of_the_tests.pth").write_text(sysconfig.get_path("purelib"))

    def settings(self, storage=""):
        """How commands run in the image: in its environment, as its user if that is possible here."""
        number = int(of("USER")[0].partition(":")[0])
        as_user = {"user": number, "group": number, "extra_groups": []}
        try:
            subprocess.run([sys.executable, "--version"], capture_output=True, check=True, **as_user)
        except PermissionError:  # not root, or a Python in root's own folder
            as_user = {}
        environment = {**self.environment, "SOTTOVOCE_STORAGE": storage}
        return {"env": environment, "cwd": self.inside(of("WORKDIR")[0]), "stdout": subprocess.PIPE, **as_user}

    def command(self, line):
        """Read a command, with its program where the image has it."""
        program, *words = json.loads(line)
        return [shutil.which(program, path=self.environment["PATH"]), *words]


setattr(Image, "from", Image.from_)


@pytest.fixture(scope="module")
def image():
    folder = Path(tempfile.mkdtemp(prefix="sottovoce-image-"))
    folder.chmod(0o755)
    try:
        yield Image(folder)
    finally:
        shutil.rmtree(folder)


def written(root):
    """What there is outside of /tmp, with when it was changed."""
    return {path: path.lstat().st_mtime_ns for path in root.rglob("*") if not path.is_relative_to(root / "tmp")}


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


@pytest.mark.long
def test_the_steps_of_the_image_lead_to_a_service_that_is_healthy(image, postgres_url):
    """It starts as another user, answers, writes nowhere but to /tmp, and stops when it is told to."""
    packages = re.findall(r"install .*?(\w+)$", (image.folder / "apt-get").read_text(), re.MULTILINE)
    assert packages == ["binutils"]
    assert not (image.root / "build" / "src").exists()
    assert not list(image.root.glob("opt/*/lib/python*/site-packages/pip"))
    before = written(image.root)
    port = free_port()
    health = re.search(r"\[.*\]", of("HEALTHCHECK")[0])[0]
    check, serve = (image.command(line.replace("8420", str(port))) for line in (health, of("CMD")[0]))
    settings = image.settings(postgres_url)

    def healthy():
        return subprocess.run(check, stderr=subprocess.DEVNULL, **settings).returncode == 0

    with subprocess.Popen(serve, **settings) as service:
        try:
            deadline = time.monotonic() + 600
            while not healthy():
                assert service.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.2)
            words = [serve[0], "serve", "key", "create", "--all-studies", "--may", "admin,ask,tell", "--json"]
            made = subprocess.run(words, check=True, **settings)
            use(f"http://127.0.0.1:{port}", json.loads(made.stdout)["key"])
        finally:
            service.send_signal(signal.SIGTERM)
            service.communicate()
    assert service.returncode in (0, -signal.SIGTERM)
    assert not healthy()
    assert written(image.root) == before


def use(address, key):
    """Make a study, and ask."""
    study = {"name": "a", "domain": "hypersimplex:6,2", "horizon": 1000, "privacy": {"epsilon": 1}}
    headers = {"Authorization": f"Bearer {key}"}
    with httpx2.Client(base_url=address, headers=headers, timeout=600, trust_env=False) as client:
        for path, content in (("/studies", study), ("/studies/a/ask", {})):
            client.post(path, json=content).raise_for_status()


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
