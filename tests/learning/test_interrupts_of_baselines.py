"""Baselines keep their losses in the same ledger: their calls, too, may be cut short at any line."""

import contextlib
import copy
import linecache
import os

import numpy as np
import pytest
from interrupting import Cut

import sottovoce as sv
from sampling import sampled
from sottovoce.errors import AlreadyTold, InvalidLoss, RoundClosed
from sottovoce.lab.baselines.base import Baseline
from tracing import Tracer, lines_of

LEDGER = ("base.py", "book.py", "memory.py", "lease.py")
SIZE, MIDDLE = 4, 1.0


class Recorder(Baseline):
    """Rounds of four events, which it numbers, and notes what it learns from."""

    name = "recorder"

    def __init__(self):
        super().__init__(sv.domains.Ball(2), horizon=40, loss_range=(0.0, 2.0), seed=1)
        self.begun, self.learned = 0, []

    def _begin_round(self, most):
        self.begun += 1
        first = self.horizon - most
        return np.full((min(SIZE, most), 2), first / 100), first

    def _learn(self, memo, losses):
        self.learned.append((memo, tuple(losses.tolist())))

    @property
    def point(self):
        return self.domain.center


def loss(one):
    return one / 100


def tell(made, ids):
    made.tell(ids, loss(ids) if isinstance(ids, int) else [loss(one) for one in ids])


def asked(made, size, told=()):
    made.ask(size)
    if told:
        tell(made, list(told))
    return made


CALLS = {
    "ask": (lambda made: asked(made, 4), lambda made: made.ask(), []),
    "ask a block": (lambda made: asked(made, 2), lambda made: made.ask(11), []),
    "ask the rest of a round": (lambda made: asked(made, 1), lambda made: made.ask_round(), []),
    "tell one": (lambda made: asked(made, 9), lambda made: tell(made, 2), [2]),
    "tell an old one": (lambda made: asked(made, 9), lambda made: tell(made, 1), [1]),
    "tell the last": (lambda made: asked(made, 9, [0, 1, 3, *range(4, 9)]), lambda made: tell(made, 2), [2]),
    "tell a block": (
        lambda made: asked(made, 13, [5]),
        lambda made: tell(made, [12, 0, 1, 2, 3, 4, 6, 7]),
        [12, 0, 1, 2, 3, 4, 6, 7],
    ),
    "forget": (lambda made: asked(made, 9, [1, 2]), lambda made: made.forget([0, 3, 4]), [0, 3, 4]),
}


def waiting(made):
    return set(made.outstanding().ids.tolist())


def finish(made):
    """Go on in the plainest way, until nothing is left to ask or to tell."""
    while made.remaining:
        before = made.asked
        assert made.ask_round().ids[0] == before
    tell(made, sorted(waiting(made)))


def learned_right(made, forgotten, *, missing):
    """Each round once, in order, with its own losses; `missing` of them may be left out."""
    firsts = [first for first, _ in made.learned]
    assert firsts == sorted(set(firsts)), "a round was learned from twice, or out of order"
    assert len(firsts) >= made.horizon // SIZE - missing, "a round was never learned from"
    for first, losses in made.learned:
        right = [MIDDLE if one in forgotten else loss(one) for one in range(first, first + SIZE)]
        assert losses == tuple(right), "a loss is lost, or in another's place"


def cut_short(template, call, mine, stop, *, again=False):
    made, lessons = copy.deepcopy(template), 0
    before = waiting(made)
    for error in (Cut, KeyboardInterrupt) if again else ((Cut, KeyboardInterrupt)[stop % 2],):
        tracer = Tracer(stop, error)
        with contextlib.suppress(error, AlreadyTold, RoundClosed, InvalidLoss), tracer:
            call(made)
        lessons += "._learn(" in linecache.getline(*tracer.lines[-1])  # the one line where one may be left out
    gone = before - waiting(made)
    assert gone in (set(), set(mine)), "half of a call was recorded"
    finish(made)
    assert made.round == made.horizon // SIZE
    learned_right(made, gone if call is CALLS["forget"][1] else (), missing=lessons)


@pytest.mark.parametrize("again", [False, True], ids=["once", "again while it repairs"])
@pytest.mark.parametrize("what", sampled(CALLS, 3))
def test_a_call_of_a_baseline_may_be_cut_short_at_any_line(what, again):
    prepare, call, mine = CALLS[what]
    template = prepare(Recorder())
    whole = copy.deepcopy(template)
    lines = lines_of(lambda: call(whole))
    cut = [n for n, (file, _) in enumerate(lines, start=1) if os.path.basename(file) in LEDGER]
    assert len(cut) > 10
    for number in cut:
        cut_short(template, call, mine, number, again=again)
