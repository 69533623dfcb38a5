"""Every call, cut short at every line: no loss is lost or counted twice, no number has two noises, nothing is stuck."""

import copy
import pickle
import struct

import numpy as np
import pytest

import sottovoce as sv
from sampling import sampled
from tracing import cut_short


class Cut(BaseException):
    """What is raised in the middle of a call; no Exception, or conversions of losses would swallow it."""


class Numbered:
    """Noise by which it can be told how often it was drawn; it counts as simulated, and so may be copied."""

    simulated = True

    def __init__(self):
        self.drawn = 0

    def sampler(self, noise):
        return self

    def draw(self, size):
        self.drawn += size
        return np.full(size, self.drawn * 10**9, dtype=np.int64)


def loss(person):
    return (104729 * int(person) + 70001) % 2**18 / 2**18  # on the grid, and like nothing else that is held


def world(*, variance=False):
    """Three evaluations: one that is full and overdue, one that lacks one loss, one that is half assigned."""
    evaluations = sv.PrivateEvaluations(
        (0.0, 1.0), sv.PureDP(1.0), noise=Numbered(), seed=1, patience=5, variance=variance
    )
    overdue, almost, young = (evaluations.open(events) for events in (2, 3, 6))
    ids = overdue.assign(size=2)
    overdue.tell(loss(ids[0]), ids=ids[0])
    ids = almost.assign(size=3)
    almost.tell([loss(person) for person in ids[1:]], ids=ids[1:])
    ids = young.assign(size=2)
    young.tell(loss(ids[0]), ids=ids[0])
    return evaluations, (overdue, almost, young)


def next_losses(one, size):
    """The losses of the next people, whose ids follow those that are taken: each evaluation has its own in a row."""
    first = {0: 0, 1: 2, 2: 5, 3: 11}[one.number]
    return [loss(first + one.assigned + place) for place in range(size)]


CALLS = {
    "assign": lambda all_, some: all_.assign(),  # which also closes what is overdue
    "assign several": lambda all_, some: all_.assign(size=3),
    "assign here": lambda all_, some: some[2].assign(size=2),
    "tell by id": lambda all_, some: some[2].tell(loss(some[2].outstanding[0]), ids=some[2].outstanding[0]),
    "tell the last": lambda all_, some: some[1].tell(loss(some[1].outstanding[0]), ids=some[1].outstanding[0]),
    "tell of all": lambda all_, some: all_.tell(
        [one.outstanding[0] for one in some], [loss(one.outstanding[0]) for one in some]
    ),
    "tell the next": lambda all_, some: some[2].tell(next_losses(some[2], 1)[0]),
    "tell a block": lambda all_, some: some[2].tell(next_losses(some[2], 4)),
    "forget": lambda all_, some: some[1].forget(some[1].outstanding),
    "close": lambda all_, some: some[2].close(),
    "open": lambda all_, some: all_.open(events=2),
    "read": lambda all_, some: some[1].closed,
}


def go_on(evaluations):
    """Fill all that is open, each place with the loss of its id; return nothing open."""
    while opened := evaluations.open_evaluations:
        one = opened[0]
        waiting = one.outstanding
        if len(waiting):
            one.tell([loss(person) for person in waiting], ids=waiting)
        elif one.remaining:
            one.tell(next_losses(one, one.remaining))


def cuts(original, call):
    """Cut a call short at each of its lines; yield the evaluations that it was done to, and whether it came so far."""
    stop, came_so_far = 0, True
    while came_so_far:
        stop += 1
        evaluations, some = copy.deepcopy(original)
        came_so_far = isinstance(cut_short(lambda: call(evaluations, some), stop, error=Cut), Cut)  # noqa: B023
        yield evaluations, some, came_so_far
    assert stop > 5


@pytest.mark.parametrize("which", sampled(range(3), 1))
def test_what_is_abandoned_is_never_released_wherever_that_is_cut_short(which):
    for evaluations, some, cut in cuts(world(), lambda all_, some: some[which].abandon()):
        done = some[which].abandoned or not cut
        go_on(evaluations)
        if done:
            assert not some[which].closed
        check(evaluations, [one for one in some if not done or one is not some[which]])
        assert len(evaluations.results) == 3 - done


@pytest.mark.parametrize(
    ("name", "variance"), sampled([*((one, False) for one in CALLS), ("tell the last", True), ("close", True)], 2)
)
def test_every_call_can_be_cut_short_at_every_line(name, variance):
    for evaluations, some, _ in cuts(world(variance=variance), CALLS[name]):
        all_or_nothing(some)
        go_on(evaluations)
        check(evaluations, some)


def all_or_nothing(some):
    """A block of losses is in, with the ids of its people, or it is not."""
    young = some[2]
    waiting = len(young.outstanding)  # looking finishes what was begun
    assert young.assigned - waiting in ((1, 2, 5) if not young.closed else (2, 6))


def check(evaluations, some):
    """Every number is the sum of the losses of its ids (the middle where forgotten), with a noise of its own."""
    noises = []
    for one in some:
        first = {0: 0, 1: 2, 2: 5}[one.number]
        taken = [loss(person) for person in range(first, first + one.result.events)]
        for forgotten in missing(evaluations, one):
            taken[forgotten - first] = 0.5
        noise = one.result.total - round(sum(taken) * 2**18)
        assert noise > 0
        assert noise % 10**9 == 0
        noises.append(noise)
        if one.result.squares is not None:  # drawn together with it, once
            squares = sum((round(value * 2**18) - 2**17) ** 2 // 2**18 for value in taken)
            assert one.result.squares - squares == noise
    assert len(set(noises)) == len(some)
    assert len(evaluations.results) >= len(some)
    assert not holds_losses(evaluations)


def missing(evaluations, one):
    """The ids of a closed evaluation that have no loss: a loss for them comes too late, and for the others twice."""
    first, found = {0: 0, 1: 2, 2: 5}[one.number], []
    for person in range(first, first + one.result.events):
        with pytest.raises((sv.errors.RoundClosed, sv.errors.AlreadyTold)) as refused:
            evaluations.tell(person, 0.5)
        if refused.type is sv.errors.RoundClosed:
            found.append(person)
    return found


def holds_losses(evaluations):
    """Whether an integer of a loss is in anything that they hold."""
    held = pickle.dumps(evaluations)
    integers = [round(loss(person) * 2**18) for person in range(11)]
    return any(one and struct.pack("<q", one) in held for one in integers)


class Handler(Numbered):
    """Noise in the middle of whose first draw a signal handler does something."""

    def __init__(self):
        super().__init__()
        self.handle = None

    def draw(self, size):
        drawn = super().draw(size)
        handle, self.handle = self.handle, None
        if handle is not None:
            handle()
        return drawn


def test_a_handler_that_reads_in_the_middle_of_a_release_sees_the_only_number_there_will_ever_be():
    source, seen = Handler(), []
    one = sv.PrivateEvaluations((0.0, 1.0), sv.PureDP(1.0), noise=source).open(events=1)
    source.handle = lambda: seen.append(one.mean)
    one.tell(0.5)
    assert seen == [one.mean]
