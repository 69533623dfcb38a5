"""`verify` invents nothing, whatever evaluations went through, and finds what was changed behind the library's back."""

import numpy as np
import pytest

from sottovoce._records import pack, unpack
from storages import outside


@pytest.fixture
def lived(sqlite_url, opened, plain):
    """Evaluations that were released, given up, ended, abandoned, and are open; two processes at work."""
    evaluations, others = opened(sqlite_url, **plain, patience=16), opened(sqlite_url)
    whole, ended, dropped, late, going = (evaluations.open(events=size) for size in (10, 40, 20, 3, 50))
    waiting = [evaluations.assign() for _ in range(30)]
    for one, person in waiting[:-3]:
        one.tell(0.25, ids=person, late="drop")
    whole.tell([0.5] * whole.remaining)
    others.evaluation(ended.number).tell([1.0, 0.0])
    assert evaluations.verify().ok
    ended.close()
    dropped.abandon()
    others.evaluation(going.number).assign(size=20)
    others.evaluation(going.number).assign()
    others.close()
    assert late.closed
    return evaluations


def test_it_invents_nothing(lived, sqlite_url, opened):
    found = lived.verify()
    assert found.ok, str(found)
    lived.close()
    assert opened(sqlite_url).verify().ok
    again = opened(sqlite_url, restored=True).verify()
    assert again.ok, str(again)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("UPDATE sottovoce_books SET clock = clock + 1", "checksum"),
        (
            "UPDATE sottovoce_chunks SET missing = missing + 1, wanted = wanted + 1, closed = closed + 1",
            "says missing=",
        ),
        ("UPDATE sottovoce_chunks SET stream = 0", "it is closed"),
        ("DELETE FROM sottovoce_chunks", "are gone"),
        ("DELETE FROM sottovoce_streams WHERE stream = 0", "a stream is gone"),
        ("UPDATE sottovoce_releases SET released = chain WHERE stream = 0", "is damaged"),
        ("UPDATE sottovoce_rounds SET open = 1 WHERE stream = 0", "is open, and has a release"),
    ],
)
def test_it_finds_what_was_changed(change, words, lived, sqlite_url):
    outside(sqlite_url, change)
    found = lived.verify()
    assert not found.ok
    assert any(words in one for one in found.faults), str(found)


def test_it_finds_a_release_that_was_changed_with_its_checksum(lived, sqlite_url):
    ((data,),) = outside(sqlite_url, "SELECT released FROM sottovoce_releases WHERE stream = 0")
    changed = unpack(bytes(data))
    changed["numbers"][1] += 1
    outside(sqlite_url, "UPDATE sottovoce_releases SET released = ? WHERE stream = 0", pack(changed))
    assert any("chain" in one for one in lived.verify().faults)


def test_it_shows_no_loss(sqlite_url, opened, plain):
    evaluations = opened(sqlite_url, **plain)
    evaluation = evaluations.open(events=9)
    evaluation.tell(np.full(5, 0.123456))
    outside(sqlite_url, "UPDATE sottovoce_chunks SET closed = 4, missing = 1")
    found = evaluations.verify()
    assert not found.ok
    assert "1234" not in str(found) + repr(found)
    assert str(32363) not in str(found) + repr(found)  # its integer
