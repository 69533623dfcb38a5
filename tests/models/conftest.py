"""Models are called with one thread of linear algebra, as the library does: more of them take six times as long."""

import pytest

from sottovoce._threads import single_threaded


@pytest.fixture(autouse=True)
def one_thread():
    with single_threaded():
        yield
