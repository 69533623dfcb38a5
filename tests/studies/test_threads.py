"""Threads share one book."""

import numpy as np
import pytest
from players import KINDS, Account
from study_tools import Look, ask_and_tell, losses_of, sums, watch

from children import at_once

THREADS, CALLS = 8, 12


@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", KINDS)
def test_threads_ask_and_tell_with_exact_totals(kind, url):
    account = Account(url, kind=kind)
    with KINDS[kind].first(url) as handle:

        def work(index):
            rng, mine = np.random.default_rng(index), []
            for _ in range(CALLS):
                ids = handle.block(int(rng.integers(1, 6)))
                handle.tell(ids)
                mine += ids
            return mine

        handed_out = [one for ids in at_once(work, THREADS) for one in ids]
        assert len(handed_out) == len(set(handed_out))
        assert handle.waiting() == set()
        assert handle.counts() in (None, (len(handed_out), 0))
        assert handle.opened.verify().ok
    account.hear([(what, handed_out) for what in ("asked", "telling", "told")])
    account.check()


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
    ask_and_tell(study, 20)
    assert study.status().told == 28
    assert len(Look(url).told()) == 28 - 2 * 12
