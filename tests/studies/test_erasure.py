"""Losses are stored until their round is released, and then they are gone: from the tables, the log, and free pages."""

import random
import re
from pathlib import Path

import numpy as np
import pytest
from players import KINDS
from study_tools import integer_of, losses_of, path_of, place, raw, sums

import sottovoce as sv
from sottovoce.learning import policy
from sottovoce.learning.policy import BanditPolicy
from sottovoce.rounds.round import UNUSED
from sottovoce.studies import delete_study, move_study

PAGES = ("", "-wal", "-shm")
HEADER = re.compile(rb"svr1.{20}", re.DOTALL)
"""What stands before each public record: a checksum and a length, which now and then spell a loss by chance."""


def planted(ids):
    """Return the stored encodings of losses, which are at home nowhere else: big-endian integers of 32 bits."""
    return {one: integer_of(place(one)[1]).to_bytes(4, "big") for one in ids}


def found(url, patterns):
    """Return which of the patterns stand anywhere in the database's files."""
    held = b"\0".join(path.read_bytes() for path in (Path(path_of(url) + end) for end in PAGES) if path.exists())
    held = HEADER.sub(b"", held)
    return {one for one, pattern in patterns.items() if pattern in held}


def round_of(one):
    """Return the number of a small round: each begins a chunk of its own."""
    return place(one)[1] >> 6


def distinct(ids):
    return [one for one in ids if integer_of(place(one)[1]) > 65_536]


