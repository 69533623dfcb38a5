import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # worker processes inherit the path, and import the stand-ins by name
import standins

from sottovoce.lab.problems import PROBLEMS


@pytest.fixture(autouse=True)
def toy(monkeypatch):
    monkeypatch.setitem(PROBLEMS, "toy", standins.Toy)


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
