"""Agarwal and Singh with full information: the leader of a padded tree, its noise, and what must never happen to it."""

import copy
import math
import pickle
import threading

import dp_accounting
import numpy as np
import pytest

import sottovoce as sv
from children import is_refused_after_a_fork
from sampling import every
from sottovoce.errors import CopyRefused, HorizonReached, InvalidLoss
from sottovoce.privacy import levels

BALL = sv.domains.Ball(3)


def made(privacy, horizon=64, noise=None, domain=BALL, lipschitz=2.0):
    noise = sv.SimulatedNoise(1) if noise is None else noise
    return sv.lab.baselines.AgarwalSinghFull(
        domain, horizon=horizon, loss_range=(-2.0, 2.0), privacy=privacy, lipschitz=lipschitz, noise=noise
    )


class Chosen:
    """A source that hands out chosen numbers in the place of noise, and remembers what was asked."""

    simulated = True

    def __init__(self, numbers=None):
        self.sizes, self._numbers = [], numbers

    def sampler(self, noise):
        self.noise = noise
        return self

    def draw(self, size):
        start = sum(self.sizes)
        self.sizes.append(size)
        if self._numbers is None:
            return np.zeros(size, dtype=np.int64)
        return self._numbers[start : start + size].copy()


@every("domain", [BALL, sv.domains.Hypersimplex(5, 2)])
def test_it_plays_the_regularised_leader(domain):
    """A literal run without noise: the projection of c - step * sum, gradients cut to the length G along the set."""
    horizon, coins = 200, np.random.default_rng(0)
    learner = made(sv.PureDP(1.0), horizon, Chosen(), domain)
    step, total = domain.outer_radius / (2.0 * math.sqrt(2 * horizon)), np.zeros(domain.dimension)
    for _ in range(horizon):
        expected = sv.projection.project(domain, domain.center - step * total, gap=1e-10).point
        np.testing.assert_allclose(learner.point, expected, atol=2e-3)
        gradient = coins.standard_normal(domain.dimension) * coins.choice([0.1, 1.0, 1e200]) + 0.3
        learner.observe(gradient)
        along = domain.tangent(gradient / np.abs(gradient).max())
        along *= min(np.abs(gradient).max(), 2.0 / np.linalg.norm(along))
        total += along
    assert learner.remaining == 0
    with pytest.raises(HorizonReached):
        learner.observe(gradient)


def largest_moves(learner):
    """How far replacing one gradient can move the integers, found by trying: l1 and l2."""
    units = np.vstack([np.random.default_rng(0).standard_normal((3_000, 3)), np.ones((1, 3)), np.eye(3)]) * 1e6
    sensitivity = np.array([learner._integers(one) - learner._integers(-one) for one in units])
    return np.abs(sensitivity).sum(axis=1).max(), np.linalg.norm(sensitivity, axis=1).max()


@every("privacy", [sv.PureDP(0.7), sv.PureDP(2.0, contributions=3), sv.ApproxDP(1.0, 1e-6)])
def test_the_scale_of_the_tree(privacy):
    """As many releases as an event has nodes compose to the guarantee, by dp-accounting; no smaller noise would do."""
    source = Chosen()
    learner = made(privacy, 1_000, source)
    l1, l2 = largest_moves(learner)
    assert source.noise == learner.privacy.noise
    accountant = dp_accounting.pld.PLDAccountant(value_discretization_interval=1e-3)
    people, reached = privacy.contributions, levels(1_000)
    if isinstance(privacy, sv.PureDP):
        assert source.noise.family == "laplace"
        accountant.compose(dp_accounting.LaplaceDpEvent(source.noise.scale / (people * l1)), reached)
        assert accountant.get_epsilon(1e-10) == pytest.approx(privacy.epsilon, rel=1e-2)
        assert reached * people * l1 / source.noise.scale <= privacy.epsilon
    else:
        assert source.noise.family == "gaussian"
        accountant.compose(dp_accounting.GaussianDpEvent(source.noise.scale / (people * l2)), reached)
        assert accountant.get_epsilon(1e-6) == pytest.approx(1.0, rel=1e-2)


