"""Threads share one study, and their calls share commits."""

import threading

import numpy as np
import pytest
from sqlalchemy import event
from study_tools import Look, losses_of, sums, watch

from sottovoce.errors import AlreadyTold
from sottovoce.studies.session._group_commit import Committer, Operation

THREADS, CALLS = 8, 12


def run_threads(work, count=THREADS):
    problems = []

    def guarded(index):
        try:
            work(index)
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=guarded, args=(index,)) for index in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(600)
        assert not thread.is_alive(), "a thread is stuck"
    if problems:
        raise problems[0]


def count_commits(study):
    commits = []
    event.listen(study._session.storage._engine, "commit", lambda connection: commits.append(1))
    return commits


@pytest.mark.timeout(900)
def test_threads_ask_and_tell_with_exact_totals(opened, url):
    study = opened(url, deadline=1e6, **sums())
    handed_out, lock = [], threading.Lock()

    def work(index):
        rng = np.random.default_rng(index)
        for _ in range(CALLS):
            ids = study.ask(int(rng.integers(1, 6))).ids
            with lock:
                handed_out.extend(ids.tolist())
            study.tell(ids, losses_of(ids))

    run_threads(work)
    status = study.status()
    assert len(handed_out) == len(set(handed_out)) == status.asked == status.told
    assert (status.outstanding, status.round) == (0, status.asked // 12)
    assert all(value is not None for value in Look(url).told().values())
    study.close()
    assert opened(url).status().told == status.told


@pytest.mark.timeout(900)
def test_calls_that_wait_together_share_a_commit(opened, sqlite_url):
    study = opened(sqlite_url, **sums(probe_events=300))  # no round closes: what is counted are calls
    ids = study.ask(THREADS * CALLS).ids
    commits = count_commits(study)
    gate = threading.Barrier(THREADS + 1)

    def work(index):
        gate.wait()
        for one in ids[index::THREADS]:
            study.tell(one, losses_of([one])[0])

    with study._session.committer.turn:  # all are waiting before the first may begin
        workers = threading.Thread(target=lambda: run_threads(work))
        workers.start()
        gate.wait()
        while len(study._session.committer._waiting) < THREADS:
            pass
    workers.join()
    assert study.status().told == THREADS * CALLS
    assert len(commits) < THREADS * CALLS


@pytest.mark.timeout(900)
def test_one_bad_call_does_not_harm_those_it_waits_with(opened, url):
    study = opened(url, **sums())
    ids = study.ask(8).ids
    study.tell(ids[0], 0.5)
    outcomes = {}
    gate = threading.Barrier(9)

    def work(index):
        gate.wait()
        try:
            study.tell(ids[index], losses_of(ids[index : index + 1])[0])
        except AlreadyTold:
            outcomes[index] = "refused"

    with study._session.committer.turn:
        workers = threading.Thread(target=lambda: run_threads(work))
        workers.start()
        gate.wait()
        while len(study._session.committer._waiting) < THREADS:
            pass
    workers.join()
    assert outcomes == {0: "refused"}
    assert study.status().told == 8


@pytest.mark.timeout(900)
def test_what_fails_to_commit_fails_for_all_and_is_then_as_if_it_had_not_been(opened, url, monkeypatch):
    """The state is thrown away: the next call begins with what is stored."""
    study = opened(url, repeat="ignore", **sums())
    ids = study.ask(8).ids
    engine = study._session.storage._engine
    failing = [None]

    @event.listens_for(engine, "commit")
    def fail(connection):
        if failing[0]:
            raise failing[0]

    watch(
        lambda statement: statement.startswith(("COMMIT", "UPDATE sottovoce_cells")) and fail(None),
        put=monkeypatch.setattr,
    )

    calls = (lambda: study.tell(ids, losses_of(ids)), lambda: study.ask(20), lambda: study.forget(ids[:3]))
    for failing[0] in (RuntimeError("gone"), KeyboardInterrupt("gone")):
        for call in calls:
            with pytest.raises(type(failing[0]), match="gone"):
                call()
    failing[0] = None
    status = study.status()
    assert (status.asked, status.told, status.forgotten, status.outstanding) == (8, 0, 0, 8)
    study.tell(ids, losses_of(ids))
    more = study.ask(20).ids
    study.tell(more, losses_of(more))
    assert study.status().told == 28
    assert sorted(Look(url).told()) == [(2, slot) for slot in range(4)]


def test_a_call_that_is_interrupted_while_it_waits_is_not_done_later():
    done = []

    def carry_out(operations):
        for one in operations:
            one.succeed(one.do(None))

    committer = Committer(carry_out)

    class Interrupted:
        def __enter__(self):
            raise KeyboardInterrupt

        def __exit__(self, *_):
            pass

    turn, committer.turn = committer.turn, Interrupted()
    with pytest.raises(KeyboardInterrupt):
        committer.submit(Operation(lambda transaction: done.append("late")))
    committer.turn = turn
    assert committer.submit(Operation(lambda transaction: 42)) == 42
    assert done == []


@pytest.mark.timeout(900)
def test_asks_that_wait_with_the_end_of_a_life_belong_to_the_next(opened, sqlite_url):
    study = opened(sqlite_url, **sums())
    old = study.ask(7).ids
    asked = []
    with study._session.committer.turn:
        ending = threading.Thread(target=study._session.submit, args=(study._begin_new_life,))
        ending.start()
        while len(study._session.committer._waiting) < 1:
            pass
        asking = threading.Thread(target=lambda: asked.extend(study.ask(9).ids.tolist()))
        asking.start()
    ending.join()
    asking.join()
    study.tell(asked, losses_of(asked))
    rest = study.ask_round().ids
    study.tell(rest, losses_of(rest))
    status = study.status()
    assert (status.outstanding, status.open_rounds, status.round) == (0, 0, 2)
    assert status.told == status.asked - len(old)
