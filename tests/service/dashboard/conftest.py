"""What the tests of the dashboard share."""

import contextlib
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # tests cannot import one another, so what they share has a name
from sites import Site


@pytest.fixture
def make_site(tmp_path):
    """`make_site(dev=True)` is a service with an empty storage."""
    with contextlib.ExitStack() as stack:

        def make(name="site", **settings):
            (tmp_path / name).mkdir()
            site = Site(tmp_path / name, **settings)
            stack.callback(site.close)
            return site

        yield make


@pytest.fixture
def site(make_site):
    return make_site()
