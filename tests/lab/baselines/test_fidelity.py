"""Each algorithm, event by event, against a literal transcription of its definition."""

import math

import numpy as np
import pytest
from scipy import stats

import sottovoce as sv
from sampling import every

LOW, HIGH = -1.0, 3.0
MIDDLE, SIZE = 1.0, 2.0  # of the range


def loss_of(x):
    """A convex loss within the range, on the sets below."""
    return float(np.linalg.norm(x - np.linspace(0.0, 0.3, len(x))))


def project_ball(y, radius):
    return y * min(1.0, radius / np.linalg.norm(y))


def project_simplex(y, shrink):
    """Onto {x >= (1 - shrink)/n, sum = 1}, by bisection on the multiplier."""
    floor = (1 - shrink) / len(y)
    low, high = y.min() - 1.0, y.max() + 1.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if np.maximum(y - middle, floor).sum() > 1 else (low, middle)
    return np.maximum(y - high, floor)


BALL = (sv.domains.Ball(3), 1.0, 1.0, project_ball)
SIMPLEX = (sv.domains.Simplex(4), 1 / math.sqrt(12), math.sqrt(3 / 4), project_simplex)  # set, r, R


@every("domain, inner, outer, project", [BALL, SIMPLEX])
def test_fkm(domain, inner, outer, project):
    horizon, lipschitz = 400, 0.7
    learner = sv.lab.baselines.FKM(domain, horizon=horizon, loss_range=(LOW, HIGH), lipschitz=lipschitz, seed=3)
    radius = horizon**-0.25 * math.sqrt(outer * 3 * SIZE * inner / (3 * (lipschitz * inner + SIZE)))
    radius = min(radius, inner / 2)
    step, shrink = outer / (SIZE * math.sqrt(horizon)), 1 - radius / inner
    y = domain.center
    for _ in range(horizon):
        action = learner.ask()
        direction = (action.x - y) / radius
        assert np.linalg.norm(direction) == pytest.approx(1.0, abs=1e-6)
        assert np.linalg.norm(domain.tangent(direction) - direction) < 1e-6
        loss = loss_of(action.x)
        learner.tell(action.id, loss)
        y = project(y - step * (loss - MIDDLE) * direction, shrink)
    # The bound with the cap on the radius, by its parts: descent, exploring, shrinking.
    parts = outer * (3 * SIZE / radius) * math.sqrt(horizon), 3 * lipschitz * radius * horizon
    assert learner.plan.bound == pytest.approx(sum(parts) + 2 * SIZE * radius / inner * horizon)


def test_fkm_reaches_the_bound_of_its_theorem_where_the_radius_is_not_capped():
    learner = sv.lab.baselines.FKM(sv.domains.Ball(2), horizon=10**6, loss_range=(LOW, HIGH), lipschitz=1.0)
    stated = 2 * (10**6) ** 0.75 * math.sqrt(3 * 2 * SIZE * (1.0 + SIZE))
    assert 0.8 * stated < learner.plan.bound <= stated


@every("domain", [sv.domains.Ball(3), sv.domains.Simplex(4), sv.domains.Hypersimplex(5, 2)])
def test_chen_zhang_karbasi(domain):
    horizon, slope = 200, 0.7
    learner = sv.lab.baselines.ChenZhangKarbasi(
        domain, horizon=horizon, loss_range=(LOW, HIGH), lipschitz=slope, seed=5
    )
    dimension, inner, outer, wide = domain.affine_dimension, domain.inner_radius, domain.outer_radius, domain.diameter
    falls = math.sqrt(2) * outer**2 * dimension * SIZE / wide + wide * dimension * SIZE / math.sqrt(32) / horizon**0.2
    grows = (1 + outer / inner) * slope
    constant = min(math.sqrt(falls / grows), inner / 2 * horizon**0.2)  # c, of the least bound as far as it fits
    lag = 1.25 * 2.01 * slope * wide
    assert learner.plan.bound == pytest.approx(horizon**0.8 * (falls / constant + grows * constant + lag))
    radius = constant * horizon ** (-1 / 5)
    eta = constant * domain.diameter / (math.sqrt(2) * dimension * SIZE) * horizon ** (-4 / 5)
    shrink = 1 - radius / domain.inner_radius
    x = start = domain.center
    total = np.zeros(domain.dimension)
    for t in range(1, horizon + 1):
        action = learner.ask()
        direction = (action.x - x) / radius
        assert np.linalg.norm(direction) == pytest.approx(1.0, abs=1e-9)
        loss = loss_of(action.x)
        learner.tell(action.id, loss)
        vertex = start + shrink * (domain.extreme_point(eta * total + 2 * (x - start)) - start)
        x = (1 - t**-0.4) * x + t**-0.4 * vertex
        total = total + dimension / radius * (loss - MIDDLE) * direction
    assert learner.oracle_calls == horizon


