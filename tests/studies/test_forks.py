"""A fork: no acknowledged loss depends on what another process does with descriptors that were inherited."""

import gc
import json
import os
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from study_tools import Look, ask_and_tell, losses_of, path_of, sums

import sottovoce as sv
from children import Child
from sottovoce import _fork
from sottovoce.errors import ForkRefused


def tries_to_open(url, **arguments):
    """Return work that says whether a study could be opened, and tells it losses if so."""

    def work(report):
        try:
            study = sv.Study.open(url, name="study", **arguments)
        except ForkRefused as refused:
            report("refused", str(refused))
            return
        ids = ask_and_tell(study, 5).tolist()
        report("told", ids)

    return work


def said_by(work):
    ((kind, what),) = Child(work).finish()[0]
    return kind, what


@pytest.mark.parametrize("way", ["", "symlink", "relative", "folder"])
def test_a_child_refuses_a_file_that_was_open_at_the_fork_by_whatever_name(way, opened, sqlite_url, shelf, monkeypatch):
    study = opened(sqlite_url, **sums())
    study.ask()
    monkeypatch.chdir(shelf)
    (shelf / "link.db").symlink_to(shelf / "study.db")
    (shelf / "door").symlink_to(shelf)
    names = {"symlink": f"{shelf}/link.db", "relative": "study.db", "folder": f"{shelf}/door/study.db"}
    kind, words = said_by(tries_to_open(f"sqlite:///{names[way]}" if way else sqlite_url))
    assert kind == "refused"
    for advice in ("fork after it has closed the file", "spawn", "PostgreSQL"):
        assert advice in words
    assert study.status().asked == 1


@pytest.mark.parametrize("what", ["connection", "file", "log"])
def test_descriptors_of_the_users_own_count(what, opened, sqlite_url):
    """Closing any descriptor of a file drops all locks that its process has on it: so POSIX wills it."""
    opened(sqlite_url, **sums()).close()
    keeping = sqlite3.connect(path_of(sqlite_url))
    keeping.execute("SELECT * FROM sottovoce_books").fetchall()
    held = keeping
    if what != "connection":
        held = open(path_of(sqlite_url) + ("-wal" if what == "log" else ""), "rb")  # noqa: SIM115
        keeping.close() if what == "file" else None
    kind, _ = said_by(tries_to_open(sqlite_url))
    held.close()
    keeping.close()
    assert kind == "refused"


def test_what_was_closed_before_the_fork_may_be_opened_in_parent_and_child(opened, sqlite_url):
    opened(sqlite_url, **sums()).close()
    for _ in range(2):
        child = Child(tries_to_open(sqlite_url))
        with opened(sqlite_url) as mine:
            mine.ask(3)
        ((kind, ids),) = child.finish()[0]
        assert kind == "told"
        assert Look(sqlite_url).has(ids)


def test_a_server_is_opened_again_in_the_child(opened, postgres_url):
    study = opened(postgres_url, **sums())
    ids = study.ask(8).ids

    def work(report):
        study.close()  # ends nothing but its own use
        tries_to_open(postgres_url)(report)

    kind, theirs = said_by(work)
    assert kind == "told"
    study.tell(ids, losses_of(ids))  # over the connection of before
    assert Look(postgres_url).has([*theirs, *ids])


def test_a_child_closes_nothing_that_it_inherited_and_cannot_reach_the_server(opened, url):
    """Closing would end the parent's session, or undo what it has under way."""
    study = opened(url, **sums())
    study.ask()
    base = study._store._base
    number = None if url.startswith("sqlite") else base._raw.fileno()

    def inherited():
        if number is not None:
            return [os.readlink(f"/proc/self/fd/{number}")]
        return sorted(os.readlink(one) for one in os.scandir("/proc/self/fd") if "study.db" in os.path.realpath(one))

    def work(report):
        before = inherited()
        study.close()
        base._raw = None
        gc.collect()
        report("kept", [before, inherited()])

    _, (before, after) = said_by(work)
    assert before == after
    assert before == ["/dev/null"] if number is not None else len(before) > 1


