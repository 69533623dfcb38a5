"""What was asked and not told can be listed by any process, and costs nothing to those who do not list it."""

import pytest
from study_tools import Look, ball, losses_of, place, probing, sums

from sottovoce.errors import StorageError
from sottovoce.rounds.round import Slots


def test_any_process_lists_what_is_outstanding_after_a_restart_too(opened, sqlite_url):
    study = opened(sqlite_url, **sums())
    ids = study.ask(30).ids
    study.tell(ids[3:20], losses_of(ids[3:20]))
    study.forget(ids[25:27])
    study.close()
    found = opened(sqlite_url).outstanding()
    expected = [*ids[:3], *ids[20:25], *ids[27:]]
    assert found.ids.tolist() == expected
    assert found.rounds.tolist() == [place(one)[1] // 256 for one in expected]  # rounds begin chunks
    assert found.ages.tolist() == [29 - ids.tolist().index(one) for one in expected]
    assert next(iter(found)) == (ids[0], 0, 29)
    assert len(found) == opened(sqlite_url).status().outstanding == 11


def test_unwanted_losses_are_not_outstanding_nor_are_those_of_an_earlier_life(opened, sqlite_url):
    study = opened(sqlite_url, **probing())
    block = study.ask(24)
    assert study.outstanding().ids.tolist() == block.ids[block.wants_loss].tolist()
    study.close()
    again = opened(sqlite_url, restored=True)
    assert len(again.outstanding()) == 0
    fresh = again.ask_round()
    assert again.outstanding().ids.tolist() == fresh.ids[fresh.wants_loss].tolist()


def test_a_closed_study_lists_nothing(opened, sqlite_url):
    study = opened(sqlite_url, **sums())
    study.close()
    with pytest.raises(StorageError, match="closed"):
        study.outstanding()


def test_what_is_outstanding_costs_other_calls_nothing(opened, sqlite_url, monkeypatch):
    """Many rounds wait: asking, telling and looking count as many slots as they touch, not as many as there are."""
    study = opened(sqlite_url, patience=None, **ball(batch_size=2000, horizon=10**6))
    study.ask(100_000)
    looked, unpacked = [], Slots.unpacked
    monkeypatch.setattr(Slots, "unpacked", lambda self, data: looked.append(len(data) // 4) or unpacked(self, data))
    ids = study.ask(10).ids
    study.tell(ids, losses_of(ids))
    assert study.status().outstanding == 100_000
    assert sum(looked) <= 2 * 256  # of the chunks that are told
    assert Look(sqlite_url).counters.clock == 100_010
