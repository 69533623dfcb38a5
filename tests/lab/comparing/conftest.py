import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # worker processes inherit the path, and import the stand-ins by name
import standins

from sottovoce.lab.problems import PROBLEMS
from sottovoce.lab.sweeps import sweeping


@pytest.fixture(autouse=True)
def toy(monkeypatch):
    monkeypatch.setitem(PROBLEMS, "toy", standins.Toy)


@pytest.fixture
def inline(monkeypatch):
    """Run sweeps in this process: what is on disk is the same, and starting processes is most of their time."""
    monkeypatch.setattr(
        sweeping, "_over_processes", lambda cells, task, jobs: (sweeping.attempt(task, cell) for cell in cells)
    )


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
