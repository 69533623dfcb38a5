"""What the tests of stored evaluations share with those of studies: children that are killed, looks into a storage."""

import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "studies"))  # tests cannot import one another

import sottovoce as sv


@pytest.fixture
def opened():
    """`opened(url, **arguments)` opens evaluations of the name "trials"; they are closed after the test."""
    with ExitStack() as stack:

        def open_them(url, name="trials", **arguments):
            return stack.enter_context(sv.open_evaluations(url, name=name, **arguments))

        yield open_them


@pytest.fixture
def eager(monkeypatch):
    """Let processes reserve places ahead from the first one on, however slow the machine."""
    for name, value in {"_OFTEN": 0, "_SOON": 1e9, "_FRESH": 1e9}.items():
        monkeypatch.setattr(f"sottovoce.evaluations.stored._assigning.{name}", value)


@pytest.fixture
def plain():
    """Evaluations whose sums can be checked: without noise."""
    return {"loss_range": (0.0, 1.0), "privacy": sv.NoPrivacy(), "seed": 3}
