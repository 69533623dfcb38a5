"""What was asked and not told can be listed by any process, and costs nothing to those who do not list it."""

import pytest
from study_tools import Look, ball, losses_of, place, probing, sums

import sottovoce as sv
from sottovoce.errors import StorageError
from sottovoce.rounds.stores.sql.chunks import Slots


def test_any_process_lists_what_is_outstanding_after_a_restart_too(opened, url):
    study = opened(url, **sums())
    ids = study.ask(30).ids
    study.tell(ids[3:20], losses_of(ids[3:20]))
    study.forget(ids[25:27])
    study.close()
    found = opened(url).outstanding()
    expected = [*ids[:3], *ids[20:25], *ids[27:]]
    assert found.ids.tolist() == expected
    assert found.rounds.tolist() == [place(one)[1] // 256 for one in expected]  # rounds begin chunks
    assert found.ages.tolist() == [29 - ids.tolist().index(one) for one in expected]
    assert next(iter(found)) == (ids[0], 0, 29)
    assert len(found) == opened(url).status().outstanding == 11


def test_they_can_be_told_or_forgotten(opened, url):
    study = opened(url, **sums())
    study.ask(30)
    found = study.outstanding()
    study.tell(found.ids[:12], losses_of(found.ids[:12]))
    assert study.round == 1
    assert study.outstanding().ids.tolist() == found.ids[12:].tolist()
    assert study.forget(study.outstanding().ids) == 18
    assert len(study.outstanding()) == 0
    assert str(study.outstanding()) == "no loss is outstanding"


def test_a_limit_takes_the_oldest_and_the_words_are_about_all(opened, url):
    study = opened(url, patience=50, **sums())
    study.tell(study.ask(30).ids[:2], [0.5, 0.5])
    few = study.outstanding(limit=3)
    assert few.ids.tolist() == study.outstanding().ids[:3].tolist()
    assert len(study.outstanding(limit=0)) == 0
    assert "28 losses are outstanding" in str(few)
    assert "round 0 waits for 10 losses of 12 actions: it closes without them when 50 more are asked" in str(few)
    assert "round 2 waits for 6 losses of 12 actions: 6 of these are not asked yet" in str(few)
    with pytest.raises(ValueError, match="limit must be at least 0"):
        study.outstanding(limit=-1)


def test_unwanted_losses_are_not_outstanding_nor_are_those_of_an_earlier_life(opened, url):
    study = opened(url, **probing())
    block = study.ask(24)
    assert study.outstanding().ids.tolist() == block.ids[block.wants_loss].tolist()
    study.close()
    again = opened(url, restored=True)
    assert len(again.outstanding()) == 0
    fresh = again.ask_round()
    assert again.outstanding().ids.tolist() == fresh.ids[fresh.wants_loss].tolist()


def test_it_is_the_same_as_in_memory(opened, sqlite_url):
    study = opened(sqlite_url, seed=1, **ball())
    memory = sv.PrivateBandit(sv.domains.Ball(3), seed=1, **{k: v for k, v in ball().items() if k != "domain"})
    for optimizer in (study, memory):
        ids = optimizer.ask(30).ids
        optimizer.tell(ids[3:20], [0.5] * 17)
        optimizer.ask(5)
    a, b = study.outstanding(), memory.outstanding()
    assert (a.rounds.tolist(), a.ages.tolist(), str(a)) == (b.rounds.tolist(), b.ages.tolist(), str(b))


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
