"""Each algorithm, event by event, against a literal transcription of its definition."""

import math

import numpy as np
import pytest

import sottovoce as sv

LOW, HIGH = -1.0, 3.0
MIDDLE = 1.0  # of the range


def loss_of(x):
    """A convex loss within the range, on the sets below."""
    return float(np.linalg.norm(x - np.linspace(0.0, 0.3, len(x))))


def project_ball(y, radius):
    return y * min(1.0, radius / np.linalg.norm(y))


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
