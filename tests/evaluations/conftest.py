"""Evaluations in memory, in a file and on a server: what is said of them holds for all."""

import sqlite3
from contextlib import ExitStack, closing

import psycopg
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


@pytest.fixture
def execute():
    """`execute(url, statement)` changes a storage behind the library's back; returns the rows of a question."""

    def run(url, statement, *values):
        if url.startswith("sqlite"):
            with closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)) as raw:
                raw.execute("PRAGMA foreign_keys = OFF")
                return raw.execute(statement, values).fetchall()
        with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as server:
            server.execute("SET session_replication_role = replica")  # constraints are not asked
            found = server.execute(statement.replace("?", "%s"), values)
            return found.fetchall() if found.description else []

    return run
