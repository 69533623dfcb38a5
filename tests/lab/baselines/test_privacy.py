"""The private baselines carry the noise that they claim: its scale, where it goes, and what it adds up to."""

import math

import dp_accounting
import numpy as np
import pytest

import sottovoce as sv
from sampling import every
from sottovoce.privacy import DirectionGrid, LossGrid, levels

RANGE = (0.0, 2.0)


class Chosen:
    """A source that remembers what is asked of it, and hands out chosen numbers in the place of noise."""

    simulated = True

    def __init__(self, numbers=None):
        self.noises, self.sizes = [], []
        self._numbers = numbers

    def sampler(self, noise):
        self.noises.append(noise)
        return self

    def draw(self, size):
        start = sum(self.sizes)
        self.sizes.append(size)
        if self._numbers is None:
            return np.zeros(size, dtype=np.int64)
        return self._numbers[start : start + size].copy()


def smith_thakurta(privacy, horizon, noise, domain=None, seed=1):
    return sv.lab.baselines.SmithThakurta(
        domain or sv.domains.Ball(3), horizon=horizon, loss_range=RANGE, privacy=privacy, seed=seed, noise=noise
    )


def sensitivities(learner):
    """How far replacing one loss can move its event's integer vector, found by trying: l1 and l2."""
    plan = learner.plan
    grid, directions = LossGrid(*RANGE, bits=plan.bits), DirectionGrid(bits=plan.bits)
    dimension = learner.domain.dimension
    coins = np.random.default_rng(0)
    units = np.vstack([coins.standard_normal((2_000, dimension)), np.ones((1, dimension)), np.eye(dimension)])
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    sensitivity = (grid.quantise(RANGE[1]) - grid.quantise(RANGE[0])) * directions.quantise(units)
    return np.abs(sensitivity).sum(axis=1).max(), np.linalg.norm(sensitivity, axis=1).max()


def test_the_laplace_scale_of_smith_thakurta():
    """Pure privacy: epsilon = levels x l1/scale; dp-accounting composes the nodes to the same epsilon."""
    source = Chosen()
    learner = smith_thakurta(sv.PureDP(0.7), 1_000, source)
    (noise,) = source.noises
    l1, _ = sensitivities(learner)
    reached = math.ceil(math.log2(1_000))
    assert noise.family == "laplace"
    assert noise == learner.privacy.noise == learner.plan.noise
    accountant = dp_accounting.pld.PLDAccountant(value_discretization_interval=1e-4)
    accountant.compose(dp_accounting.LaplaceDpEvent(noise.scale / l1), reached)
    assert accountant.get_epsilon(1e-10) == pytest.approx(0.7, rel=2e-3)


def test_the_gaussian_scale_of_smith_thakurta():
    source = Chosen()
    learner = smith_thakurta(sv.ApproxDP(1.0, 1e-6), 1_000, source)
    (noise,) = source.noises
    _, l2 = sensitivities(learner)
    accountant = dp_accounting.pld.PLDAccountant()
    accountant.compose(dp_accounting.GaussianDpEvent(noise.scale / l2), levels(1_000))
    assert noise.family == "gaussian"
    assert accountant.get_epsilon(1e-6) == pytest.approx(1.0, rel=2e-3)


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
            learner.tell(learner.ask().id, coins.uniform(*RANGE))
        learner.ask()  # fixes the next point
    unit = 3 / plan.radius * LossGrid(*RANGE, bits=plan.bits).step * DirectionGrid(bits=plan.bits).step
    # A 1-bit of t stands for the node that ends where t is cut off after that bit; it was noised in that round.
    ends = [events >> bit << bit for bit in range(events.bit_length()) if events >> bit & 1]
    expected = -plan.step * unit * numbers.reshape(horizon, 3)[np.array(ends) - 1].sum(axis=0)
    assert max(np.linalg.norm(learner.point) for learner in learners) < 1  # not projected
    np.testing.assert_allclose(learners[1].point - learners[0].point, expected, rtol=1e-6, atol=1e-12)
    assert [size for size in noisy.sizes if size] == [3] * events
