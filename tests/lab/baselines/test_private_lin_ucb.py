"""Private LinUCB: its ellipsoid, the length of its noise, rounds that double det V, and one loss in a few nodes."""

import math

import dp_accounting
import numpy as np
import pytest
from watching import watch_releases

import sottovoce as sv
from sampling import every
from sottovoce.lab.baselines._vertices import few_vertices
from sottovoce.lab.baselines.private_lin_ucb import UnitFeatures, _length_of_noise
from sottovoce.privacy import DirectionGrid, LossGrid, levels

RANGE, PURE, APPROXIMATE = (0.0, 2.0), sv.PureDP(5.0), sv.ApproxDP(1.0, 1e-6)
SUBSETS = sv.domains.Hypersimplex(4, 2)


class Chosen:
    """A source that hands out chosen numbers in the place of noise."""

    simulated = True

    def __init__(self, numbers=None):
        self.drawn, self._numbers = 0, numbers

    def sampler(self, noise):
        self.noise = noise
        return self

    def draw(self, size):
        self.drawn += size
        if self._numbers is None:
            return np.zeros(size, dtype=np.int64)
        return self._numbers[self.drawn - size : self.drawn].copy()


def made(horizon, privacy=PURE, noise=None, domain=SUBSETS):
    noise = sv.SimulatedNoise(1) if noise is None else noise
    return sv.lab.baselines.PrivateLinUCB(
        domain, horizon=horizon, loss_range=RANGE, privacy=privacy, lipschitz=0.4, seed=1, noise=noise
    )


def play(learner, truth, coins):
    """Play to the end: losses of uniform noise around 1 + <truth, features>; yields after every round."""
    while learner.remaining:
        actions = learner.ask_round(most=20_000)
        means = 1.0 + learner._features(actions.x) @ truth
        learner.tell(actions.ids, means + coins.uniform(-0.3, 0.3, size=len(means)))
        yield actions


def test_a_literal_run_without_noise():
    """Least squares with the ridge that noise asks for, the most hopeful vertex, as many events as double det V."""
    horizon, vertices = 60_000, few_vertices(SUBSETS)
    learner = made(horizon, noise=Chosen())
    plan = learner._confidence
    rows = vertices / math.sqrt(2)  # two items of four: all of this length
    np.testing.assert_allclose(learner._features(vertices), rows)
    assert plan.ridge == pytest.approx(plan.length / plan.largest)
    gram, moment, played, rounds = plan.ridge * np.eye(4), np.zeros(4), 0, 0
    coins, truth = np.random.default_rng(0), np.array([0.3, -0.3, 0.1, 0.0])
    while played < horizon:
        inverse = np.linalg.inv(gram)
        growth = math.log(np.linalg.det(gram) / plan.ridge**4)
        width = math.sqrt(2 * math.log(2 * horizon) + growth) + 2 * math.sqrt(plan.length * plan.largest)
        lengths = np.sqrt(np.einsum("ij,jk,ik->i", rows, inverse, rows))
        hopes = rows @ inverse @ moment - width * lengths
        actions = learner.ask_round()
        best = int(np.argmax((vertices == actions.x[0]).all(axis=1)))  # of equals, any
        np.testing.assert_array_equal(actions.x, np.tile(vertices[best], (len(actions), 1)))
        assert hopes[best] <= hopes.min() + 1e-4
        assert len(actions) == pytest.approx(min(math.ceil(1 / lengths[best] ** 2), horizon - played), abs=1)
        values = 1.0 + rows[best] @ truth + coins.uniform(-0.3, 0.3, size=len(actions))
        learner.tell(actions.ids, values)
        gram = gram + len(actions) * np.outer(rows[best], rows[best])
        moment = moment + (values - 1.0).sum() * rows[best]
        played, rounds = played + len(actions), rounds + 1
    assert rounds == learner.round <= plan.most_rounds <= plan.rounds == learner.plan.rounds
    assert np.abs(moment).max() > 100


@every("privacy", [PURE, APPROXIMATE])
def test_the_ellipsoid_holds_the_truth_under_noise(privacy):
    """It fails with probability 1e-5 by the plan's own account; seeds are fixed."""
    truth = np.array([0.3, -0.3, 0.1, 0.0])
    for seed in range(3):
        learner = made(100_000, privacy, sv.SimulatedNoise(seed))
        plan, explorer = learner._confidence, learner._policy.first.explorer
        farthest = 0.0
        for _ in play(learner, truth, np.random.default_rng(seed)):
            gram = explorer.knowledge().gram + plan.ridge * np.eye(4)
            error = np.linalg.solve(gram, learner._policy.first.learner.released_sum) - truth
            width = plan.width(float(np.linalg.slogdet(gram / plan.ridge)[1]))
            farthest = max(farthest, float(error @ gram @ error) / width**2)
        assert 0.001 < farthest <= 1
        assert explorer.knowledge().events > 50_000


@every("family", ["laplace", "gaussian"])
@every("size, levels", [(1, 1), (4, 6), (30, 3)])
def test_noise_is_no_longer_than_planned(family, size, levels):
    """Of 40,000 draws at most one in 2 trials is longer, give or take six standard errors."""
    coins, trials = np.random.default_rng(0), 5
    draw = coins.laplace if family == "laplace" else coins.normal
    lengths = np.linalg.norm(draw(size=(40_000, levels, size)).sum(axis=1), axis=1)
    bound = _length_of_noise(family, size, levels, trials)
    assert (lengths > bound).mean() <= 1 / (2 * trials) + 6 * math.sqrt(0.1 / 40_000)
    assert bound < 12 * lengths.mean() + 12


