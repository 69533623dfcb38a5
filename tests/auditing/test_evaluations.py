"""Evaluations are audited like everything else: intact ones pass, and each deliberate break is caught.

Alignments involve no chance. Audits by runs have simulated noise from a fixed seed here; with other seeds the intact
program would fail with probability 0.001 at most.
"""

import numpy as np
import pytest

import sottovoce as sv
from planted import misaligned
from sampling import sampled
from sottovoce.auditing import EvaluationConfiguration, audit, evaluations_shipped, run_all
from sottovoce.auditing.subjects.evaluated import Evaluated
from sottovoce.evaluations import PrivateEvaluations, private_evaluations
from sottovoce.stats.released_mean import ReleasedMean

ONE = EvaluationConfiguration(sv.PureDP(1.0))
SEVERAL = EvaluationConfiguration(sv.PureDP(1.0, contributions=2), events=8)
SHIPPED = evaluations_shipped()
ALIGNED = [one for one in SHIPPED if one.alignable]


@pytest.mark.parametrize("subject", sampled(ALIGNED, 2, [one.label for one in ALIGNED]))
def test_intact_evaluations_align(subject):
    assert not misaligned(subject, 3 if subject.stored else 24)


REAL = [one for one in SHIPPED if "zCDP" not in one.label and " events" not in one.label and not one.stored]


@pytest.mark.parametrize("subject", sampled(REAL, 1, [one.label for one in REAL]))
def test_intact_evaluations_keep_their_claim_with_real_noise(subject):
    """A false alarm in one of a million audits."""
    found = audit(subject, runs=400, confidence=1 - 1e-6)
    assert found.passed
    assert (found.simulated, found.kind) == (False, "evaluations")


@pytest.mark.parametrize("only", ["", "probe-sums", "local"])
def test_the_whole_audit_covers_them(only):
    """What `sottovoce audit` goes through: every one by its runs, but for what is large, and the alignments."""
    parts = {name for name, _ in run_all._parts(1.0, 0.0, only, 400, 1)}
    assert {one.label for one in evaluations_shipped() if one.by_runs and only in one.label} <= parts
    assert ("alignments" in parts) == (only != "local")


def test_all_that_can_be_aligned_is():
    assert {one.label for one in SHIPPED if run_all._alignable(one)} == {one.label for one in ALIGNED}
    assert len(ALIGNED) == 13


SQUARES = EvaluationConfiguration(sv.PureDP(1.0), variance=True)


@pytest.mark.parametrize(
    "broken",
    [
        lambda integers, steps: integers * integers // steps,  # around an end in place of the middle
        lambda integers, steps: 4 * (integers - steps // 2) ** 2 // steps,  # as wide as the range
    ],
)
def test_squares_that_move_further_than_their_noise_was_made_for_are_seen(monkeypatch, broken):
    """Losses at the ends, and missing ones. What only others show is in tests/evaluations/test_second_moment.py."""
    assert not misaligned(SQUARES)
    monkeypatch.setattr("sottovoce.evaluations.private_evaluations.squares_of", broken)
    assert misaligned(SQUARES)


def test_losses_far_below_the_range_that_count_as_missing_are_seen(monkeypatch):
    """What is missing is then decided by what was lost, and with it when an evaluation closes."""
    intact = PrivateEvaluations._take_in

    def picky(self, number, ids, losses, late, *rest):
        kept = np.ravel(losses > -1e6)
        return intact(self, number, np.ravel(ids)[kept], np.ravel(losses)[kept], late, None)

    monkeypatch.setattr(PrivateEvaluations, "_take_in", picky)
    assert misaligned(ONE)


def test_several_events_of_a_person_that_were_not_planned_for_are_seen():
    assert misaligned(EvaluationConfiguration(sv.PureDP(1.0), events=8), claimed=sv.PureDP(1.0, contributions=2))
    assert not misaligned(SEVERAL)


class Reading(Evaluated):
    """An adversary who reads each mean 40 times."""

    def close(self):
        results = self._evaluations.results
        self.released = [np.array([one.total for _ in range(40)], dtype=np.float64) for one in results]


class Read(EvaluationConfiguration):
    def __call__(self, seed, noise):
        return Reading(self, seed, noise)


def test_a_mean_that_is_read_with_fresh_noise_each_time_is_seen(monkeypatch):
    """Reading the same number again shows nothing; with noise that is drawn anew, 40 readings cost 40 times."""
    often = Read(sv.PureDP(1.0), events=2, batches=1)
    assert audit(often, runs=400, noise_seed=3).passed
    kept = {}
    intact = private_evaluations._EvaluationPolicy.compute

    def remember(self, one, slots):
        kept[one.stream] = int(slots.sum()), self._sampler
        return intact(self, one, slots)

    def fresh(self):
        total, sampler = kept[self.number]
        return total + int(sampler.draw(1)[0])

    monkeypatch.setattr(private_evaluations._EvaluationPolicy, "compute", remember)
    monkeypatch.setattr(ReleasedMean, "total", property(fresh, lambda self, value: None), raising=False)
    assert not audit(often, runs=400, noise_seed=3).passed


def test_parameters_that_know_more_than_was_released_are_seen(monkeypatch):
    """What the next people meet is then a function of losses themselves."""
    seen = []
    intact = Evaluated._tell

    def listening(self, one, ids, losses):
        seen.append(float(np.mean(np.clip(losses, 0, 1))))
        intact(self, one, ids, losses)

    def knowing(self):
        opened = self._evaluations.open(self._configuration.events)
        self._opened[opened.number] = opened
        self._parameters[opened.number] = seen[-1] if self._evaluations.results else 0.0

    monkeypatch.setattr(Evaluated, "_tell", listening)
    monkeypatch.setattr(Evaluated, "_open", knowing)
    assert misaligned(ONE)
