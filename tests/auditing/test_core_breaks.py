"""Breaks of the core that all share, each planted once: caught whoever keeps rounds in it, in memory or in SQL."""

from dataclasses import replace

import numpy as np
import pytest

import sottovoce as sv
from planted import misaligned
from sampling import sampled
from sottovoce.auditing import EvaluationConfiguration, evaluations_shipped, shipped
from sottovoce.evaluations.private_evaluations import _EvaluationPolicy
from sottovoce.learning.policy import BanditPolicy
from sottovoce.privacy import LossGrid, ProbeSums
from sottovoce.privacy.mechanisms.mechanism import MechanismState
from sottovoce.rounds.book import Book
from sottovoce.rounds.round import UNUSED
from sottovoce.rounds.stores.memory import MemoryStore
from sottovoce.rounds.stores.sql.store import SqlStore
from sottovoce.service import audited

SHIPPED = {one.label: one for one in [*shipped(), *evaluations_shipped()]}
SEGMENTS = SHIPPED["posterior, segments, probe-sums"]
EPOCHS = SHIPPED["posterior, epochs, probe-sums"]
DECIDING = {
    "optimizer": SHIPPED["posterior, probe-sums"],
    "segments": SEGMENTS,
    "unknown horizon": EPOCHS,
    "study": replace(SHIPPED["posterior, probe-sums"], horizon=8, label="study", stored=True),
    "study with segments": replace(SEGMENTS, horizon=12, label="study with segments", stored=True),
    "study of unknown horizon": replace(EPOCHS, label="study of unknown horizon", stored=True),
    "service": audited.service_shipped()[0],
}
EVALUATING = {
    "evaluations": EvaluationConfiguration(sv.PureDP(1.0), batches=2),
    "stored evaluations": SHIPPED["stored evaluations, probe-sums"],
}
ALL = DECIDING | EVALUATING
HERE = {name: one for name, one in ALL.items() if name != "service"}  # which takes a second loss for a repeated call


def found(subject, schedule="single"):
    """Return what is found wrong, in words; empty if nothing is."""
    return misaligned(subject, 2, schedules=[schedule])


def on(subjects):
    """Run a test on all of them, and quickly on one in memory and one in SQL."""
    some = {name for name in ("optimizer", "study", "stored evaluations") if name in subjects}
    return pytest.mark.parametrize("subject", sampled(subjects.values(), some, subjects))


def changed(monkeypatch, change, *owners):
    """Let policies compute something else: what `change` makes of what was right, a round and its slots."""
    for owner in owners or (BanditPolicy, _EvaluationPolicy):
        right = owner.compute
        monkeypatch.setattr(
            owner, "compute", lambda self, *which, right=right: change(lambda *given: right(self, *given), *which)
        )


@on(ALL)
def test_nothing_is_wrong(subject):
    assert not found(subject, "block")


@on(HERE)
def test_losses_that_count_twice(monkeypatch, subject):
    changed(monkeypatch, lambda right, one, slots: right(one, np.where(slots > UNUSED, 2 * slots, slots)))
    said = found(subject, "block")
    assert "a person costs 2 of epsilon = 1" in said or "a person costs 4 of epsilon = 1" in said  # with squares


@on(ALL)
def test_sums_without_noise(monkeypatch, subject):
    def release(self, sums):
        self._state = MechanismState(self.round + 1, sums.copy(), None)
        return sums.copy()

    monkeypatch.setattr(ProbeSums, "release", release)
    assert "no noise of its own" in found(subject, "block")


@on(HERE)
def test_a_round_that_closes_later_for_a_high_loss(monkeypatch, subject):
    """A store that puts off the release of a round in which somebody lost as much as one can, to the next event."""
    for owner in (MemoryStore, SqlStore):
        monkeypatch.setattr(owner, "release", putting_off(owner.release))
    assert found(subject)  # in counts, in what others meet meanwhile, or in the order of what is released


class PutOff(Exception):
    pass


def putting_off(right):
    def release(self, streams, compute):
        complete = vars(self).setdefault("_found_complete", {})  # when rounds were first found to be

        def later(one, slots):
            if slots.max() >= 2**18 and complete.setdefault((one.stream, one.number), self.clock) == self.clock:
                raise PutOff
            return compute(one, slots)

        try:
            return right(self, streams, later)
        except PutOff:
            return set()

    return release


@on(HERE)
def test_a_refusal_that_shows_a_loss(monkeypatch, subject):
    heard = overheard(monkeypatch)
    right = Book._refusal
    monkeypatch.setattr(Book, "_refusal", lambda self, *which: type(right(self, *which))(f"it is {heard[-1]}"))
    assert "the refusal of a second loss shows" in found(subject)


def overheard(monkeypatch):
    """Remember the integers of losses."""
    right, heard = LossGrid.quantiser, []

    def quantiser(self):
        quantise = right(self)

        def remember(loss):
            heard.append(quantise(loss))
            return heard[-1]

        return remember

    monkeypatch.setattr(LossGrid, "quantiser", quantiser)
    return heard


@on({name: one for name, one in DECIDING.items() if name in HERE})
def test_a_belief_in_raw_losses(monkeypatch, subject):
    """What is learned from a release, and stored for others, is moved by what it was before its noise."""
    raw, right = {}, BanditPolicy.learn

    def remember(compute, one, slots):
        raw[one.stream, one.number] = slots.sum()
        return compute(one, slots)

    def learn(self, release):
        if release.numbers is not None:
            moved = release.numbers.copy()
            moved[0] += raw[release.round.stream, release.round.number]
            release = release._replace(numbers=moved)
        right(self, release)

    changed(monkeypatch, remember, BanditPolicy)
    monkeypatch.setattr(BanditPolicy, "learn", learn)
    assert "more than what was released" in found(subject, "block")


@on({name: one for name, one in DECIDING.items() if "study" in name})
def test_a_count_that_depends_on_a_loss(monkeypatch, subject):
    heard, right = overheard(monkeypatch), SqlStore.open_rounds

    def open_rounds(self):
        return [one._replace(waiting=one.waiting + (heard[-1:] >= [2**18])) for one in right(self)]

    monkeypatch.setattr(SqlStore, "open_rounds", open_rounds)
    assert "shows more than what was released" in found(subject, "shuffled")
