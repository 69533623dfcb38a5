"""What the hostile tests of the service share."""

import contextlib
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "studies"))
sys.path.insert(0, str(Path(__file__).parent))  # tests cannot import one another, so what they share has a name
import hostility


@pytest.fixture
def serving(shelf):
    """`serving(url, workers=2)` is a running service; it is stopped after the test."""
    with contextlib.ExitStack() as stack:

        def start(url, prelude="", **settings):
            folder = shelf / f"service{len(list(shelf.iterdir()))}"
            folder.mkdir()
            served = hostility.Served(url, folder, prelude, **settings)
            stack.callback(lambda: served.process is not None and served.kill())
            return served.start()

        yield start
