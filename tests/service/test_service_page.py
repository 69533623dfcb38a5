"""What docs/how-to/service.md shows: every command and Python block runs against a live service, and answers so."""

import json
import os
import re
import signal
import subprocess
import sys
from contextlib import ExitStack, redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from started import started
from storages import free_port

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "service.md"
BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
ADDRESS = "127.0.0.1:8420"
EXACT = ("type", "title", "status")  # of problem documents: these are compared as they are, all else in its shape
NAMED = ("id", "key")  # what later commands name: they get what was really answered


def blocks():
    text = PAGE.read_text(encoding="utf-8")
    return [(text[: one.start(3)].count("\n") + 1, one[1] + one[2], one[3]) for one in BLOCK.finditer(text)]


class Reader:
    """Somebody who follows the page: starts what it says to start, and runs the rest."""

    def __init__(self, folder):
        self.folder, self.service, self.names, self.port = folder, None, {}, free_port()
        self.running = ExitStack()

    def put_in(self, text):
        for shown, got in self.names.items():
            text = text.replace(shown, got)
        return text.replace(ADDRESS, f"127.0.0.1:{self.port}")

    def run(self, block):
        """Run the commands of a block; return what the last one printed."""
        printed = ""
        for command in commands(self.put_in(block)):
            if command.startswith("pip "):
                continue
            if re.match(r"sottovoce serve (?!key)", command):
                self.start(command)
                continue
            done = subprocess.run(
                ["bash", "-c", command], cwd=self.folder, env=self.world, capture_output=True, text=True
            )
            assert done.returncode == 0, (command, done.stderr)
            printed = done.stdout
        return printed

    @property
    def world(self):
        here = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        return {**os.environ, "PATH": here, "PYTHONPATH": str(ROOT / "src")}

    def start(self, command):
        self.stop()
        words = [sys.executable, "-m", *command.split(), "--port", self.port]
        self.service = self.running.enter_context(started(words, self.port, self.folder / "service.log"))

    def stop(self):
        if self.service is not None:
            self.service.send_signal(signal.SIGINT)  # Ctrl-C
            assert self.service.wait(600) in (0, 130, -signal.SIGINT)
            self.service = None

    def compare(self, shown, got, where):
        """Compare two answers in shape, and take note of the ids and keys that were really given."""
        if isinstance(shown, dict):
            assert isinstance(got, dict), where
            assert set(shown) == set(got), (where, set(shown) ^ set(got))
            problem = {"type", "title", "status", "detail"} <= set(shown)
            for name, value in shown.items():
                self.compare(value, got[name], f"{where}.{name}")
                if name in NAMED:
                    self.names[value] = got[name]
                if (problem and name in EXACT) or isinstance(value, bool):
                    assert got[name] is value or (got[name] == value and type(got[name]) is type(value)), (where, name)
        elif isinstance(shown, list) and shown and isinstance(shown[0], dict):
            assert len(shown) == len(got), where
            for number, one in enumerate(shown):
                self.compare(one, got[number], f"{where}[{number}]")
        elif isinstance(shown, list):
            assert isinstance(got, list), where
            assert len(shown) == len(got), where
        else:
            kinds = (int, float) if isinstance(shown, int | float) else type(shown)
            assert isinstance(got, kinds), (where, type(got))


def commands(block):
    """Return the commands of a block: what ends open, or within quotes, goes on in the next line."""
    found = [""]
    for line in block.splitlines():
        found[-1] += line
        if found[-1].count("'") % 2 or found[-1].endswith("|"):
            found[-1] += "\n"
        elif found[-1].endswith("\\"):
            found[-1] = found[-1][:-1]
        else:
            found.append("")
    return [one.strip() for one in found if one.strip()]


@pytest.fixture
def reader(tmp_path):
    one = Reader(tmp_path)
    with one.running:
        yield one


@pytest.mark.long
def test_the_page_is_true_from_its_top_to_its_end(reader, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    space, printed, seen = {}, "", []
    for line, header, content in blocks():
        where = f"docs/how-to/service.md:{line}"
        if header == "sh":
            printed = reader.run(content)
        elif header.startswith("python"):
            with redirect_stdout(StringIO()) as out:
                exec(compile("\n" * line + reader.put_in(content), where, "exec"), space)
            printed = out.getvalue()
        elif header == 'json title="answers"':
            reader.compare(json.loads(content), json.loads(printed), where)
        elif header == 'text title="prints"':
            assert printed == content, where
        seen.append(header.split()[0])
    assert seen.count("sh") > 15
    assert seen.count("json") > 15
    assert seen.count("python") == 1
    reader.stop()
    log = (tmp_path / "service.log").read_text()
    assert "DEVELOPMENT" in log
    timeless = re.sub(r"^[\d-]+T[\d:.]+Z", "", log, flags=re.MULTILINE)  # a second, and its fraction, may be 0.25
    assert "0.25" not in timeless  # the loss that was told