@every("domain", [SUBSETS, sv.domains.Simplex(5), sv.domains.Birkhoff(3)])
def test_no_loss_has_a_longer_parameter_than_planned(domain):
    """Every affine function within B/2 of the middle is linear in the features, its parameter no longer than S."""
    vertices, features = few_vertices(domain), UnitFeatures.of(domain)
    rows, coins = features(vertices), np.random.default_rng(0)
    assert np.linalg.norm(rows, axis=1).max() <= 1 + 1e-12
    for _ in range(50):
        slope = domain.tangent(coins.standard_normal(domain.dimension))
        values = (vertices - domain.center) @ slope + coins.uniform(-1, 1)
        half = float(np.abs(values).max())
        theta, *_ = np.linalg.lstsq(rows, values, rcond=None)
        np.testing.assert_allclose(rows @ theta, values, atol=1e-9)
        assert np.linalg.norm(theta) <= features.largest_parameter(float(np.linalg.norm(slope)), half) + 1e-9


@every("privacy", [sv.PureDP(0.5), sv.PureDP(2.0, contributions=3), APPROXIMATE])
def test_the_scale_of_the_tree(privacy):
    """As many releases as a round has nodes compose to the guarantee, by dp-accounting."""
    source = Chosen()
    learner = made(50_000, privacy, source)
    bits, people = learner.plan.bits, privacy.contributions
    grid, steps = DirectionGrid(bits=bits), LossGrid(*RANGE, bits=bits).steps
    reached = levels(learner.plan.rounds)
    assert source.noise == learner.privacy.noise
    accountant = dp_accounting.pld.PLDAccountant(value_discretization_interval=1e-3)
    if isinstance(privacy, sv.PureDP):
        moved = people * steps * grid.largest_l1(4)
        accountant.compose(dp_accounting.LaplaceDpEvent(source.noise.scale / moved), reached)
        assert accountant.get_epsilon(1e-10) == pytest.approx(privacy.epsilon, rel=1e-2)
    else:
        moved = people * steps * grid.largest_l2(4)
        accountant.compose(dp_accounting.GaussianDpEvent(source.noise.scale / moved), reached)
        assert accountant.get_epsilon(1e-6) == pytest.approx(1.0, rel=1e-2)


def transcript(losses, numbers):
    learner, actions, sums = made(len(losses), noise=Chosen(numbers)), [], []
    watch_releases(learner, lambda _, values: sums.append(values))
    sizes = []
    while learner.remaining:
        asked = learner.ask_round()
        learner.tell(asked.ids, losses[asked.ids])
        actions.append(asked.x)
        sizes.append(len(asked))
    return np.concatenate(actions), np.array(sums), sizes, learner


@every("changed", [0, 3_000, 20_000, 29_999])
def test_one_loss_is_in_a_logarithm_of_nodes_and_moves_each_by_no_more_than_planned(changed):
    """Executable proof: shifting the noise of the nodes that hold the round undoes the change in all that is seen."""
    coins = np.random.default_rng(2)
    losses, numbers = coins.uniform(*RANGE, size=30_000), coins.integers(-(2**30), 2**30, size=10_000)
    actions, sums, sizes, learner = transcript(losses, numbers)
    assert len(sums) > 6
    grid, directions = LossGrid(*RANGE, bits=learner.plan.bits), DirectionGrid(bits=learner.plan.bits)
    other = losses.copy()
    other[changed] = RANGE[1] if losses[changed] < 1 else RANGE[0]
    row = directions.quantise(learner._features(actions[changed : changed + 1]))[0]
    move = int(grid.quantise(other[changed]) - grid.quantise(losses[changed])) * row
    assert np.abs(move).sum() <= grid.steps * directions.largest_l1(4)
    number = int(np.searchsorted(np.cumsum(sizes), changed, side="right")) + 1
    holding = [end for end in range(1, len(sizes)) if end - (end & -end) < number <= end]
    assert len(holding) <= levels(learner.plan.rounds)
    shifted = numbers.copy()
    for end in holding:
        shifted[4 * (end - 1) : 4 * end] -= move
    again, same, *_ = transcript(other, shifted)
    np.testing.assert_array_equal(again, actions)
    np.testing.assert_array_equal(same, sums)
    assert (len(holding) == 0) == (number == len(sizes))  # the last round is never released


def test_rounds_fit_the_tree_when_nothing_is_told_and_all_losses_come_home():
    horizon, coins = 40_000, np.random.default_rng(0)
    learner = made(horizon)
    actions = learner.ask(horizon)
    assert actions.wants_loss.all()
    for ids in np.array_split(coins.permutation(horizon), 20):
        learner.tell(ids, coins.uniform(*RANGE, size=len(ids)))
    assert learner.round <= learner._confidence.most_rounds < learner.plan.rounds
    assert len(learner.outstanding()) == 0


def test_it_learns_where_its_bound_says_that_it_does():
    learner = made(2_000_000, sv.ApproxDP(20.0, 1e-6))
    truth, coins, cost = np.array([0.3, -0.3, 0.2, 0.1]), np.random.default_rng(0), 0.0
    best = float((few_vertices(SUBSETS) / math.sqrt(2) @ truth).min())
    for actions in play(learner, truth, coins):
        cost += float((learner._features(actions.x) @ truth - best).sum())
    assert learner.plan.bound < learner.plan.no_learning / 4
    assert cost < learner.plan.bound / 3
    np.testing.assert_array_equal(learner.point, SUBSETS.extreme_point(truth))
