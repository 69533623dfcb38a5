"""Probe sums: one event moves one number of one round, and the noise is for that."""

import math

import numpy as np

from sampling import every
from sottovoce._sums import Probed
from sottovoce.privacy import LossGrid, Noise, ProbeSums, SimulatedNoise

STEPS = 2**18


def fixed_noise():
    return SimulatedNoise(99).sampler(Noise("laplace", 1e6))


@every("contributions", [1, 2, 5])
def test_a_person_moves_no_more_numbers_than_events_and_none_by_more_than_the_range(contributions):
    """Through what is released, with the noise held fixed: sixty events in numbers and rounds that are public."""
    rng, grid = np.random.default_rng(contributions), LossGrid(0.0, 1.0)
    probes, rounds, losses = rng.integers(0, 4, 60), np.sort(np.arange(60) % 5), rng.uniform(-0.5, 1.5, 60)

    def released(losses):
        mechanism, integers = ProbeSums(fixed_noise()), grid.quantise(losses)
        some = [np.flatnonzero(rounds == number) for number in range(5)]
        parts = [Probed(4, probes[one], np.ones(len(one), dtype=np.int64)).sum(integers[one]) for one in some]
        return np.concatenate([mechanism.release(part) for part in parts])

    before = released(losses)
    for _ in range(60):
        other = losses.copy()
        who = rng.choice(60, contributions, replace=False)
        other[who] = rng.choice([-99.0, 0.0, 1.0, 99.0], contributions)
        moved = released(other) - before
        assert np.abs(moved).sum() <= contributions * STEPS
        assert np.count_nonzero(moved) <= contributions
        per_round = max(np.bincount(rounds[who]))
        assert np.linalg.norm(moved) <= STEPS * math.sqrt(contributions * per_round)


@every("steps", [4, 16, 64])
def test_squares_beside_a_sum_are_free(steps):
    """All replacements of one loss, through what sums it: the two numbers of its decision move by the range, together.

    So they do in either norm; and no number of another decision moves.
    """
    one = Probed(2, np.array([1]), np.ones(1, dtype=np.int64), steps)
    sums = np.array([one.sum(np.array([loss])) for loss in range(steps + 1)])
    assert (sums[:, [0, 2]] == 0).all()
    assert np.abs(sums[:, None] - sums).sum(axis=2).max() == steps


def test_what_is_released_is_the_sums_and_their_noise():
    sums = np.array([10, -20, 30])
    mechanism = ProbeSums(fixed_noise())
    assert np.array_equal(mechanism.release(sums) - sums, fixed_noise().draw(3))
    assert mechanism.round == 1
    assert np.array_equal(sums, [10, -20, 30])
