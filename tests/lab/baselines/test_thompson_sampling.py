"""Thompson sampling: features that say every linear loss, and the posterior of a linear model."""

import math

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.lab.baselines._vertices import vertices_of
from sottovoce.lab.baselines.thompson_sampling import Features


def test_features_can_say_every_affine_function_of_the_action():
    domain, coins = sv.domains.Hypersimplex(7, 3), np.random.default_rng(0)
    features, vertices = Features(domain), vertices_of(domain)
    values = 3.0 + vertices @ coins.standard_normal(7)
    theta = np.linalg.lstsq(features(vertices), values, rcond=None)[0]
    np.testing.assert_allclose(features(vertices) @ theta, values, atol=1e-9)
    assert np.linalg.norm(features(vertices), axis=1).max() <= math.sqrt(2) + 1e-12
    best = domain.extreme_point(features.cost(theta))
    assert float(features(best[None])[0] @ theta) == pytest.approx(values.min())


def test_thompson_sampling_has_the_posterior_of_a_linear_model():
    """Against Bayes' rule with one row per event, and samples that have its covariance (six standard errors)."""
    domain = sv.domains.Hypersimplex(5, 2)
    learner = sv.lab.baselines.ThompsonSampling(domain, horizon=5_000, loss_range=(0.0, 2.0), seed=1)
    coins, features = np.random.default_rng(2), Features(domain)
    rows, values, sizes = [], [], []
    while learner.remaining > 1_000:
        actions = learner.ask_round()
        losses = np.clip(1.0 + 0.2 * actions.x[:, 0] + coins.normal(0, 0.3, size=len(actions)), 0, 2)
        learner.tell(actions.ids, losses)
        rows.append(features(actions.x))
        values.append(losses - 1.0)
        sizes.append(len(actions))
    assert sizes == [max(12, math.ceil(0.1 * before)) for before in np.cumsum([0, *sizes[:-1]])]
    phi, y = np.concatenate(rows), np.concatenate(values)
    learner._catch_up()
    policy, known = learner._made, learner._policy.first.explorer.knowledge().belief.known
    variance = policy.variance(known)
    assert variance == pytest.approx(0.09, rel=0.1)
    precision = phi.T @ phi / variance + np.diag(policy.prior)
    mean, root = policy.posterior(known)
    np.testing.assert_allclose(mean, np.linalg.solve(precision, phi.T @ y / variance), atol=1e-6)
    np.testing.assert_allclose(root @ root.T, precision, rtol=1e-6)
    # What is played is the cheapest vertex of a sample: the shares of the items are those of Bayes' rule.
    covariance = np.linalg.inv(precision)
    drawn = mean + coins.standard_normal((4_000, 6)) @ np.linalg.cholesky(covariance).T
    expected = np.mean([domain.extreme_point(features.cost(one)) for one in drawn], axis=0)
    found = []
    for policy.seed in range(100):
        found.append(policy._drawn(known).phase.mean)
    np.testing.assert_allclose(np.mean(found, axis=0), expected, atol=6 * 0.5 / math.sqrt(1_200))
