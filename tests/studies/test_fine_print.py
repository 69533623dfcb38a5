"""Temporary files, lax servers, errors that mislead or tell too much, calls out of turn."""

import sqlite3
import threading

import numpy as np
import pytest
from sqlalchemy.exc import OperationalError
from study_tools import Look, ball, losses_of, path_of, sums

import sottovoce as sv
from sottovoce.errors import RoundClosed, StorageError, StudyBehind
from sottovoce.studies.calls.ids import sign
from sottovoce.studies.database.storage import Storage, driver_of
from sottovoce.studies.session.counters import AUTO


def test_no_temporary_file_ever_holds_losses(opened, sqlite_url):
    """SQLite sorts in memory; and the queries for losses have an index in order, so there is nothing to sort."""
    study = opened(sqlite_url, **sums())
    plans = []
    with study._session.storage.transaction() as connection:
        assert connection.exec_driver_sql("PRAGMA temp_store").scalar() == 2
        table, raw = study._session.cells(connection), driver_of(connection)

        class Explaining:
            def execute(self, statement, values):
                plans.append(" ".join(str(row) for row in raw.execute(f"EXPLAIN QUERY PLAN {statement}", values)))
                return raw.execute(statement, values)

        table._raw = Explaining()
        table.covering(1, 0, np.array([0, 5]))
        table.of_round(0)
    assert len(plans) == 2
    assert not any("TEMP B-TREE" in plan for plan in plans)


@pytest.mark.parametrize(
    "url", ["sqlite:///file:u.db?uri=true", "sqlite:///u.db?vfs=unix-none", "sqlite:///u.db?nolock=1"]
)
def test_uris_that_undo_locks_or_permissions_are_refused(url, opened, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="plain file"):
        opened(url, **sums())
    assert not list(tmp_path.iterdir())


def test_a_server_that_forgets_commits_is_told_not_to(opened, postgres_url):
    lax = postgres_url + ("%20" if "options=" in postgres_url else "?options=") + "-csynchronous_commit%3Doff"
    storage = Storage(lax)
    with storage.transaction() as connection:
        assert connection.exec_driver_sql("SHOW synchronous_commit").scalar() == "on"
        assert connection.exec_driver_sql("SHOW transaction_isolation").scalar() == "read committed"
    storage.close()


def no_room(*_):
    raise OperationalError("UPDATE", None, sqlite3.OperationalError("database or disk is full"))


def test_what_is_on_record_is_not_called_a_failure(opened, sqlite_url, monkeypatch):
    study = opened(sqlite_url, **sums())
    ids = study.ask(12).ids
    with monkeypatch.context() as patch:
        patch.setattr("sottovoce.studies.calls.closing._close_next", no_room)  # and so all closing of rounds
        study.tell(ids, losses_of(ids))  # on record, though its round cannot be closed
        assert len(study.ask(5)) == 5  # nor is any action lost
        with pytest.raises(StorageError, match="full"):
            study.status()  # that closing fails can be seen here
    assert Look(sqlite_url).head.asked == 17
    assert study.status().round == 1
    assert study.status().told == 12


def test_an_errors_context_holds_no_loss(opened, sqlite_url):
    study = opened(sqlite_url, **sums())
    ids = study.ask(3).ids
    with sqlite3.connect(path_of(sqlite_url)) as connection:
        connection.execute("ALTER TABLE sottovoce_cells RENAME COLUMN losses TO others")
    connection.close()
    with pytest.raises(StorageError) as refused:
        study.tell(ids, [0.1, 0.2, 0.3])
    seen, waiting = set(), [refused.value]
    while waiting:
        error = waiting.pop()
        if error is None or id(error) in seen:
            continue
        seen.add(id(error))
        assert not getattr(error, "params", None)
        waiting += [error.__context__, error.__cause__, getattr(error, "orig", None)]


@pytest.mark.parametrize("repeat", ["ignore", "error"])
def test_what_was_given_up_stays_given_up(repeat, opened, url):
    study = opened(url, repeat=repeat, **sums())
    ids = study.ask(12).ids
    study.forget(ids[:2])
    with pytest.raises(RoundClosed):  # while the round is open
        study.tell(ids[0], 0.5)
    with pytest.raises(RoundClosed):
        study.tell(ids, losses_of(ids))
    assert study.status().told == 0
    study.tell(ids[2:], losses_of(ids[2:]))
    with pytest.raises(RoundClosed):  # and when it is closed
        study.tell(ids[0], 0.5)
    assert study.forget(ids[:4]) == 0  # whoever is not sure whether it returned may say it again
    assert (study.status().told, study.status().forgotten) == (10, 2)


def test_an_id_that_is_too_new_is_noticed_among_old_ones(opened, url):
    study = opened(url, **sums())
    old = study.ask(3).ids.tolist()
    (future,) = sign(study._found.key, 1, 9, [0])
    with pytest.raises(StudyBehind):
        study.tell(future, 0.5)
    generation = study.status().generation
    (future,) = sign(study._found.key, generation, 9, [0])
    with pytest.raises(StudyBehind):
        study.tell([old[0], future], [0.5, 0.5])
    assert study.status().generation > generation


def test_no_call_shares_the_transaction_of_a_release(opened, sqlite_url, monkeypatch):
    """What follows from a release must not be used before it is committed, by another thread's call least of all."""
    study = opened(sqlite_url, **ball(privacy=sv.PureDP(1.0)))
    ids = study.ask(8).ids
    state, alone = study._session.state, []
    close = type(state).close

    def watched(self, connection, *facts):
        other = threading.Thread(target=study.change, kwargs={"patience": 77})
        other.start()
        while not study._session.committer._waiting:
            pass
        close(self, connection, *facts)
        alone.append(self.counters.patience)
        others.append(other)

    others = []
    monkeypatch.setattr(type(state), "close", watched)
    study.tell(ids, losses_of(ids))
    for other in others:
        other.join(600)
    assert alone == [AUTO]
    assert study.status().patience == 77


def test_the_statement_of_a_study_names_its_database(opened, url):
    study = opened(url, **ball(privacy=sv.PureDP(1.0)))
    printed = " ".join(str(study.privacy).split())
    assert "hold the losses of open rounds" in printed
    assert "restored=True" in printed
    assert ("archives and replicas" in printed) == (not url.startswith("sqlite"))
    assert "database" not in str(sv.PrivateBandit(**ball(privacy=sv.PureDP(1.0))).privacy)


def test_an_action_in_place_of_its_id_is_refused_with_advice(opened, sqlite_url):
    study = opened(sqlite_url, **sums())
    with pytest.raises(TypeError, match=r"action\.id"):
        study.tell(study.ask(), 0.5)
    with pytest.raises(TypeError, match=r"actions\.ids"):
        study.forget(study.ask(2))
