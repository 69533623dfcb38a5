"""What the tests of studies share: opening them."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # tests cannot import one another, so what they share has a name
import small_studies


@pytest.fixture
def opened():
    """`opened(url, **arguments)` is Study.open; whatever is left open is closed after the test."""
    with small_studies.Opener() as opener:
        yield opener
