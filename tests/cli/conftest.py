"""A wide terminal without colours, in a folder of its own, and `sottovoce` called there."""

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
