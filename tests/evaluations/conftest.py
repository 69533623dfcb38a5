"""Evaluations in memory and in a file: what is said of them holds for both; test_stored.py has servers as well."""

import sqlite3
from contextlib import ExitStack, closing, contextmanager

import psycopg
import pytest

import sottovoce as sv
from children import Child


@contextmanager
def _opening(storage):
    with ExitStack() as stack:

        def open_them(loss_range=(0.0, 1.0), privacy=None, *, name="trials", **options):
            made = sv.PrivateEvaluations(
                loss_range, sv.NoPrivacy() if privacy is None else privacy, storage=storage, name=name, **options
            )
            return stack.enter_context(made)

        yield open_them


@pytest.fixture(params=["memory", "file"])
def storage(request):
    """None for memory, or the URL of a storage."""
    return None if request.param == "memory" else request.getfixturevalue("sqlite_url")


@pytest.fixture
def evaluate(storage):
    """`evaluate(**options)` returns evaluations, without noise by default; they are closed after the test."""
    with _opening(storage) as open_them:
        yield open_them


@pytest.fixture
def opened():
    """`opened(url, **options)` creates or resumes evaluations in a storage; they are closed after the test."""
    with ExitStack() as stack:

        def open_them(url, name="trials", **options):
            return stack.enter_context(sv.PrivateEvaluations(storage=url, name=name, **options))

        yield open_them


@pytest.fixture
def plain():
    """Evaluations whose sums can be checked: without noise."""
    return {"loss_range": (0.0, 1.0), "privacy": sv.NoPrivacy(), "seed": 3}


@pytest.fixture
def eager(monkeypatch):
    """Let processes deal places ahead from the first one on, however slow the machine."""
    for name, value in {"_SOON": 1e9, "_FRESH": 1e9}.items():
        monkeypatch.setattr(f"sottovoce.evaluations._book.{name}", value)


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


@pytest.fixture
def child():
    """`child(work)` runs `work(report)` in a process of its own."""
    return Child
