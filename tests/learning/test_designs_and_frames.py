"""Frames and designs inside the optimizer: which losses are read, and where each of them goes."""

import numpy as np
import pytest

import sottovoce as sv
from optimizers import bandit
from sottovoce.learning import policy

CHOICES = sv.domains.Hypersimplex(6, 2)
RANGE = (-1.0, 3.0)
HORIZON = 2000
DESIGNS = {"losses": "linear", "exploration": "designs", "rate": 0.1, "probe_events": 4}
FRAMES = {"exploration": "frames", "directions": 3, "batch_size": 50}
KINDS = {
    "fractional": (CHOICES, DESIGNS),
    "integral": (CHOICES, DESIGNS | {"integral": True}),
    "ball": (sv.domains.Ball(4), DESIGNS),
    "reads few": (CHOICES, DESIGNS | {"rate": 0.002, "probe_events": 2}),  # some blocks want no loss at all
    "frames": (CHOICES, FRAMES),
    "frames of odd size": (CHOICES, FRAMES | {"batch_size": 37}),
}


def play(optimizer, losses, size):
    """Tell the losses that are wanted, and no others."""
    while optimizer.remaining:
        asked = optimizer.ask(min(size, optimizer.remaining))
        for_these = losses[optimizer.horizon - optimizer.remaining - len(asked) :][: len(asked)]
        optimizer.tell(asked.ids[asked.wants_loss], for_these[asked.wants_loss])


@pytest.mark.parametrize("ask", [64, HORIZON])
@pytest.mark.parametrize("kind", KINDS)
def test_replacing_one_loss_moves_one_number_of_one_round_by_at_most_the_range(kind, ask, monkeypatch):
    """What privacy rests on, seen where the sums are handed over to be noised; what is not wanted is in none."""
    released, draw_noise = [], policy.draw_noise

    def spy(epoch, sums, *arguments):
        released[-1].append(sums.copy())
        return draw_noise(epoch, sums, *arguments)

    def run():
        domain, options = KINDS[kind]
        return bandit(domain, HORIZON, noise=sv.SimulatedNoise(5), loss_range=RANGE, seed=5, **options)

    monkeypatch.setattr(policy, "draw_noise", spy)
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
        play(run(), told, ask)
    steps = run().plan.grids(RANGE)[0].steps
    for event, sums in zip(changes[1:], released[1:], strict=True):
        moved = np.concatenate([np.abs(new - old) for new, old in zip(sums, released[0], strict=True)])
        reads = event is not None and wanted[event] and event < last
        assert (moved > 0).sum() == int(reads)
        assert moved.max() <= steps
        assert not reads or moved.max() >= steps // 2
