"""Threads share one study."""

import threading

import numpy as np
import pytest
from study_tools import Look, losses_of, sums, watch

from children import at_once

THREADS, CALLS = 8, 12


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
