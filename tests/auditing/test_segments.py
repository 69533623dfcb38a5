"""Segments are audited like everything else: a person in several counts as contributions, and breaks are caught.

Alignments involve no chance; `test_audit.py` audits segments by their runs.
"""

from dataclasses import replace

import numpy as np
import pytest

import sottovoce as sv
from planted import misaligned, silence
from sampling import sampled
from sottovoce.auditing import Configuration, shipped
from sottovoce.auditing.playing.survey import neighbours, survey
from sottovoce.learning import pooled_policy
from sottovoce.models import HierarchicalPrior

NAMES = ("posterior, segments", "posterior, 12 segments")
SHIPPED = [one for one in shipped() if one.label.startswith(NAMES) and "local" not in one.label]
ONE, TWO = (next(one for one in SHIPPED if one.privacy.contributions == count) for count in (1, 2))


SOME = {"posterior, segments, patience of 1, probe-sums"}


@pytest.mark.parametrize("subject", sampled(SHIPPED, SOME, [one.label for one in SHIPPED]))
def test_intact_segments_align(subject):
    assert not misaligned(subject, 6)


@pytest.mark.long
def test_a_person_in_two_segments_counts_as_two_contributions():
    """Segments take turns, so that odd rounds are of one and even rounds of the other."""
    found = survey(TWO, 0, local=False)
    assert any(len({number % 2 for number in one.rounds}) == 2 for one in neighbours(found, 2, 40))
    wider = replace(ONE, horizon=TWO.horizon, choices=TWO.choices)
    assert "costs 2 of epsilon = 1" in misaligned(wider, claimed=sv.PureDP(1.0, contributions=2))
    statement = " ".join(str(wider(0, sv.SimulatedNoise(0)).privacy).split())
    assert "several segments" in statement
    assert "public" in statement


def test_a_segment_that_hears_of_a_loss_before_it_is_released_is_caught(monkeypatch):
    right, told = HierarchicalPrior.prior, sv.PrivateBandit.tell
    heard = []

    def tell(self, one, loss):
        told(self, one, loss)
        heard.append(loss)

    def prior(self, *place, **options):
        found = right(self, *place, **options)
        whispered = 1000.0 * np.arange(len(found.pull)) if heard and heard[-1] > 1.0 else 0.0
        return replace(found, pull=found.pull + whispered)

    monkeypatch.setattr(sv.PrivateBandit, "tell", tell)
    monkeypatch.setattr(HierarchicalPrior, "prior", prior)
    assert "actions show more than what was released" in misaligned(ONE, schedules=["single"])


def test_a_segment_without_noise_of_its_own_is_caught(monkeypatch):
    silence(monkeypatch, 1)
    assert "no noise of its own" in misaligned(ONE)


@pytest.mark.long
def test_segments_of_convex_losses_align():
    choices = {"exploration": "posterior", "probes": 2, "least_events": 2}
    convex = Configuration(
        sv.domains.Ball(2), sv.PureDP(1.0), 12, choices, loss_range=(0.0, 2.0), segments=["a", "b"], label="convex"
    )
    assert not misaligned(convex, 6)


@pytest.fixture
def crowd(monkeypatch):
    """Fourteen segments that share rounds; two events are enough to have rounds of one's own."""
    monkeypatch.setattr(pooled_policy, "_EVENTS", 2)
    monkeypatch.setattr(pooled_policy, "_WORTH_SCOUTING", 1e-3)
    choices = {"exploration": "posterior", "probes": 2, "least_events": 2}
    names = [f"segment {number}" for number in range(14)]
    settings = {"loss_range": (0.0, 2.0), "losses": "linear", "segments": names, "label": "crowd"}
    return Configuration(sv.domains.Hypersimplex(3, 1), sv.PureDP(1.0), 42, choices, **settings)


@pytest.mark.long
def test_segments_that_share_rounds_align(crowd):
    made = crowd.optimizer(0, sv.SimulatedNoise(0))
    assert isinstance(made._policy, pooled_policy.PooledPolicy)
    for _ in range(3):
        actions = made.ask(segment=["segment 0", "segment 1"] * 6)
        made.tell(actions.ids, [1.0] * 12)
    assert made._policy.own, "what is aligned below has rounds of both kinds"
    assert not misaligned(crowd, 3)


def test_a_pool_without_noise_is_caught(crowd, monkeypatch):
    silence(monkeypatch, pooled_policy.POOL)
    assert "no noise of its own" in misaligned(crowd, 6)
