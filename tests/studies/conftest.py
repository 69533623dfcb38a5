"""What the tests of studies share: opening them, and a tally of what was done to them."""

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # tests cannot import one another, so what they share has a name
import small_studies
import tallying


@pytest.fixture
def opened():
    """`opened(url, **arguments)` is Study.open; whatever is left open is closed after the test."""
    with small_studies.Opener() as opener:
        yield opener


def pytest_terminal_summary(terminalreporter):
    """At the end of a soak: what was done to studies how often, and what became of it."""
    path = os.environ.get("SOTTOVOCE_TALLY")
    if path and os.path.exists(path):
        terminalreporter.section("what was done, and what became of it")
        for line in tallying.tallied(path):
            terminalreporter.write_line(line)
