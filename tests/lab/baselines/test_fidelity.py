"""Baselines for convex losses: event by event as they are defined, with the noise that they claim."""

import math

import dp_accounting
import numpy as np
import pytest
from watching import Chosen

import sottovoce as sv
from sampling import every
from sottovoce.privacy import DirectionGrid, LossGrid, levels

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


def direction_of(action, point, radius, domain):
    """Where an action lies around a point: a unit vector along the set, but for the grid that sums are made on."""
    direction = (action.x - point) / radius
    assert np.linalg.norm(direction) == pytest.approx(1.0, abs=1e-4)
    assert np.linalg.norm(domain.tangent(direction) - direction) < 1e-4
    return direction / np.linalg.norm(direction)


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
        direction = direction_of(action, y, radius, domain)
        loss = loss_of(action.x)
        learner.tell(action.id, loss)
        y = project(y - step * (loss - MIDDLE) * direction, shrink)
    # The bound with the cap on the radius, by its parts: descent, exploring, shrinking.
    parts = outer * (3 * SIZE / radius) * math.sqrt(horizon), 3 * lipschitz * radius * horizon
    bound = sum(parts) + 2 * SIZE * radius / inner * horizon
    assert learner.plan.bound == pytest.approx(min(bound, horizon * (HIGH - LOW)))


def test_fkm_reaches_the_bound_of_its_theorem_where_the_radius_is_not_capped():
    learner = sv.lab.baselines.FKM(sv.domains.Ball(2), horizon=10**8, loss_range=(LOW, HIGH), lipschitz=1.0)
    stated = 2 * (10**8) ** 0.75 * math.sqrt(3 * 2 * SIZE * (1.0 + SIZE))
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
    bound = horizon**0.8 * (falls / constant + grows * constant + 1.25 * 2.01 * slope * wide)
    assert learner.plan.bound == pytest.approx(min(bound, horizon * (HIGH - LOW)))
    radius = constant * horizon ** (-1 / 5)
    eta = constant * wide / (math.sqrt(2) * dimension * SIZE) * horizon ** (-4 / 5)
    shrink = 1 - radius / inner
    x = start = domain.center
    total = np.zeros(domain.dimension)
    for t in range(1, horizon + 1):
        action = learner.ask()
        direction = direction_of(action, x, radius, domain)
        loss = loss_of(action.x)
        learner.tell(action.id, loss)
        vertex = start + shrink * (domain.extreme_point(eta * total + 2 * (x - start)) - start)
        x = (1 - t**-0.4) * x + t**-0.4 * vertex
        total = total + dimension / radius * (loss - MIDDLE) * direction


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
    assert np.linalg.norm(leaders[-1]) > 0.1  # it was not all at the centre


def test_smith_thakurta_plays_the_leader_of_all_events():
    learner = smith_thakurta(sv.PureDP(1e6), 100, sv.SimulatedNoise(2), lipschitz=1.0)  # next to no noise
    plan = learner.plan
    assert (plan.rounds, plan.delay, plan.mechanism, plan.method) == (100, 0, "tree", "auto")
    total = np.zeros(3)
    for _ in range(100):
        action = learner.ask()
        point = project_ball(-plan.step * total, 1.0) if total.any() else np.zeros(3)
        np.testing.assert_allclose(learner.point, point, atol=1e-3)
        direction = (action.x - (1 - plan.radius) * learner.point) / plan.radius
        loss = loss_of(action.x)
        learner.tell(action.id, loss)
        total = total + 3 / plan.radius * (loss - MIDDLE) * direction


# ---------------------------------------------------------------------- noise


def smith_thakurta(privacy, horizon, noise, lipschitz=None):
    return sv.lab.baselines.SmithThakurta(
        sv.domains.Ball(3),
        horizon=horizon,
        loss_range=(LOW, HIGH),
        privacy=privacy,
        lipschitz=lipschitz,
        seed=2,
        noise=noise,
    )


def sensitivities(learner):
    """How far replacing one loss can move its event's integer vector, found by trying: l1 and l2."""
    plan = learner.plan
    grid, directions = LossGrid(LOW, HIGH, bits=plan.bits), DirectionGrid(bits=plan.bits)
    dimension = learner.domain.dimension
    coins = np.random.default_rng(0)
    units = np.vstack([coins.standard_normal((2_000, dimension)), np.ones((1, dimension)), np.eye(dimension)])
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    sensitivity = (grid.quantise(HIGH) - grid.quantise(LOW)) * directions.quantise(units)
    return np.abs(sensitivity).sum(axis=1).max(), np.linalg.norm(sensitivity, axis=1).max()


def test_the_scales_of_smith_thakurta():
    """Pure privacy: epsilon = levels x l1/scale; dp-accounting composes the nodes to it, of both noises."""
    reached = math.ceil(math.log2(1_000))
    for privacy, family, event, norm in (
        (sv.PureDP(0.7), "laplace", dp_accounting.LaplaceDpEvent, 0),
        (sv.ApproxDP(1.0, 1e-6), "gaussian", dp_accounting.GaussianDpEvent, 1),
    ):
        source = Chosen()
        learner = smith_thakurta(privacy, 1_000, source)
        assert source.noise == learner.privacy.noise == learner.plan.noise
        assert (source.noise.family, levels(1_000)) == (family, reached)
        accountant = dp_accounting.pld.PLDAccountant(value_discretization_interval=1e-4)
        accountant.compose(event(source.noise.scale / sensitivities(learner)[norm]), reached)
        assert accountant.get_epsilon(1e-6 if norm else 1e-10) == pytest.approx(privacy.epsilon, rel=2e-3)


@every("events", [1, 2, 3, 7, 8, 21, 39])
def test_noise_enters_the_point_once_for_each_node(events):
    horizon = 40
    numbers = np.random.default_rng(3).integers(-(2**20), 2**20, size=3 * horizon)
    quiet, noisy = Chosen(), Chosen(numbers)
    learners = [smith_thakurta(sv.PureDP(1.0), horizon, source) for source in (quiet, noisy)]
    plan = learners[0].plan
    for learner in learners:
        coins = np.random.default_rng(4)
        for _ in range(events):
            learner.tell(learner.ask().id, coins.uniform(LOW, HIGH))
        learner.ask()  # fixes the next point
    unit = 3 / plan.radius * LossGrid(LOW, HIGH, bits=plan.bits).step * DirectionGrid(bits=plan.bits).step
    # A 1-bit of t stands for the node that ends where t is cut off after that bit; it was noised in that round.
    ends = [events >> bit << bit for bit in range(events.bit_length()) if events >> bit & 1]
    expected = -plan.step * unit * numbers.reshape(horizon, 3)[np.array(ends) - 1].sum(axis=0)
    assert max(np.linalg.norm(learner.point) for learner in learners) < 1  # not projected
    np.testing.assert_allclose(learners[1].point - learners[0].point, expected, rtol=1e-6, atol=1e-12)
    assert [size for size in noisy.sizes if size] == [3] * events