SCRIPT = """
import gc, os, sys, threading
import sottovoce as sv
from study_tools import ask_and_tell, losses_of, sums

for url in sys.argv[1:]:
    study = sv.Study.open(url, name="study", **sums())
    ids = ask_and_tell(study, 30, told=3)
    inside, go_on = threading.Event(), threading.Event()

    def half_way():
        study._store._base.run("UPDATE sottovoce_schema SET version = version")
        inside.set()
        go_on.wait()

    for told, end in enumerate(("exit", "close", "forget", "killed", "half-way"), start=3):
        if end == "half-way":  # another thread is in the midst of a transaction
            other = threading.Thread(target=study._store._base.transaction, args=(half_way,))
            other.start()
            inside.wait()
        child = os.fork()
        if not child:
            if end == "close":
                study.close()
            if end == "forget":
                del study
                gc.collect()
            if end == "killed":
                os.kill(os.getpid(), 9)
            sys.exit(0)  # an ordinary end: everything is torn down
        assert os.waitpid(child, 0)[1] == (9 if end == "killed" else 0)
        if end == "half-way":
            go_on.set()
            other.join()
        study.tell(ids[told], losses_of(ids)[told])
        assert study.status().told == told + 1, end
        assert study.verify().ok, end
        print(end)
"""


@pytest.mark.timeout(900)
def test_a_child_that_ends_does_its_parent_no_harm(sqlite_url, postgres_url, tmp_path):
    """It comes to an ordinary end, closes or lets go of the study, is killed, or was forked within a transaction."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    path = os.pathsep.join([*map(str, Path(__file__).parents[:2]), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [
            sys.executable,
            "-W",
            "ignore:This process:DeprecationWarning",
            script,
            sqlite_url,
            postgres_url,
        ],  # said of forks since 3.12
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert done.stdout.split() == ["exit", "close", "forget", "killed", "half-way"] * 2, done.stderr
    assert done.stderr == ""
    for url in (sqlite_url, postgres_url):
        with sv.Study.open(url, name="study") as study:
            assert study.status().told == 8


def test_a_fork_that_python_has_not_seen_is_noticed(opened, sqlite_url, monkeypatch):
    """Servers written in C may fork without telling Python: the process number gives it away."""
    study = opened(sqlite_url, **sums())

    def work(report):
        monkeypatch.setattr(_fork, "_pid", os.getppid())
        monkeypatch.setattr(_fork, "_descriptors", {})
        monkeypatch.setattr(_fork, "_files", set())
        tries_to_open(sqlite_url)(report)

    study.ask()
    assert said_by(work)[0] == "refused"


def test_other_programs_inherit_no_descriptor(opened, sqlite_url):
    study = opened(sqlite_url, **sums())
    study.ask()
    look = "import os, json; print(json.dumps([os.path.realpath(one) for one in os.scandir('/proc/self/fd')]))"
    found = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, close_fds=False, check=True)
    assert not [one for one in json.loads(found.stdout) if "study.db" in one]


def test_two_studies_on_one_file_are_closed_one_by_one(opened, sqlite_url):
    """SQLite keeps its locks for both: closing one takes nothing from the other."""
    one, other = opened(sqlite_url, **sums()), opened(sqlite_url)
    ids = one.ask(9).ids
    other.close()
    assert said_by(tries_to_open(sqlite_url))[0] == "refused"
    one.tell(ids, losses_of(ids))
    assert Look(sqlite_url).has(ids)
    one.close()
    assert said_by(tries_to_open(sqlite_url))[0] == "told"


def test_a_lock_that_was_held_at_the_fork_blocks_no_child(opened, sqlite_url):
    study = opened(sqlite_url, **sums())
    held, let_go = threading.Event(), threading.Event()

    def hold():
        with study._lock:
            held.set()
            let_go.wait()

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait()

    def work(report):
        study.close()
        refused = 0
        for call in (study.ask, study.ask_round, study.status, study.recommend, study.outstanding):
            try:
                call()
            except ForkRefused:
                refused += 1
        report("refused", refused)

    try:
        assert said_by(work) == ("refused", 5)
    finally:
        let_go.set()
        holder.join()
