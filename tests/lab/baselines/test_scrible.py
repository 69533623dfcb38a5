"""SCRiBLe's parts against their definitions: the barrier's minimiser, its Hessian, and an unbiased estimate."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize

import sottovoce as sv
from sampling import every
from sottovoce.lab.baselines.scrible import BallBarrier, Scrible, scrible_bound, scrible_step

CENTER = np.array([1.0, -2.0, 0.5])
DOMAIN = sv.domains.Ball(3, radius=2.0, center=CENTER)
BARRIER = BallBarrier(DOMAIN)


def barrier_value(z):
    return -math.log(1 - z @ z)


@every("size", [0.0, 1e-9, 0.3, 5.0, 300.0])
def test_the_point_map_minimises_the_regularised_sum(size):
    dual = size * np.array([0.6, -0.3, 0.2])
    z = (BARRIER(dual) - CENTER) / 2.0
    found = optimize.minimize(
        lambda w: barrier_value(w / (1 + np.linalg.norm(w))) - dual @ (2.0 * w / (1 + np.linalg.norm(w))),
        x0=z / (1 - np.linalg.norm(z)) + 0.1,
        method="BFGS",
        options={"gtol": 1e-9},
    )
    w = found.x / (1 + np.linalg.norm(found.x))  # from all of space into the ball
    np.testing.assert_allclose(z, w, atol=1e-4)


@given(
    st.lists(st.floats(-1, 1), min_size=3, max_size=3),
    st.floats(0, 0.999),
    st.lists(st.floats(-1, 1), min_size=3, max_size=3),
)
def test_roots_of_the_hessian(direction, length, vector):
    z = np.array(direction)
    z = z * (length / max(1e-9, np.linalg.norm(z))) if np.linalg.norm(z) > 1e-6 else 0 * z
    vector = np.array(vector)
    s = z @ z
    hessian = 2 / (1 - s) * np.eye(3) + 4 / (1 - s) ** 2 * np.outer(z, z)
    values, axes = np.linalg.eigh(hessian)
    lower, upper = BARRIER.roots(CENTER + 2.0 * z, vector)
    scale = math.sqrt(values[-1])
    np.testing.assert_allclose(lower, axes @ (values**-0.5 * (axes.T @ vector)), atol=1e-9)
    np.testing.assert_allclose(upper, axes @ (values**0.5 * (axes.T @ vector)), atol=1e-9 * scale)


def test_the_hessian_is_that_of_the_barrier():
    z, step = np.array([0.3, -0.5, 0.2]), 1e-4
    axes = np.eye(3) * step
    numeric = [
        [
            (barrier_value(z + a + b) - barrier_value(z + a - b) - barrier_value(z - a + b) + barrier_value(z - a - b))
            / (4 * step**2)
            for b in axes
        ]
        for a in axes
    ]
    twice = [BARRIER.roots(CENTER + 2.0 * z, BARRIER.roots(CENTER + 2.0 * z, e)[1])[1] for e in np.eye(3)]
    np.testing.assert_allclose(twice, numeric, rtol=1e-5, atol=1e-5)


@every("length", [0.0, 0.5, 0.999])
def test_the_estimate_is_unbiased_and_its_action_feasible(length):
    """Exactly so: what is averaged over the sphere is quadratic, and the axes with both signs average it as well."""
    point = CENTER + 2.0 * length * np.array([2.0, -1.0, 2.0]) / 3.0
    cost, rounds = np.array([0.3, -1.0, 0.7]), Scrible(BARRIER, middle=0.4)
    total = np.zeros(3)
    for direction in (*np.eye(3), *-np.eye(3)):
        exploration = rounds.resume(point, {"direction": direction})
        (action,) = exploration.draw(np.random.default_rng(0), 0, 1).actions
        assert DOMAIN.contains(action, 1e-9)
        total += exploration.estimate(np.array([cost @ action + 5.0]), np.ones(1)) / 6
    np.testing.assert_allclose(total, cost, atol=1e-9)


def test_directions_are_unit_vectors_drawn_afresh_and_recorded():
    rounds, coins = Scrible(BARRIER, middle=0.0), np.random.default_rng(0)
    first, second = (rounds.begin(CENTER, 0, 1, coins) for _ in range(2))
    assert np.linalg.norm(first.record()["direction"]) == pytest.approx(1.0)
    assert np.abs(first.record()["direction"] - second.record()["direction"]).max() > 1e-3
    again = rounds.resume(CENTER, first.record())
    np.testing.assert_array_equal(again.draw(coins, 0, 1).actions, first.draw(coins, 0, 1).actions)
    assert rounds.round_size(0) == rounds.round_size(10**6) == 1


def test_the_step_minimises_the_bound():
    d, horizon, variance = 4, 5_000, 0.7

    def bound(step):
        return math.log(horizon) / step + 2 * step * d**2 * variance * horizon + 3.0

    best = scrible_step(d, horizon, variance)
    assert bound(best) == pytest.approx(scrible_bound(d, horizon, variance, 3.0))
    assert bound(best) < min(bound(0.9 * best), bound(1.1 * best))


def test_agarwal_singh_follows_scrible_event_by_event():
    """Next to no noise: the points are those of a literal run on the same actions."""
    horizon, cost = 60, np.array([0.2, 0.1, -0.15])
    learner = sv.lab.baselines.AgarwalSingh(
        DOMAIN, horizon=horizon, loss_range=(-1.0, 3.0), privacy=sv.PureDP(1e6), seed=4, noise=sv.SimulatedNoise(1)
    )
    step = math.sqrt(math.log(horizon) / (2 * 9 * 4.0 * horizon))
    assert (learner.inner, learner.plan.batch_size) == ("scrible", 1)
    assert learner.plan.step == pytest.approx(step)
    total = np.zeros(3)
    for _ in range(horizon):
        action = learner.ask()
        pull = -step * total
        z = pull / (1 + math.sqrt(1 + pull @ pull))
        np.testing.assert_allclose(learner.point, CENTER + 2.0 * z, atol=1e-3)
        s = z @ z
        hessian = 2 / (1 - s) * np.eye(3) + 4 / (1 - s) ** 2 * np.outer(z, z)
        offset = (action.x - learner.point) / 2.0
        assert offset @ hessian @ offset == pytest.approx(1.0, abs=1e-2)  # on the Dikin ellipsoid
        loss = float(cost @ action.x)
        learner.tell(action.id, loss)
        total = total + 3 * (loss - 1.0) * hessian @ offset
