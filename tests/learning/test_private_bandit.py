"""What Algorithm 1 promises: it is NoisyOCO, its privacy is where the proof says, and it learns."""

import copy
import pickle

import numpy as np
import pytest
from watching import watch_releases

import sottovoce as sv
from children import is_refused_after_a_fork
from sampling import every
from sottovoce.errors import CopyRefused
from sottovoce.learning.learners import FreshGradient, ReleasedRound, RunningTotal
from sottovoce.oco.noisy_oco import MirrorStep, NoisyOCO
from sottovoce.oco.steps import AdaptiveStep
from sottovoce.plans.designs import Designs
from sottovoce.plans.frames import Frames
from sottovoce.plans.placement import Placement
from sottovoce.plans.sphere import Spheres
from sottovoce.privacy import ExactSum, FreshSums, ProbeSums, SimulatedNoise, TreeAggregator

DOMAINS = [
    sv.domains.Ball(3),
    sv.domains.Simplex(4),
    sv.domains.Hypersimplex(5, 2),
    sv.domains.Box(-1.0, 2.0, dimension=2),
]


def make(domain=DOMAINS[0], **options):
    defaults = {"horizon": 400, "loss_range": (-1.0, 3.0), "privacy": sv.PureDP(1.0), "seed": 5, "plan": "paper"}
    return sv.PrivateBandit(domain, **{**defaults, "noise": SimulatedNoise(2), **options})


def play(optimizer, loss):
    """Return every action and point of a run."""
    actions, points = [], []
    while optimizer.remaining:
        block = optimizer.ask_round()
        points.append(optimizer.point)
        actions.append(block.x)
        optimizer.tell(block.ids, loss(block.ids, block.x))
    return np.concatenate(actions), np.array(points)


def linear(ids, x):
    return x @ np.linspace(1.0, -1.0, x.shape[1]) + 0.1 * np.sin(ids)


def told(optimizer, size):
    """Ask for so many, tell their losses, and return them."""
    block = optimizer.ask(size=size)
    optimizer.tell(block.ids, linear(block.ids, block.x))
    return block


LINEAR = {"exploration": "designs", "losses": "linear"}
CONFIGURATIONS = [
    {"plan": "paper"},
    {"mechanism": "tree"},
    {"mechanism": "fresh"},
    {"exploration": "frames"},
    {"exploration": "frames", "position": "rounded"},
    LINEAR,
]


def by_hand(domain, plan, play_mode):
    """A run put together from the library's parts: the explorer, and NoisyOCO around it."""
    placement = Placement(domain, sv.domains.Rounded(domain) if plan.position == "rounded" else None)
    losses, grid = plan.grids((-1.0, 3.0))
    source = SimulatedNoise(2)
    if plan.exploration == "sphere":
        own = {"quantise": grid.quantise, "step": grid.step}
        explorer = Spheres(placement, plan.radius, plan.batch_size, play_mode, plan.baseline, **own)
    elif plan.exploration == "frames":
        own = {"directions": plan.directions}
        explorer = Frames(placement, plan.radius, plan.batch_size, play_mode, plan.baseline, **own)
    else:
        noise = plan.noise.standard_deviation * losses.step if plan.noise else 0.0
        explorer = Designs(placement, plan.options, 400, middle=1.0, spread=1.0, noise=noise, loss_variance=1.0)
    radius = domain.outer_radius if plan.position == "plain" else placement.working.likely_outer_radius
    step = AdaptiveStep(radius, plan.step_multiplier) if plan.step is None else plan.step
    options = {
        "step": step,
        "delay": plan.delay,
        "point_map": MirrorStep(placement.working, method=plan.method, gap=plan.gap, max_calls=plan.max_calls),
    }
    if plan.noise is None:
        release = ExactSum(1).release
    elif plan.exploration != "sphere":
        release = ProbeSums(source.sampler(plan.noise)).release
    elif plan.mechanism == "fresh":
        release = FreshSums(placement.working.dimension, source.sampler(plan.noise)).release
    else:
        tree = TreeAggregator(plan.rounds, placement.working.dimension, source.sampler(plan.noise))
        total = RunningTotal(tree, losses, explorer.gradient)
        learner = NoisyOCO(placement.working, gradient=lambda released, point: released, total=total, **options)
        return explorer, learner, losses, tree.add
    return explorer, NoisyOCO(placement.working, gradient=FreshGradient(losses), **options), losses, release


