"""Frames and designs inside the optimizer: which losses are read, and where each of them goes."""

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.exploration import Probed
from sottovoce.learning.bandit.epoch import Epoch

CHOICES = sv.domains.Hypersimplex(6, 2)
RANGE = (-1.0, 3.0)
HORIZON = 2000


def linear(domain=CHOICES, *, integral=False, privacy=None, horizon=HORIZON, **choices):
    return sv.PrivateBandit(
        domain,
        horizon=horizon,
        loss_range=RANGE,
        privacy=privacy or sv.PureDP(1.0),
        losses="linear",
        integral=integral,
        exploration="designs",
        seed=5,
        noise=sv.SimulatedNoise(5),
        **choices,
    )


def frames(domain=CHOICES, *, privacy=None, horizon=HORIZON, **choices):
    choices = {"exploration": "frames", "directions": 3, "batch_size": 50, **choices}
    return sv.PrivateBandit(
        domain,
        horizon=horizon,
        loss_range=RANGE,
        privacy=privacy or sv.PureDP(1.0),
        seed=5,
        noise=sv.SimulatedNoise(5),
        **choices,
    )


KINDS = {
    "fractional": lambda **choices: linear(rate=0.1, probe_events=4, **choices),
    "integral": lambda **choices: linear(integral=True, rate=0.1, probe_events=4, **choices),
    "ball": lambda **choices: linear(sv.domains.Ball(4), rate=0.1, probe_events=4, **choices),
    "reads few": lambda **choices: linear(rate=0.002, probe_events=2, **choices),  # some blocks want no loss at all
}
ALL = {**KINDS, "frames": frames, "frames of odd size": lambda **choices: frames(batch_size=37, **choices)}


@pytest.fixture(params=KINDS.values(), ids=KINDS)
def design_run(request):
    return request.param


@pytest.fixture(params=ALL.values(), ids=ALL)
def run(request):
    return request.param


def play(optimizer, losses, *, size, unwanted):
    """Tell losses; those that are not wanted are replaced by `unwanted`, or left untold if it is None."""
    actions = []
    while optimizer.remaining:
        asked = optimizer.ask(min(size, optimizer.remaining)) if size else [optimizer.ask()]
        for_these = losses[optimizer.horizon - optimizer.remaining - len(asked) :][: len(asked)]
        if size:
            actions.append(asked.x)
            ids, wants = asked.ids, asked.wants_loss
            if unwanted is None:
                optimizer.tell(ids[wants], for_these[wants])
            else:
                optimizer.tell(ids, np.where(wants, for_these, unwanted))
        else:
            (action,) = asked
            actions.append(action.x[None, :])
            if action.wants_loss:
                optimizer.tell(action.id, float(for_these[0]))
            elif unwanted is not None:
                optimizer.tell(action.id, unwanted)
    return np.concatenate(actions)


@pytest.mark.parametrize("size", [None, 64, HORIZON], ids=lambda size: f"asked by {size}")
def test_losses_of_events_that_do_not_explore_are_never_read(design_run, size):
    """Infinity, NaN or nothing in their place: every action stays the same, bit for bit."""
    losses = np.random.default_rng(0).uniform(*RANGE, HORIZON)
    expected = play(design_run(), losses, size=size, unwanted=0.0)
    assert sum(np.ptp(expected, axis=0)) > 0  # something was played
    for unwanted in (np.inf, np.nan, None):
        np.testing.assert_array_equal(play(design_run(), losses, size=size, unwanted=unwanted), expected)


def test_losses_of_events_that_explore_are_read(design_run):
    losses = np.random.default_rng(0).uniform(*RANGE, HORIZON)
    one, other = (play(design_run(), values, size=64, unwanted=0.0) for values in (losses, -losses))
    assert (one != other).any()


def test_every_way_of_asking_explores_the_same_events(design_run):
    whole, single = design_run(), design_run()
    wanted = whole.ask(HORIZON).wants_loss
    assert [single.ask().wants_loss for _ in range(HORIZON)] == wanted.tolist()
    assert 0 < wanted.sum() < HORIZON / 2


def test_an_outstanding_loss_is_one_that_is_wanted(design_run):
    optimizer = design_run()
    actions = optimizer.ask(500)
    assert len(optimizer.outstanding()) == actions.wants_loss.sum()