def test_every_sum_carries_as_many_noises_as_the_tree_is_high():
    source = Chosen()
    learner = made(sv.PureDP(1.0), 64, source)
    for _ in range(64):
        learner.observe(np.ones(3))
    height = levels(64)
    drawn = [size // 3 for size in source.sizes]
    assert drawn == [height] + [1 + height - event.bit_count() for event in range(1, 64)]  # the last one: never
    assert (learner.round, learner._tree.round) == (64, 63)


def released(gradients, numbers):
    """All released sums, for chosen gradients and chosen noise."""
    learner, sums = made(sv.PureDP(1.0), len(gradients), Chosen(numbers)), []
    for gradient in gradients:
        learner.observe(gradient)
        sums.append(learner._tree.last)
    return np.array(sums)[:-1], learner


@every("changed", [0, 6, 7, 30, 62, 63])
def test_one_gradient_moves_at_most_a_logarithm_of_nodes_by_no_more_than_its_norm(changed):
    """Executable proof: shifting the noise of the nodes that hold the event undoes its change in all that is seen."""
    horizon, coins = 64, np.random.default_rng(3)
    gradients = coins.standard_normal((horizon, 3)) * 3
    numbers = coins.integers(-(2**10), 2**10, size=10_000)
    sums, learner = released(gradients, numbers)
    other = gradients.copy()
    other[changed] = -5 * gradients[changed]
    move = learner._integers(other[changed]) - learner._integers(gradients[changed])
    assert np.abs(move).sum() <= learner._sensitivity.l1
    assert np.linalg.norm(move) <= learner._sensitivity.l2
    event, height = changed + 1, levels(horizon)
    holding = [end for end in range(1, horizon) if end - (end & -end) < event <= end]
    starts = np.cumsum([height] + [1 + height - one.bit_count() for one in range(1, horizon)]) * 3
    shifted = numbers.copy()
    for end in holding:
        shifted[starts[end - 1] : starts[end - 1] + 3] -= move
    assert len(holding) <= height
    np.testing.assert_array_equal(released(other, shifted)[0], sums)
    if changed < horizon - 1:
        assert (released(other, numbers)[0] != sums).any()


def test_a_bad_gradient_is_refused_without_being_shown_and_changes_nothing():
    learner = made(sv.PureDP(1.0))
    learner.observe([0.1, 0.2, 0.3])
    before = learner.point
    for bad in ([0.123456], [np.nan, 0.123456, 0.0], [np.inf, 0.123456, 0.0], ["0.123456x", 0.0, 0.0], 0.123456, None):
        with pytest.raises(InvalidLoss, match="gradient must be 3 finite numbers") as caught:
            learner.observe(bad)
        shown = str(caught.value) + repr(caught.value.__context__) + repr(caught.value.__cause__)
        assert "0.123456" not in shown
    assert learner.round == 1
    np.testing.assert_array_equal(learner.point, before)
    assert "0.1" not in repr(learner)


def test_real_noise_refuses_copies_and_forks_and_simulated_noise_goes_on_alike():
    real = sv.lab.baselines.AgarwalSinghFull(BALL, horizon=20, loss_range=(-1.0, 1.0), privacy=sv.PureDP(1.0))
    assert real.privacy.private
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(CopyRefused):
            attempt(real)
    assert is_refused_after_a_fork(lambda: real.observe(np.ones(3)))
    simulated = made(sv.PureDP(1.0))
    simulated.observe(np.ones(3))
    again = pickle.loads(pickle.dumps(simulated))
    for learner in (simulated, again):
        learner.observe(np.ones(3))
    np.testing.assert_array_equal(simulated.point, again.point)
    assert "NOT PRIVATE" in simulated.privacy.headline


def test_threads_hand_in_every_gradient_once():
    learner = made(sv.PureDP(1.0), 401, Chosen())
    workers = [
        threading.Thread(target=lambda: [learner.observe([0.5, 0.0, 0.0]) for _ in range(100)]) for _ in range(4)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert learner.round == 400
    np.testing.assert_array_equal(learner._tree.last, 400 * learner._integers([0.5, 0.0, 0.0]))


def test_the_statement_adds_up():
    words = " ".join(str(made(sv.PureDP(0.5), 1_000).privacy).split())
    assert "Hence epsilon = 0.5 for 1 event of a person." in words
    assert "at most 10 noised vectors" in words
