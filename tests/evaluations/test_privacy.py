"""The executable proof: one loss moves one released number, by the steps of the grid at most; all have own noise."""

import itertools

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld

import sottovoce as sv
from sampling import every
from sottovoce.privacy import LossGrid

STEPS = LossGrid(0.0, 1.0).steps
GUARANTEES = [
    sv.PureDP(1.0),
    sv.PureDP(0.1, contributions=3),
    sv.ApproxDP(1.0, 1e-6),
    sv.ApproxDP(0.2, 1e-3, contributions=2),
    sv.ZCDP(0.5),
    sv.ZCDP(0.02, contributions=2),
]


class Counted:
    """Noise that says how often it was drawn, and is never the same twice."""

    simulated = True

    def __init__(self):
        self.drawn = []

    def sampler(self, noise):
        return self

    def draw(self, size):
        self.drawn += [10**9 * (len(self.drawn) + 1 + i) for i in range(size)]
        return np.array(self.drawn[-size:], dtype=np.int64)


def totals(losses, sizes=(2, 3), missing=()):
    """What is released of people who come in this order, by public coins."""
    evaluations = sv.PrivateEvaluations((0.0, 1.0), sv.PureDP(1.0), noise=Counted(), seed=5)
    for size in sizes:
        evaluations.open(size)
    for place, loss in enumerate(losses):
        met, person = evaluations.assign()
        if place in missing:
            met.forget(person)
        else:
            met.tell(loss, ids=person)
    return np.array([one.total for one in evaluations.results])


def test_replacing_one_loss_moves_one_number_by_the_steps_of_the_grid_at_most():
    """Brute force over the ends of the range and beyond, and over losses that do not come: the worst is reached."""
    values, worst = [-7.0, 0.0, 0.3, 1.0, 1e12], 0
    others = [0.1, 0.9, 0.4, 0.6, 0.2]
    for place, (one, other) in itertools.product(range(5), itertools.combinations([*values, None], 2)):
        released = []
        for value in (one, other):
            told = [value if i == place else loss for i, loss in enumerate(others)]
            released.append(totals(told, missing=(place,) if value is None else ()))
        moved = np.abs(released[0] - released[1])
        assert (moved > 0).sum() <= 1
        worst = max(worst, int(moved.sum()))
    assert worst == STEPS


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
    accounted = pld.from_gaussian_mechanism(noise.scale / moved, value_discretization_interval=1e-4)
    assert accounted.get_delta_for_epsilon(guarantee.epsilon) == pytest.approx(guarantee.delta, rel=0.02)


def test_each_evaluation_has_one_noise_of_its_own():
    source = Counted()
    evaluations = sv.PrivateEvaluations((0.0, 1.0), sv.PureDP(1.0), noise=source)
    opened = [evaluations.open(2) for _ in range(4)]
    for one in reversed(opened):
        one.tell([0.0, 0.0])
        assert one.mean == one.mean
        one.interval()
    assert [one.result.total for one in reversed(opened)] == source.drawn
    assert len(source.drawn) == 4


def test_noise_is_real_unless_it_says_otherwise():
    """64 evaluations of nothing: their means scatter as Laplace noise of that scale does (five deviations)."""
    evaluations = sv.PrivateEvaluations((0.0, 1.0), sv.PureDP(1.0))
    for _ in range(64):
        evaluations.open(1).tell(0.0)
    seen = np.array([one.total for one in evaluations.results]) / STEPS
    assert len(set(seen)) == 64
    assert abs(np.abs(seen).mean() - 1) < 5 / 8  # E|Z| = 1, deviation 1/sqrt(64); P < 1e-5
