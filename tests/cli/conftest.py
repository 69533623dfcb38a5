"""A wide terminal without colours, in a folder of its own, and `sottovoce` called there."""

import json

import pytest

from sottovoce.cli import main


@pytest.fixture(autouse=True)
def wide(monkeypatch, tmp_path):
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def command(request, capsys):
    """Call with some words, after those of the module's COMMAND; return the exit code, and what was printed where."""

    def call(*words):
        with pytest.raises(SystemExit) as ended:
            main([*getattr(request.module, "COMMAND", ()), *words])
        printed = capsys.readouterr()
        return ended.value.code, printed.out, printed.err

    return call


@pytest.fixture
def found(command):
    """Call a command that succeeds, and return the JSON that it prints."""

    def call(*words):
        code, out, err = command(*words)
        assert (code, err) == (0, "")
        return json.loads(out)

    return call


@pytest.fixture
def refused(command):
    """Call a command that is an error of use: there is one line, which is returned, and no result."""

    def call(*words):
        code, out, err = command(*words)
        assert (code, err.count("\n"), err.startswith("error: ")) == (2, 1, True)
        assert all("starting" in line for line in out.splitlines())  # a bar may have begun
        return err

    return call
