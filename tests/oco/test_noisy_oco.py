"""NoisyOCO: the framework in its own right."""

import numpy as np
import pytest
from scipy.special import softmax

import sottovoce as sv
from sampling import every
from sottovoce.oco.noisy_oco import MirrorStep, NoisyOCO, step_for

BALL = sv.domains.Ball(3)


def distance_gradient(target, x):
    away = x - target
    norm = np.linalg.norm(away)
    return away / norm if norm else away


@every("noise", [0.0, 1.0])
def test_regret_is_within_lemma_4_1(noise):
    """Regret <= sqrt(2) D kappa sqrt(T) + T kappa gamma, D^2 = max 1/2||x||^2, for exact and for noisy gradients."""
    rng = np.random.default_rng(0)
    rounds = 2000
    targets = np.array([0.7, 0.0, 0.0]) + 0.2 * rng.standard_normal((rounds, 3))
    kappa = np.sqrt(1 + 3 * noise**2)
    learner = NoisyOCO(
        BALL,
        gradient=lambda target, x: distance_gradient(target, x) + noise * rng.standard_normal(3),
        step=step_for(0.5, kappa, rounds),
        point_map=MirrorStep(BALL, gap=1e-8),
    )
    played = learner.run(targets)
    regret = np.linalg.norm(played - targets, axis=1).sum()
    regret -= min(np.linalg.norm(x - targets, axis=1).sum() for x in (targets.mean(axis=0), np.median(targets, axis=0)))
    assert regret <= np.sqrt(2 * 0.5) * kappa * np.sqrt(rounds) + rounds * kappa * 1e-4


@every("delay", [0, 1, 3])
def test_a_round_plays_the_sum_that_is_delay_rounds_old(delay):
    costs = np.random.default_rng(1).standard_normal((8, 3))
    learner = NoisyOCO(BALL, gradient=lambda f, x: f, step=0.01, delay=delay)
    for played, x in enumerate(learner.run(costs)):
        known = costs[: max(0, played - delay)].sum(axis=0)
        assert np.allclose(x, -0.01 * known, atol=1e-3)


def test_a_round_that_begins_early_plays_the_newest_point_there_is():
    learner = NoisyOCO(BALL, gradient=lambda f, x: f, step=0.1, delay=1)
    assert np.array_equal(learner.point(5), BALL.center)
    learner.observe(np.array([1.0, 0.0, 0.0]), point=BALL.center)
    assert np.allclose(learner.point(5), [-0.1, 0, 0], atol=1e-3)


@every("method", ["auto", "conditional-gradient", "open-loop"])
def test_every_method_computes_the_same_point(method):
    step = MirrorStep(BALL, method=method, gap=1e-4, max_calls=100_000)
    for dual in ([3.0, 4.0, 0.0], [0.1, 0.2, 0.0], [0.0, -2.0, 1.0]):
        exact = np.array(dual) / max(1.0, np.linalg.norm(dual))
        point = step(np.array(dual))
        assert np.linalg.norm(point - exact) <= step.error + 1e-12
        assert step.error <= 1e-2


def test_entropy_is_exponentiated_gradient_on_the_simplex():
    domain = sv.domains.Simplex(4)
    step = MirrorStep(domain, sv.NegativeEntropy(), gap=1e-7, max_calls=100_000)
    dual = np.array([0.3, -0.2, 0.5, 0.0])
    assert np.abs(step(dual) - softmax(dual)).sum() <= step.error + 1e-12
    assert step.error < 1e-3


def test_entropy_starts_at_its_centre_and_learns():
    domain = sv.domains.Simplex(4)
    learner = NoisyOCO(
        domain, gradient=lambda f, x: f, step=0.5, point_map=MirrorStep(domain, sv.NegativeEntropy(), gap=1e-4)
    )
    played = learner.run([np.array([0.0, 1.0, 1.0, 1.0])] * 12)
    assert np.allclose(played[0], 0.25)
    assert played[-1][0] > 0.95


def test_entropy_needs_a_positive_centre():
    with pytest.raises(ValueError, match="positive coordinates"):
        MirrorStep(BALL, sv.NegativeEntropy())(np.ones(3))


def test_bad_gradients_are_refused_and_change_nothing():
    learner = NoisyOCO(BALL, gradient=lambda f, x: f, step=0.1)
    for bad in (np.ones(2), np.array([np.nan, 0, 0])):
        with pytest.raises(ValueError, match="gradient must"):
            learner.observe(bad)
    assert learner.observed == 0
    assert np.array_equal(learner.point(), BALL.center)