GUARANTEES = [sv.NoPrivacy(), sv.PureDP(1.0), sv.ApproxDP(1.0, 1e-6), sv.ZCDP(0.5)]
MIRRORED = [  # any two of them together at least once: a Latin square, and both ways of playing for each
    (DOMAINS[column], GUARANTEES[(row + column) % 4], choices, ("inside", "around")[(row + column // 2) % 2])
    for row, choices in enumerate(CONFIGURATIONS)
    for column in range(4)
]


@every("domain, privacy, choices, play_mode", MIRRORED)
def test_it_is_noisy_oco_to_the_last_bit(domain, privacy, choices, play_mode):
    """Assembled by hand from the plan's numbers and the library's parts, with the same coins and the same noise."""
    optimizer = make(domain, privacy=privacy, **{"plan": "auto", "play": play_mode, **choices})
    actions, _ = play(optimizer, linear)
    explorer, learner, losses, release = by_hand(domain, optimizer.plan, play_mode)
    coins = make(domain, privacy=privacy, **{"plan": "auto", "play": play_mode, **choices})._policy.coins
    passed = 0
    while passed < 400:
        size = min(explorer.round_size(passed), 400 - passed)
        exploration = explorer.begin(learner.point(), passed, size, coins(0, learner.observed))
        draw = exploration.draw(coins(0, learner.observed, 0), 0, size)
        ids = np.arange(passed, passed + size)
        assert np.array_equal(draw.actions, actions[ids])
        passed += size
        if passed < 400:
            told = np.where(True if draw.wants_loss is None else draw.wants_loss, linear(ids, draw.actions), 0.0)
            integers = losses.quantise(told)
            numbers = release(draw.weights.sum(integers))
            learner.observe(ReleasedRound(exploration, numbers, draw.weights.total()))


@every("choices", [{"mechanism": "tree"}, {"mechanism": "fresh"}, {"exploration": "frames", "batch_size": 21}, LINEAR])
@every("privacy", [sv.NoPrivacy(), sv.PureDP(5.0)])
def test_losses_and_their_range_may_be_shifted_together(choices, privacy):
    """The grid counts losses from the low end of their range; what is learned must not depend on where that is."""
    options = {"plan": "auto", "privacy": privacy, **choices}
    here, _ = play(make(**options), linear)
    there, _ = play(make(**options, loss_range=(9.0, 13.0)), lambda ids, x: linear(ids, x) + 10.0)
    assert not np.allclose(here[-20:], here[:20], atol=1e-2)  # it does learn something
    assert np.allclose(here, there, atol=1e-3)


def test_public_coins_and_noise_never_share_a_stream():
    """Equal seeds: the uniform numbers behind directions and noise are unrelated."""
    source = SimulatedNoise(5)
    sampler = source.sampler(make().plan.noise)
    noise_stream = sampler._generator.bit_generator.random_raw(1000)
    coins = make(seed=5)._policy.coins
    for each in (coins(0, 0), coins(0, 0, 0), coins(1, 0), coins(0, 1, 2)):
        assert not np.intersect1d(noise_stream, each.bit_generator.random_raw(1000)).size


class TestOneCopyOnly:
    @pytest.fixture
    def real(self):
        return make(noise=sv.SecureNoise())

    @every("attempt", [copy.copy, copy.deepcopy, pickle.dumps])
    def test_real_noise_refuses_to_be_copied(self, real, attempt):
        with pytest.raises(CopyRefused, match="two noises"):
            attempt(real)

    def test_real_noise_refuses_to_be_used_after_a_fork(self, real):
        action = real.ask()
        for call in (
            *(real.ask, real.ask_round, lambda: real.tell(action.id, 0.5), lambda: real.forget([action.id])),
            *(lambda: real.ask(size=3), lambda: real.tell([action.id], [0.5])),
        ):
            assert is_refused_after_a_fork(call)
        real.tell(action.id, 0.5)  # the parent goes on

    @every("attempt", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
    @every("options", [{}, {"privacy": sv.NoPrivacy(), "noise": None}, {"horizon": None}])
    def test_simulated_and_public_ones_copy_freely(self, attempt, options):
        one = make(**options)
        block = one.ask(size=33)
        one.tell(block.ids[:30], linear(block.ids, block.x)[:30])
        two = attempt(one)
        for optimizer in (one, two):
            optimizer.tell(block.ids[30:], linear(block.ids, block.x)[30:])
        ours, theirs = ([told(optimizer, 7).x for _ in range(40)] for optimizer in (one, two))
        assert np.array_equal(ours, theirs)


class TestDoubling:
    def test_an_epoch_starts_where_the_last_one_ended(self):
        optimizer = make(horizon=None, privacy=sv.NoPrivacy())
        while optimizer.plan.horizon == 256:
            last = optimizer._policy.current()
            block = optimizer.ask_round()
            optimizer.tell(block.ids, linear(block.ids, block.x))
        assert np.allclose(optimizer.point, last.learner.point(last.counts[1]))
        assert not np.allclose(optimizer.point, optimizer.domain.center)

    def test_losses_are_summed_on_the_grid_of_their_epoch_which_its_noise_is_for(self, monkeypatch):
        """Epochs so long that sums would overflow have a coarser grid, and less noise on it: no loss may be larger."""
        monkeypatch.setattr("sottovoce.privacy.grid.LARGEST_SUM", 384 * 2**36)
        optimizer = make(horizon=None, plan="auto", privacy=sv.NoPrivacy(), losses="linear", integral=True)
        sums = {}
        watch_releases(optimizer, lambda one, numbers: sums.setdefault(one.public["before"], []).append(numbers))
        bits = {}
        for _ in range(12):
            block = optimizer.ask_round()
            bits[optimizer.plan.horizon] = optimizer.plan.bits
            optimizer.forget(block.ids[:1])
            optimizer.tell(block.ids[1:], np.full(len(block) - 1, 3.0))
        assert bits == {256: 18, 512: 17}
        events = {one.round.public["before"]: 0 for one in optimizer._store.releases(0, 0)}
        for one in optimizer._store.releases(0, 0):
            if one.numbers is not None:
                events[one.round.public["before"]] += one.round.size - 0.5  # the forgotten one is in the middle
        for before, steps in ((0, 2**18), (256, 2**17)):
            assert sum(map(np.sum, sums[before])) == events[before] * steps