class TestOneNumber:
    """What privacy rests on: every loss that is read is in one number of one round, with weight one."""

    def blocks(self, optimizer):
        coins = np.random.default_rng(1)
        epoch = Epoch(optimizer._problem, optimizer.plan, sv.SimulatedNoise(0))
        while not epoch.exhausted:
            yield epoch.open_block(coins)

    def test_events_partition_into_numbers(self, run):
        first = 0
        for block in self.blocks(run()):
            assert block.first == first  # no event is left out, none comes twice
            first += block.size
            weights = block.weights
            if weights is None:  # a block that wants nothing is finished at once
                assert not block.wants_loss.any()
                continue
            assert isinstance(weights, Probed)
            assert len(weights.index) == len(weights.sign) == block.size
            assert ((weights.index >= 0) & (weights.index < block.round.exploration.numbers)).all()
            np.testing.assert_array_equal(np.abs(weights.sign), block.wants_loss.astype(np.int64))
            for event in {0, block.size // 2, block.size - 1}:
                alone = np.zeros(block.size, dtype=np.int64)
                alone[event] = 7
                assert np.abs(weights.sum(alone)).sum() == 7 * int(block.wants_loss[event])
        assert first == HORIZON

    @pytest.mark.parametrize("ask", [64, HORIZON])
    def test_replacing_one_loss_moves_one_number_of_one_round_by_at_most_the_range(self, run, ask, monkeypatch):
        """Seen where the sums are handed over to be noised."""
        released = []
        release = Epoch.release

        def spy(epoch, complete, witness):
            released[-1].append(complete.complete().products.copy())
            release(epoch, complete, witness)

        monkeypatch.setattr(Epoch, "release", spy)
        rng = np.random.default_rng(2)
        losses = rng.uniform(*RANGE, HORIZON)
        wanted = run().ask(HORIZON).wants_loss
        events = rng.choice(np.flatnonzero(wanted), size=3, replace=False)
        changes = [None, *events, rng.choice(np.flatnonzero(~wanted)) if not wanted.all() else None]
        for event in changes:
            released.append([])
            told = losses.copy()
            if event is not None:
                told[event] = RANGE[0] if losses[event] > np.mean(RANGE) else RANGE[1]
            play(run(), told, size=ask, unwanted=None)
        steps = run().plan.grids(RANGE)[0].steps
        for event, sums in zip(changes[1:], released[1:], strict=True):
            moved = np.concatenate([np.abs(new - old) for new, old in zip(sums, released[0], strict=True)])
            reads = event is not None and wanted[event]
            assert (moved > 0).sum() == int(reads)
            assert moved.max() <= steps
            assert not reads or moved.max() >= steps // 2

    def test_a_round_has_exactly_its_probes_events(self, design_run):
        counts = {}
        for block in self.blocks(design_run()):
            counts.setdefault(id(block.round), [block.round, 0])[1] += int(block.wants_loss.sum())
        complete = [count for one, count in counts.values() if not one.last]
        assert set(complete) <= {design_run().plan.probe_events}


def test_directions_of_a_frame_are_tried_both_ways(monkeypatch):
    optimizer = frames(batch_size=60)
    seen = []
    release = Epoch.release

    def spy(epoch, complete, witness):
        seen.append(complete.complete().weights.copy())
        release(epoch, complete, witness)

    monkeypatch.setattr(Epoch, "release", spy)
    play(optimizer, np.zeros(HORIZON), size=64, unwanted=0.0)
    assert (np.array(seen) == 0).all()


@pytest.mark.parametrize("integral", [False, True])
def test_linear_losses_are_learned_privately(integral):
    """A few percent of the losses are enough to learn which 3 of 8 to choose, from losses that are 0 or 1 by lot."""
    domain, rng = sv.domains.Hypersimplex(8, 3), np.random.default_rng(3)
    odds = np.linspace(0.0, 0.3, 8)
    optimizer = sv.PrivateBandit(
        domain,
        horizon=100_000,
        loss_range=(0.0, 1.0),
        privacy=sv.PureDP(1.0),
        losses="linear",
        integral=integral,
        exploration="designs",
        seed=3,
        noise=sv.SimulatedNoise(3),
    )
    regret = read = 0.0
    while optimizer.remaining:
        actions = optimizer.ask_round()
        chances = actions.x @ odds
        regret += float((chances - odds[:3].sum()).sum())
        read += actions.wants_loss.sum()
        optimizer.tell(actions.ids, (rng.random(len(actions)) < chances).astype(float))
    assert read / 100_000 < 0.2
    assert regret / 100_000 < 0.2 * (3 * odds.mean() - odds[:3].sum())  # a fifth of what never learning costs
