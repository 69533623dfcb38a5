"""Frames and designs inside the optimizer: which losses are read, and where each of them goes."""

import numpy as np
import pytest

import sottovoce as sv
from optimizers import bandit
from sottovoce._sums import Probed
from sottovoce.learning import policy

CHOICES = sv.domains.Hypersimplex(6, 2)
RANGE = (-1.0, 3.0)
HORIZON = 2000


def linear(domain=CHOICES, **choices):
    return frames(
        domain, **{"losses": "linear", "exploration": "designs", "directions": None, "batch_size": None} | choices
    )


def frames(domain=CHOICES, **choices):
    given = {"exploration": "frames", "directions": 3, "batch_size": 50, "loss_range": RANGE, "seed": 5} | choices
    given = {name: one for name, one in given.items() if one is not None}
    return bandit(domain, HORIZON, noise=sv.SimulatedNoise(5), **given)


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
    """NaN or nothing in their place: every action stays the same, bit for bit."""
    losses = np.random.default_rng(0).uniform(*RANGE, HORIZON)
    expected = play(design_run(), losses, size=size, unwanted=0.0)
    assert sum(np.ptp(expected, axis=0)) > 0  # something was played
    for unwanted in (np.nan, None):
        np.testing.assert_array_equal(play(design_run(), losses, size=size, unwanted=unwanted), expected)


def test_losses_of_events_that_explore_are_read(design_run):
    losses = np.random.default_rng(0).uniform(*RANGE, HORIZON)
    released = []
    for values in (losses, -losses):
        optimizer = design_run()
        play(optimizer, values, size=64, unwanted=0.0)
        released.append([one.numbers for one in optimizer._store.releases(0, 0) if one.numbers is not None])
    assert released[0]
    assert any((one != other).any() for one, other in zip(*released, strict=False))


class TestOneNumber:
    """What privacy rests on: every loss that is read is in one number of one round, with weight one."""

    def test_events_partition_into_numbers(self, run):
        optimizer = run()
        actions = optimizer.ask(HORIZON)
        assert actions.ids.tolist() == list(range(HORIZON))  # no event is left out, none comes twice
        first = 0
        for played in rounds_of(optimizer):
            for weights in weights_of(played):
                wanted = actions.wants_loss[first : first + len(weights.index)]
                first += len(wanted)
                assert isinstance(weights, Probed)
                assert ((weights.index >= 0) & (weights.index < played.exploration.numbers)).all()
                np.testing.assert_array_equal(np.abs(weights.sign), wanted.astype(np.int64))
                for event in {0, len(wanted) // 2, len(wanted) - 1}:
                    alone = np.zeros(len(wanted), dtype=np.int64)
                    alone[event] = 7
                    assert np.abs(weights.sum(alone)).sum() == 7 * int(wanted[event])
        assert first == HORIZON

    @pytest.mark.parametrize("ask", [64, HORIZON])
    def test_replacing_one_loss_moves_one_number_of_one_round_by_at_most_the_range(self, run, ask, monkeypatch):
        """Seen where the sums are handed over to be noised."""
        released = []
        spy_on_sums(monkeypatch, lambda sums: released[-1].append(sums.copy()))
        rng = np.random.default_rng(2)
        losses = rng.uniform(*RANGE, HORIZON)
        whole = run()
        wanted = whole.ask(HORIZON).wants_loss
        last = whole._store.open_rounds()[-1].round.position  # whose sums are never released
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
            reads = event is not None and wanted[event] and event < last
            assert (moved > 0).sum() == int(reads)
            assert moved.max() <= steps
            assert not reads or moved.max() >= steps // 2


def rounds_of(optimizer):
    """The rounds that are open, in order."""
    return [played for _, played in sorted(optimizer._policy.streams[0].rounds.items())]


def weights_of(played):
    """How the slots of a round add up, chunk by chunk."""
    return [weights for _, (_, _, weights) in sorted(played.chunks.items())]


def spy_on_sums(monkeypatch, see):
    draw_noise = policy.draw_noise

    def spy(epoch, sums, *arguments):
        see(sums)
        return draw_noise(epoch, sums, *arguments)

    monkeypatch.setattr(policy, "draw_noise", spy)
