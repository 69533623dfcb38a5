"""The paper's own setting: distances to a moving target in the unit ball."""

import numpy as np

import sottovoce as sv
from sampling import every
from sottovoce.lab.problems import BallTracking


def test_the_loss_is_the_distance_to_a_target_in_the_unit_ball():
    problem = BallTracking(dimension=3, seed=2)
    targets = problem.environment.library.targets[problem.environment.kinds(0, 200)]
    assert np.linalg.norm(targets, axis=1).max() <= 1 + 1e-12
    rng = np.random.default_rng(0)
    actions = rng.standard_normal((200, 3))
    expected = [
        sum((a - b) ** 2 for a, b in zip(x, y, strict=True)) ** 0.5 for x, y in zip(actions, targets, strict=True)
    ]
    np.testing.assert_allclose(problem.environment.losses(0, actions), expected, atol=1e-12)
    assert (problem.domain.outer_radius, problem.environment.loss_range) == (1.0, (0.0, 2.0))


@every("play", ["around", "inside"])
def test_where_actions_are_taken_is_said_to_the_optimizer(play):
    problem = BallTracking(dimension=3, play=play)
    assert problem.settings()["play"] == problem.optimizer(horizon=2000, privacy=sv.NoPrivacy())._configuration.play
