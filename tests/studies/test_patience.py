"""A loss that never comes does not stop a study: patience, counted in positions, and a deadline, in seconds.

When a round is out of patience is tested against a plain model in tests/rounds/test_contract.py.
"""

import numpy as np
import pytest
from study_tools import Look, ask_and_tell, ball, counts, set_clock, sums

from sampling import every
from sottovoce.errors import ConfigurationMismatch, RoundClosed
from sottovoce.rounds.stores.sql.store import SqlStore
from storages import lease_ahead


def test_whoever_asks_next_closes_what_is_due(opened, url):
    """Also if it has not heard of what the others asked; and what it asks follows from the round that it closed."""
    one, other = opened(url, patience=10, seed=5, **sums()), opened(url)
    one.tell(one.ask(12).ids[:6], np.linspace(0, 1, 6))
    one.ask(10)
    assert one.round == 0
    late = other.ask(30)
    assert other.round == 1
    alone = opened(url, "alone", patience=10, seed=5, **sums())
    alone.tell(alone.ask(12).ids[:6], np.linspace(0, 1, 6))
    alone.ask(10)
    assert np.array_equal(alone.ask(30).x, late.x)


# ---------------------------------------------------------------------- changing


def test_patience_and_deadline_change_while_the_study_runs(opened, sqlite_url):
    study, other = opened(sqlite_url, patience=None, **sums()), opened(sqlite_url)
    study.ask(12)
    other.change(patience=2)
    study.ask(1)
    study.ask(1)
    assert study.round == 0
    study.ask(1)
    assert study.round == 1
    study.change(deadline=60)
    assert (other.status().patience, other.status().deadline) == (2, 60.0)
    other.change(patience="auto")
    study.change()
    other.close()
    study.close()
    again = opened(sqlite_url, patience="auto", deadline=60.0)
    assert (again.status().patience, again.status().deadline) == (10_000, 60.0)
    again.change(deadline=None, patience=None)
    assert (again.status().patience, again.status().deadline) == (None, None)
    assert again.verify().ok


def test_a_deadline_closes_rounds_whenever_it_was_set(opened, url, monkeypatch):
    now = [1e9]
    set_clock(monkeypatch, lambda: now[0])
    study = opened(url, deadline=60.0, **sums())
    ids = ask_and_tell(study, 20, told=7)
    now[0] += 59
    assert counts(study) == (20, 7, 0, 13, 0)
    study.close()
    study = opened(url)
    now[0] += 2
    assert counts(study) == (20, 7, 5, 8, 1)  # of the second round nothing is overdue: it is not asked to its end
    with pytest.raises(RoundClosed):
        study.tell(ids[8], 0.5)
    now[0] += 1000
    assert counts(study)[4] == 1
    study.ask(4)
    now[0] += 61
    assert counts(study) == (24, 7, 17, 0, 2)
    other = opened(url)
    other.change(deadline=None)
    study.ask(13)
    now[0] += 1000
    assert other.status().round == 2
    study.change(deadline=1500)
    assert other.status().waiting.seconds_left == 500
    assert study.round == 2
    study.change(deadline=999)  # it is over already
    assert study.round == 3
    other.ask(11)
    now[0] += 1000
    other.change(deadline=None)
    assert other.status().round == 3


@every("bad", [-1, 0.5, "soon", "1", float("nan"), [3], 10**30])
def test_what_is_no_patience_is_refused(bad, opened, sqlite_url):
    study = opened(sqlite_url, **sums())
    with pytest.raises((ValueError, TypeError), match="patience must be"):
        study.change(patience=bad, deadline=5)
    with pytest.raises((ValueError, TypeError), match="patience must be"):
        opened(sqlite_url, "other", patience=bad, **sums())
    with pytest.raises(ValueError, match="deadline must be"):
        study.change(patience=7, deadline=0)
    with pytest.raises(ValueError, match="deadline must be"):
        opened(sqlite_url, "other", deadline=-1.0, **sums())
    assert (study.status().patience, study.status().deadline) == (10_000, None)


def test_another_patience_is_refused_on_resuming_with_advice(opened, sqlite_url):
    opened(sqlite_url, patience=7, deadline=60, **sums())
    for change in ({"patience": "auto"}, {"patience": None}, {"patience": 8}, {"deadline": None}, {"deadline": 61}):
        (name,) = change
        with pytest.raises(ConfigurationMismatch, match=rf"{name} is (7|60.0), not .*study\.change\("):
            opened(sqlite_url, **change)
    with pytest.raises(ConfigurationMismatch) as refused:
        opened(sqlite_url, horizon=3)
    assert "change(" not in str(refused.value)


# ---------------------------------------------------------------------- looking


def test_status_says_which_round_waits_for_what(opened, sqlite_url):
    study = opened(sqlite_url, patience=100, **sums())
    assert study.status().waiting is None
    ask_and_tell(study, 7, told=3)
    assert "waiting  round 0 waits for 4 of 12 losses; 5 of its actions are still to be asked" in str(study.status())
    ask_and_tell(study, 10)
    status = study.status()
    words = "round 0 waits for 4 of 12 losses; it closes without them once 100 more events are asked"
    assert f"waiting  {words}. `outstanding` lists them; tell them, or `forget`" in str(status)
    waiting = status.to_dict()["waiting"]
    assert (waiting["round"], waiting["outstanding"], waiting["wanted"], waiting["positions_left"]) == (0, 4, 12, 100)
    study.ask(60)
    assert study.status().waiting.positions_left == 40
    study.change(patience=None)
    assert "4 of 12 losses, for ever: tell or forget them, or set a patience" in str(study.status())
    study.change(deadline=3600)
    assert 3500 < study.status().waiting.seconds_left <= 3600
    assert "it closes without them in 3," in str(study.status())
    study.change(patience=60)
    assert "without them with the next ask or in 3," in str(study.status())


def test_what_was_given_up_is_not_given_back(sqlite_url, opened, monkeypatch):
    """A process that gave up on others' actions may be killed before it closes the round; they are not asked again."""
    lease_ahead(monkeypatch)
    mine, yours = opened(sqlite_url, **ball(patience=8, batch_size=64)), opened(sqlite_url)
    for _ in range(8):
        action = yours.ask()
        yours.tell(action.id, 0.5)
    in_hand = Look(sqlite_url).counters.clock - 8
    assert in_hand > 3
    mine.ask_round()
    with monkeypatch.context() as patch:
        patch.setattr(SqlStore, "release", lambda *_: None)
        mine.ask(8)
        mine.ask(1)  # out of patience: given up, and the round is not closed
    yours.close()
    assert all(row.reserved == row.reached for row in Look(sqlite_url).rounds)
    study = opened(sqlite_url)
    assert study.status().round == 1
    found = study.verify()
    assert found.ok, str(found)
