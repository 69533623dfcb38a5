"""`verify` invents nothing, whatever evaluations went through, and finds what was changed behind the library's back."""

import numpy as np
import pytest
from study_tools import Look, execute

import sottovoce as sv
from sottovoce._records import pack, unpack


@pytest.fixture
def lived(url, opened, plain, eager):
    """Evaluations that were released, given up, ended, abandoned, and are open; two processes at work."""
    evaluations, others = opened(url, **plain, patience=16), opened(url)
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


def test_it_invents_nothing(lived, url, opened):
    found = lived.verify()
    assert found.ok, str(found)
    assert (found.released, found.abandoned, found.open) == (len(lived.results), 1, len(lived.open_evaluations))
    lived.close()
    assert opened(url).verify().ok
    again = opened(url, restored=True).verify()
    assert again.ok, str(again)
    assert again.open == 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("UPDATE sottovoce_heads SET told = told + 1", "checksum"),
        ("UPDATE sottovoce_cells SET told = told + 1, wanted = wanted + 1", "counted wrongly"),
        ("UPDATE sottovoce_cells SET round = 0 WHERE first = 0", "not open"),
        ("DELETE FROM sottovoce_cells WHERE first = 0", "are gone"),
        ("DELETE FROM sottovoce_rounds WHERE number = 0", "are gone"),
        ("UPDATE sottovoce_rounds SET released = public WHERE number = 0", "cannot be read"),
        ("UPDATE sottovoce_rounds SET state = 'open' WHERE number = 0", "and is not"),
    ],
)
def test_it_finds_what_was_changed(change, words, lived, url):
    execute(url, change)
    found = lived.verify()
    assert not found.ok
    assert any(words in one for one in found.faults), str(found)


def test_it_finds_a_release_that_was_changed_with_its_checksum(lived, url):
    row = next(row for row in Look(url, "trials").rounds if row.state == "released")
    changed = unpack(bytes(row.released))
    changed["total"] += 1
    execute(url, "UPDATE sottovoce_rounds SET released = :data WHERE number = :number", data=pack(changed),
            number=row.number)  # fmt: skip
    assert any("chain" in one for one in lived.verify().faults)


def test_it_shows_no_loss(sqlite_url, opened, plain):
    evaluations = opened(sqlite_url, **plain)
    evaluation = evaluations.open(events=9)
    evaluation.tell(np.full(5, 0.123456))
    execute(sqlite_url, "UPDATE sottovoce_cells SET told = 4, missing = 1")
    found = evaluations.verify()
    assert not found.ok
    assert "1234" not in str(found) + repr(found)
    assert str(32363) not in str(found) + repr(found)  # its integer
    assert isinstance(found, sv.evaluations.stored.EvaluationsVerification)