@pytest.mark.parametrize("one_by_one", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_losses_are_in_the_files_before_the_release_and_nowhere_after(kind, one_by_one, sqlite_url):
    with KINDS[kind].first(sqlite_url, seed=1) as handle:
        ids, other = handle.rest(0), handle.rest(1)  # of another round
        patterns, waiting = planted(distinct(ids)), planted(distinct(other))
        assert len(patterns) > 2
        for mine in ([one] for one in ids[:-1]) if one_by_one else [ids[:-1]]:
            handle.tell(mine)
        handle.tell(other[:-1])
        assert found(sqlite_url, patterns) == set(patterns) - {ids[-1]}
        handle.tell(ids[-1:])
        assert found(sqlite_url, patterns) == set()
        assert found(sqlite_url, waiting) == set(waiting) - {other[-1]}
    assert found(sqlite_url, patterns) == set()


@pytest.mark.parametrize("seed", range(2))
def test_no_trace_is_left_among_the_losses_of_other_rounds(seed, opened, sqlite_url):
    """Rows of many rounds share pages, and pages are split, merged and moved as rows come and go."""
    left = [_traces(opened, f"{sqlite_url}{turn}", seed) for turn in range(2)]
    assert not all(left), left  # one in a hundred times, something public spells a loss by chance


def _traces(opened, url, seed):
    """Tell losses in an order of a seed; return those that stand in the files after their release."""
    study, rng, left = opened(url, **sums()), random.Random(seed), set()
    waiting = study.ask(600).ids.tolist()
    rng.shuffle(waiting)
    seen = set()
    while waiting:
        size = rng.choice((1, 1, 2, 5, 40))
        mine, waiting = waiting[:size], waiting[size:]
        study.tell(mine, losses_of(mine))
        seen.update(mine)
        closed = study.round
        gone = [one for one in distinct(seen) if round_of(one) < closed]
        still = {integer_of(place(one)[1]) for one in seen if round_of(one) >= closed}
        gone = [one for one in gone if integer_of(place(one)[1]) not in still]
        if len(waiting) % 7 == 0 or not waiting:
            left |= found(url, planted(gone))
    assert study.round == 50
    return left


@pytest.mark.parametrize("call", ["status", "ask", "tell", "forget"])
def test_erasure_waits_for_a_reader_and_is_done_later(call, opened, sqlite_url):
    study = opened(sqlite_url, **sums())
    block = study.ask_round()
    patterns = planted(distinct(block.ids))
    study.tell(block.ids[:-1], losses_of(block.ids[:-1]))
    reader = raw(sqlite_url)
    reader.execute("BEGIN")
    assert reader.execute("SELECT count(*) FROM sottovoce_chunks WHERE closed > 0").fetchone() == (1,)
    study.tell(block.ids[-1], 0.5)
    status = study.status()
    assert (status.round, status.erasure_pending) == (1, 1)
    assert "erasure  pending for 1 rounds" in str(status)
    assert found(sqlite_url, patterns)  # the reader's view of the past needs them
    ids = study.ask(3).ids
    study.tell(ids[0], 0.5)  # work goes on meanwhile
    assert found(sqlite_url, patterns)
    reader.execute("COMMIT")
    reader.close()
    calls = {"tell": lambda: study.tell(ids[1], 0.5), "forget": lambda: study.forget(ids[2])}
    calls.get(call, getattr(study, call))()
    assert found(sqlite_url, patterns) == set()
    assert study.status().erasure_pending == 0


def test_erasure_that_a_process_left_undone_is_done_by_the_next(opened, sqlite_url, monkeypatch):
    study = opened(sqlite_url, **sums())
    block = study.ask_round()
    patterns = planted(distinct(block.ids))
    with monkeypatch.context() as patch:
        patch.setattr("sottovoce.rounds.stores.sql.sqlite.SqliteFile.erase", lambda self: False)
        study.tell(block.ids[:6], losses_of(block.ids[:6]))
        study.tell(block.ids[6:], losses_of(block.ids[6:]))
        assert study.status().erasure_pending == 1
        assert found(sqlite_url, patterns)
    opened(sqlite_url)  # while the first one is still there
    assert found(sqlite_url, patterns) == set()


def test_forgotten_rounds_and_dropped_lives_leave_nothing(opened, sqlite_url):
    study = opened(sqlite_url, **sums())
    block = study.ask(24)
    patterns = planted(distinct(block.ids))
    study.tell(block.ids[:10], losses_of(block.ids[:10]))
    study.tell(block.ids[12:20], losses_of(block.ids[12:20]))
    first = {one: pattern for one, pattern in patterns.items() if round_of(one) == 0}
    study.forget(block.ids[10:12])
    assert study.round == 1
    assert found(sqlite_url, first) == set()
    assert found(sqlite_url, patterns)
    study.close()
    restored = opened(sqlite_url, restored=True)
    assert found(sqlite_url, patterns) == set()
    status = restored.status()
    assert status.incarnation > 1
    assert status.erasure_pending == 0


def test_an_unreleased_last_round_is_erased_as_well(opened, sqlite_url):
    study = opened(sqlite_url, **sums(horizon=12))
    block = study.ask(12)
    study.tell(block.ids, losses_of(block.ids))
    assert found(sqlite_url, planted(distinct(block.ids))) == set()
    assert np.array_equal(study.point, study.domain.center)


@pytest.mark.parametrize("where", ["memory", "storage"])
def test_the_losses_in_memory_are_overwritten_with_the_release(where, opened, sqlite_url, monkeypatch):
    study = opened(sqlite_url, **sums()) if where == "storage" else sv.PrivateBandit(**sums())
    block = study.ask(12)
    study.tell(block.ids[:11], np.arange(1, 12) / 16)
    held, compute, draw = [], BanditPolicy.compute, policy.draw_noise

    def computed(policy, one, slots):
        assert (slots > 0).any()
        held.append(slots)
        return compute(policy, one, slots)

    def drawn(epoch, products, before):
        assert products.any()
        held.append(products)
        return draw(epoch, products, before)

    monkeypatch.setattr(BanditPolicy, "compute", computed)
    monkeypatch.setattr(policy, "draw_noise", drawn)
    study.tell(block.ids[11], 0.5)
    slots, products = held
    assert (slots == UNUSED).all()
    assert not products.any()


@pytest.mark.parametrize("way", ["moved", "deleted"])
def test_nothing_is_left_where_a_study_was_moved_from_or_deleted(way, opened, sqlite_url, tmp_path):
    other = f"sqlite:///{tmp_path / 'other.db'}"
    study = opened(sqlite_url, name="study", **sums())
    block = study.ask_round()
    patterns = planted(distinct(block.ids[:-1]))
    study.tell(block.ids[:-1], losses_of(block.ids[:-1]))
    study.close()
    assert found(sqlite_url, patterns) == set(patterns)
    if way == "moved":
        move_study(sqlite_url, "study", other)
        assert found(other, patterns) == set(patterns)
    else:
        delete_study(sqlite_url, "study")
    assert found(sqlite_url, patterns) == set()
