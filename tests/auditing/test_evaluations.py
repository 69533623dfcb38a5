"""Evaluations are audited like everything else: intact ones pass, and each deliberate break is caught.

Alignments involve no chance. Audits by runs have simulated noise from a fixed seed here; with other seeds the intact
program would fail with probability 0.001 at most.
"""

import numpy as np
import pytest

import sottovoce as sv
from planted import misaligned
from sampling import sampled
from sottovoce.auditing import EvaluationConfiguration, audit, evaluations_shipped
from sottovoce.auditing.subjects.evaluated import Evaluated
from sottovoce.evaluations import PrivateEvaluations

ONE = EvaluationConfiguration(sv.PureDP(1.0))
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


SQUARES = EvaluationConfiguration(sv.PureDP(1.0), variance=True)


def test_squares_that_move_further_than_their_noise_was_made_for_are_seen(monkeypatch):
    """Losses at the ends, and missing ones. What only others show is in tests/evaluations/test_privacy.py."""
    assert not misaligned(SQUARES)
    around_an_end = lambda integers, steps: integers * integers // steps  # noqa: E731 - in place of the middle
    monkeypatch.setattr("sottovoce.evaluations.private_evaluations.squares_of", around_an_end)
    assert misaligned(SQUARES)


def test_losses_far_below_the_range_that_count_as_missing_are_seen(monkeypatch):
    """What is missing is then decided by what was lost, and with it when an evaluation closes."""
    intact = PrivateEvaluations._take_in

    def picky(self, number, ids, losses, *rest):
        kept = np.ravel(losses) > -1e6
        return intact(self, number, np.ravel(ids)[kept], np.ravel(losses)[kept], *rest)

    monkeypatch.setattr(PrivateEvaluations, "_take_in", picky)
    assert misaligned(ONE)


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
