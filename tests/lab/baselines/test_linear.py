"""LinUCB and Thompson sampling: the ellipsoid, the most hopeful vertex, the posterior, and few updates."""

import math

import numpy as np
import pytest

import sottovoce as sv
from sampling import every
from sottovoce.lab.baselines._linear import Features, climb, hope, most_hopeful
from sottovoce.lab.baselines._vertices import few_vertices

SUBSETS = sv.domains.Hypersimplex(7, 3)


def ellipsoid(seed, features):
    coins = np.random.default_rng(seed)
    half = coins.standard_normal((features.size, features.size))
    return coins.standard_normal(features.size), half @ half.T / features.size


def test_features_can_say_every_affine_function_of_the_action():
    features, coins = Features(SUBSETS), np.random.default_rng(0)
    vertices = few_vertices(SUBSETS)
    values = 3.0 + vertices @ coins.standard_normal(7)
    theta = np.linalg.lstsq(features(vertices), values, rcond=None)[0]
    np.testing.assert_allclose(features(vertices) @ theta, values, atol=1e-9)
    assert np.linalg.norm(features(vertices), axis=1).max() <= math.sqrt(2) + 1e-12
    best = SUBSETS.extreme_point(features.cost(theta))
    assert float(features(best[None])[0] @ theta) == pytest.approx(values.min())


@every("seed", range(5))
def test_a_climb_never_gets_worse_and_the_list_is_never_beaten(seed):
    features = Features(SUBSETS)
    vertices = few_vertices(SUBSETS)
    theta, inverse = ellipsoid(seed, features)

    def worth(vertex):
        return float(hope(features(vertex[None]), theta, inverse, 1.5)[0])

    exact = most_hopeful(features, vertices, theta, inverse, 1.5, np.random.default_rng(9))
    assert worth(exact) == pytest.approx(min(map(worth, vertices)))
    ends = []
    for start in vertices:
        end = climb(features, theta, inverse, 1.5, start)
        assert worth(exact) - 1e-12 <= worth(end) <= worth(start)
        ends.append(worth(end))
    assert min(ends) == pytest.approx(worth(exact))
    assert np.isclose(ends, worth(exact)).sum() > 3  # most climb some way, and several to the top
    assert np.mean([end < worth(start) - 1e-9 for start, end in zip(vertices, ends, strict=True)]) > 0.5
    climbed = most_hopeful(features, None, theta, inverse, 1.5, np.random.default_rng(9))
    assert worth(climbed) <= worth(SUBSETS.extreme_point(features.cost(theta)))


def test_linucb_event_by_event():
    """A literal run: ridge regression, the most hopeful vertex of a list, and as many events as double det V."""
    horizon, coins = 4_000, np.random.default_rng(1)
    domain = sv.domains.Hypersimplex(5, 2)
    learner = sv.lab.baselines.LinUCB(domain, horizon=horizon, loss_range=(0.0, 2.0), lipschitz=0.7, seed=1)
    size = math.hypot(0.7 * domain.outer_radius, 1.0)
    ridge = (1.0 / size) ** 2
    rows = np.column_stack([(few_vertices(domain) - 0.4) / domain.outer_radius, np.ones(10)])
    truth = np.array([0.2, -0.1, 0.3, 0.0, -0.4, 0.1])
    gram, moment, played = ridge * np.eye(6), np.zeros(6), 0
    assert np.abs(rows @ truth).max() < 1
    while played < horizon:
        inverse = np.linalg.inv(gram)
        growth = math.log(np.linalg.det(gram) / ridge**6)
        width = math.sqrt(2 * math.log(horizon + 1) + growth) + math.sqrt(ridge) * size
        error = inverse @ moment - truth
        assert error @ gram @ error <= width**2  # the ellipsoid holds the truth
        lengths = np.sqrt(np.einsum("ij,jk,ik->i", rows, inverse, rows))
        best = int(np.argmin(rows @ inverse @ moment - width * lengths))
        count = min(math.ceil(1 / lengths[best] ** 2), horizon - played)
        actions = learner.ask_round()
        np.testing.assert_array_equal(actions.x, np.tile(few_vertices(domain)[best], (count, 1)))
        values = np.clip(1.0 + rows[best] @ truth + coins.uniform(-0.1, 0.1, size=count), 0, 2)
        learner.tell(actions.ids, values)
        gram, moment = gram + count * np.outer(rows[best], rows[best]), moment + (values - 1.0).sum() * rows[best]
        played += count
    assert learner.round < 120


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


@every("kind", [sv.lab.baselines.LinUCB, sv.lab.baselines.ThompsonSampling])
def test_updates_grow_as_a_logarithm_and_learning_pays(kind):
    environment = sv.lab.NoisyLinear(SUBSETS, seed=3)
    rounds = []
    for horizon in (10_000, 100_000):
        run = sv.lab.simulate(kind(SUBSETS, horizon=horizon, loss_range=(0.0, 1.0), seed=1), environment)
        assert run.final_regret < run.final_no_learning / 5
        rounds.append(run.details.rounds)
    assert rounds[1] < rounds[0] + 60


def test_large_sets_are_climbed_on():
    """15,504 vertices: none is listed, and what is played is still the best pair of cheap items before long."""
    domain = sv.domains.Hypersimplex(20, 5)
    assert few_vertices(domain) is None
    environment = sv.lab.NoisyLinear(domain, seed=3)
    learner = sv.lab.baselines.LinUCB(domain, horizon=100_000, loss_range=(0.0, 1.0), seed=1)
    run = sv.lab.simulate(learner, environment)
    assert "climbed to" in str(learner.plan)
    assert learner.oracle_calls > 9 * (learner.round - 1)
    assert run.final_regret < run.final_no_learning / 2
