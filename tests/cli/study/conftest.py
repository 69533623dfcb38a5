"""A folder of its own for every test, and `sottovoce study` called in it; nothing may echo a loss."""

import os
import tempfile
from pathlib import Path

import pytest

SECRET = "0.123456789"  # tests tell this loss


@pytest.fixture(autouse=True)
def place(monkeypatch):
    """A folder in memory where there is any (disks are slow), with the storage named by the environment."""
    monkeypatch.setenv("SOTTOVOCE_STORAGE", "sqlite:///study.db")
    base = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=base if os.access(base, os.W_OK) else None) as folder:
        monkeypatch.chdir(folder)
        yield Path(folder)
        monkeypatch.undo()


@pytest.fixture
def command(command):
    def call(*arguments):
        code, out, err = command("study", *map(str, arguments))
        assert SECRET not in out + err
        return code, out, err

    return call