def test_garber_kretzu_plays_the_leader_of_two_blocks_ago():
    horizon, domain = 900, sv.domains.Ball(3)
    learner = sv.lab.baselines.GarberKretzu(domain, horizon=horizon, loss_range=(LOW, HIGH), lipschitz=1.0, seed=2)
    plan = learner.plan
    assert (plan.rounds, plan.batch_size, plan.delay, plan.noise) == (30, 30, 1, None)
    assert plan.gap == pytest.approx(1 / 30)  # R^2/sqrt(T)
    leaders = [domain.center] * 2  # before any block is in; block 1 plays what block 0 has not shaped yet
    total = np.zeros(3)
    for block in range(30):
        actions = learner.ask_round()
        assert len(actions.ids) == 30
        assert np.linalg.norm(learner.point - leaders[block]) <= math.sqrt(plan.gap) + 1e-4
        directions = (actions.x - (1 - plan.radius) * learner.point) / plan.radius
        np.testing.assert_allclose(np.linalg.norm(directions, axis=1), 1.0, atol=1e-9)
        losses = np.array([loss_of(x) for x in actions.x])
        learner.tell(actions.ids, losses)
        total = total + 3 / plan.radius * (losses - MIDDLE) @ directions
        leaders.append(project_ball(-plan.step * total, 1.0))
    assert learner.oracle_calls <= horizon
    assert np.linalg.norm(leaders[-1]) > 0.1  # it was not all at the centre


def test_smith_thakurta_plays_the_leader_of_all_events():
    horizon, domain = 100, sv.domains.Ball(3)
    learner = sv.lab.baselines.SmithThakurta(
        domain,
        horizon=horizon,
        loss_range=(LOW, HIGH),
        privacy=sv.PureDP(1e6),  # next to no noise
        lipschitz=1.0,
        seed=2,
        noise=sv.SimulatedNoise(2),
    )
    plan = learner.plan
    assert (plan.rounds, plan.delay, plan.mechanism, plan.method) == (horizon, 0, "tree", "auto")
    total = np.zeros(3)
    for _ in range(horizon):
        action = learner.ask()
        point = project_ball(-plan.step * total, 1.0) if total.any() else np.zeros(3)
        np.testing.assert_allclose(learner.point, point, atol=1e-3)
        direction = (action.x - (1 - plan.radius) * learner.point) / plan.radius
        loss = loss_of(action.x)
        learner.tell(action.id, loss)
        total = total + 3 / plan.radius * (loss - MIDDLE) * direction


def test_random_vertices_follow_the_solid_angles():
    """A chi-square test at 1e-6 for the corners of a simplex; five standard errors for the mean on a ball."""
    learner = sv.lab.baselines.UniformRandom(sv.domains.Simplex(4), horizon=8_000, loss_range=(0.0, 1.0), seed=0)
    corners = learner.ask(8_000).x
    assert set(np.unique(corners)) == {0.0, 1.0}
    assert stats.chisquare(corners.sum(axis=0)).pvalue > 1e-6
    learner = sv.lab.baselines.UniformRandom(sv.domains.Ball(3), horizon=8_000, loss_range=(0.0, 1.0), seed=0)
    points = learner.ask(8_000).x
    np.testing.assert_allclose(np.linalg.norm(points, axis=1), 1.0)
    assert np.abs(points.mean(axis=0)).max() < 5 / math.sqrt(3 * 8_000)
    assert learner.oracle_calls == 8_000
