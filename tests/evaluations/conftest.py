"""Evaluations in memory, in a file and on a server: what is said of them holds for all."""

from contextlib import ExitStack

import pytest

import sottovoce as sv


@pytest.fixture
def opened():
    """`opened(url, **options)` creates or resumes evaluations in a storage; they are closed after the test."""
    with ExitStack() as stack:

        def open_them(url, name="trials", **options):
            return stack.enter_context(sv.PrivateEvaluations(storage=url, name=name, **options))

        yield open_them


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def storage(request):
    """None for memory, or the URL of a storage."""
    which = {"sqlite": "sqlite_url", "postgresql": "postgres_url"}
    return None if request.param == "memory" else request.getfixturevalue(which[request.param])


@pytest.fixture
def evaluate(storage, opened):
    """`evaluate(**options)` returns evaluations, without noise by default; they are closed after the test."""

    def open_them(loss_range=(0.0, 1.0), privacy=None, **options):
        given = sv.NoPrivacy() if privacy is None else privacy
        return opened(storage, loss_range=loss_range, privacy=given, **options)

    return open_them


@pytest.fixture
def two(evaluate, storage, opened):
    """`two(**options)` returns evaluations as two processes have them; in memory there is but one."""

    def open_both(**options):
        here = evaluate(**options)
        return here, here if storage is None else opened(storage)

    return open_both


@pytest.fixture
def plain():
    """Evaluations whose sums can be checked: without noise."""
    return {"loss_range": (0.0, 1.0), "privacy": sv.NoPrivacy(), "seed": 3}
