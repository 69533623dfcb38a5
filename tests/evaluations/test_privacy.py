"""The noise of evaluations is for what one loss moves: the sum by the steps of the grid, and squares for nothing more.

That whatever is told moves no more, and each number has a noise of its own, tests/auditing/test_evaluations.py plays.
"""

import numpy as np
import pytest

import sottovoce as sv
from sampling import every
from sottovoce._sums import squares_of
from sottovoce.privacy import LossGrid, ProbeSums

STEPS = LossGrid(0.0, 1.0).steps
GUARANTEES = [
    sv.PureDP(1.0),
    sv.PureDP(0.1, contributions=3),
    sv.ApproxDP(1.0, 1e-6),
    sv.ApproxDP(0.2, 1e-3, contributions=2),
    sv.ZCDP(0.5),
    sv.ZCDP(0.02, contributions=2),
]


@every("steps", [2, 4, 6, 64, 100, 512])
def test_sum_and_squares_together_move_by_the_steps_of_the_grid_at_most(steps):
    """All pairs of losses; and no less: were the squares half as large again, it would not hold."""
    q = np.arange(steps + 1)

    def worst(t):
        return int((np.abs(q[:, None] - q) + np.abs(t[:, None] - t)).max())

    assert worst(squares_of(q, steps)) == steps
    if steps >= 64:
        around = q - steps // 2
        assert worst(around * around * 3 // (2 * steps)) > steps


def test_they_do_so_on_the_real_grid():
    """Every loss against both ends, the middle and places near the bound, and a million pairs at random."""
    every = np.arange(STEPS + 1)
    t = squares_of(every, STEPS)
    for other in (0, 1, STEPS // 4, STEPS // 2 - 1, STEPS // 2, STEPS // 2 + 1, STEPS - 1, STEPS):
        assert (np.abs(every - other) + np.abs(t - t[other])).max() <= STEPS
    a, b = np.random.default_rng(0).integers(0, STEPS + 1, (2, 1_000_000))
    assert (np.abs(a - b) + np.abs(t[a] - t[b])).max() <= STEPS


@every("guarantee", GUARANTEES)
def test_the_noise_is_the_least_that_keeps_the_guarantee(guarantee):
    """Against dp-accounting, for a person with all events in one evaluation: within the claim, and not far below."""
    noise = sv.PrivateEvaluations((0.0, 1.0), guarantee).privacy.noise
    moved = guarantee.contributions * STEPS
    if isinstance(guarantee, sv.ZCDP):
        assert moved**2 / (2 * noise.scale**2) == pytest.approx(guarantee.rho)
        return
    if noise.family == "laplace":
        assert moved / noise.scale == pytest.approx(guarantee.epsilon)
        return
    from dp_accounting.pld import privacy_loss_distribution as pld  # which takes its time to import

    accounted = pld.from_gaussian_mechanism(noise.scale / moved, value_discretization_interval=1e-4)
    assert accounted.get_delta_for_epsilon(guarantee.epsilon) == pytest.approx(guarantee.delta, rel=0.02)


def test_a_handler_that_reads_in_the_middle_of_a_release_sees_the_only_number_there_will_ever_be(monkeypatch):
    one, right, seen = sv.PrivateEvaluations((0.0, 1.0), sv.PureDP(1.0)).open(events=1), ProbeSums.release, []

    def release(self, sums):
        drawn = right(self, sums)
        if not seen:
            seen.append("reading")
            seen[0] = one.mean
        return drawn

    monkeypatch.setattr(ProbeSums, "release", release)
    one.tell(0.5)
    assert seen == [one.mean]


def test_noise_is_real_and_enough_of_it():
    """Secure noise has no seed: the mean of 300 |Laplace| of scale b is within 7 standard errors of b but for 1e-10."""
    evaluations = sv.PrivateEvaluations((0.0, 1.0), sv.PureDP(0.5))
    for _ in range(300):
        evaluations.open(events=1).tell(0.5)
    noise = np.array([one.total - STEPS // 2 for one in evaluations.results])
    scale = STEPS / 0.5
    assert evaluations.results[0].scale.noise.scale == pytest.approx(scale)
    assert abs(np.abs(noise).mean() - scale) < 7 * scale / np.sqrt(300)
    assert len(np.unique(noise)) > 290


@every("guarantee", [sv.PureDP(0.3, 2), sv.ZCDP(0.1), sv.ApproxDP(1.0, 1e-3), sv.ApproxDP(0.2, 1e-6, 3)])
def test_the_noise_of_the_sum_is_what_it_would_be_alone(guarantee):
    alone, both = (
        sv.PrivateEvaluations((0.0, 1.0), guarantee, variance=squares).privacy.noise for squares in (False, True)
    )
    assert both.family == alone.family
    assert alone.scale <= both.scale <= alone.scale * (1 + 1e-6)  # discreteness is charged for two numbers


def test_it_is_for_losses_in_memory_that_are_told_as_such():
    with pytest.raises(ValueError, match="variance=True is not for LocalDP"):
        sv.PrivateEvaluations((0.0, 1.0), sv.LocalDP(1.0), variance=True)
    with pytest.raises(TypeError, match="variance must be True or False"):
        sv.PrivateEvaluations((0.0, 1.0), sv.PureDP(1.0), variance=1)
