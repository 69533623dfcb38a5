"""Threads share one study, and their calls share commits."""

import threading

import numpy as np
import pytest
from study_tools import Look, losses_of, sums, watch

from children import at_once
from sottovoce.errors import AlreadyTold

THREADS, CALLS = 8, 12


def together(study, ids, refused=AlreadyTold, first=lambda: None):
    """Tell each id in a thread of its own, all of which wait before one may begin; return who was refused."""
    outcomes = []

    def work(index):
        try:
            study.tell(ids[index], losses_of(ids[index : index + 1])[0])
        except refused:
            outcomes.append(index)

    with study._lock:
        workers = threading.Thread(target=lambda: at_once(work, len(ids)))
        workers.start()
        while len(study._queue) < len(ids):
            pass
        first()
    workers.join(600)
    return outcomes


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

    at_once(work, THREADS)
    status = study.status()
    assert len(handed_out) == len(set(handed_out)) == status.asked == status.told
    assert (status.outstanding, status.round) == (0, status.asked // 12)
    assert all(value is not None for value in Look(url).told().values())
    study.close()
    assert opened(url).status().told == status.told


@pytest.mark.timeout(900)
def test_calls_that_wait_together_share_a_commit(opened, url, monkeypatch):
    study = opened(url, **sums(probe_events=300))  # no round closes: what is counted are calls
    ids, sent = study.ask(THREADS).ids, []
    watch(sent.append, put=monkeypatch.setattr)
    assert together(study, ids) == []
    assert len([one for one in sent if one.startswith("UPDATE sottovoce_chunks")]) == 1
    assert study.status().told == THREADS


@pytest.mark.timeout(900)
def test_one_bad_call_does_not_harm_those_it_waits_with(opened, url):
    study = opened(url, **sums())
    ids = study.ask(8).ids
    study.tell(ids[0], 0.5)
    assert together(study, ids) == [0]
    assert study.status().told == 8


@pytest.mark.timeout(900)
def test_of_two_that_tell_the_same_action_at_once_one_is_refused(opened, url):
    study = opened(url, **sums())
    ids = study.ask(4).ids
    assert len(together(study, np.repeat(ids, 2))) == 4
    assert study.status().told == 4


@pytest.mark.timeout(900)
@pytest.mark.parametrize("late", [False, True])
def test_an_interrupt_of_the_thread_that_records_for_all_loses_nothing(late, opened, url, monkeypatch):
    """Whether it comes before the commit or after it: the other threads' losses are on record, and none is refused."""
    study = opened(url, **sums())
    ids = study.ask(12).ids

    def interrupt(statement):
        if statement.startswith("COMMIT" if late else "UPDATE sottovoce_chunks"):
            patch.undo()
            raise KeyboardInterrupt

    def lead():
        with pytest.raises(KeyboardInterrupt):
            study.tell(ids[0], losses_of(ids[:1])[0])

    with monkeypatch.context() as patch:
        watch(**{"after" if late else "before": interrupt}, put=patch.setattr)
        assert together(study, ids[1:], first=lead) == []
    study = opened(url, repeat="ignore")
    study.tell(ids[0], losses_of(ids[:1])[0])  # who was interrupted does not know, and repeats it
    assert (study.status().told, study.round) == (12, 1)
    assert study.verify().ok


@pytest.mark.timeout(900)
def test_what_fails_to_commit_fails_for_all_and_is_then_as_if_it_had_not_been(opened, url, monkeypatch):
    """The state is thrown away: the next call begins with what is stored."""
    study = opened(url, repeat="ignore", **sums())
    ids = study.ask(8).ids
    failing = [None]

    def fail(statement):
        if failing[0] and statement.startswith(("COMMIT", "UPDATE sottovoce_chunks")):
            raise failing[0]

    watch(fail, put=monkeypatch.setattr)
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
    assert len(Look(url).told()) == 28 - 2 * 12


def test_a_call_that_is_interrupted_while_it_waits_is_not_done_later(opened, sqlite_url):
    study = opened(sqlite_url, **sums())
    ids = study.ask(3).ids

    class Interrupted:
        def __enter__(self):
            raise KeyboardInterrupt

        def __exit__(self, *_):
            pass

    lock, study._lock = study._lock, Interrupted()
    with pytest.raises(KeyboardInterrupt):
        study.tell(ids[0], 0.5)
    study._lock = lock
    study.tell(ids[1], 0.5)
    assert study.outstanding().ids.tolist() == [ids[0], ids[2]]
