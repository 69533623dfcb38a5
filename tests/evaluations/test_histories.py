"""What is released of evaluations hides one loss: neighbours differ in one number, by a loss; noise is fresh."""

import random

import numpy as np
import pytest

import sottovoce as sv

GRID = 2**18


def conducted(url, name, seed, losses):
    """Play a history that public coins decide alone, with these losses; return all that is ever shown, and totals."""
    rng, shown = random.Random(seed), []
    making = {"loss_range": (0.0, 1.0), "privacy": sv.PureDP(1.0), "seed": seed, "patience": 10}
    with sv.PrivateEvaluations(storage=url, name=name, noise=sv.SimulatedNoise(seed), **making) as evaluations:
        waiting, told = [], iter(losses)
        for _ in range(60):
            if sum(one.remaining for one in evaluations.open_evaluations) < 8:
                evaluations.open(events=rng.randrange(3, 12))
            call = rng.choice(("assign", "assign", "assign", "tell", "tell", "next", "forget", "close"))
            opened = [one for one in evaluations.open_evaluations if one.remaining]
            if call == "assign":
                met, person = evaluations.assign()
                shown.append(met.number)
                waiting.append(person)
            elif call == "tell" and waiting:
                shown.append(evaluations.tell(waiting.pop(rng.randrange(len(waiting))), next(told), late="drop"))
            elif call == "next":
                rng.choice(opened).tell(next(told))
            elif call == "forget" and waiting:
                shown.append(evaluations.forget(waiting.pop()))
            elif call == "close" and (one := rng.choice(opened)).assigned:
                one.close()
            shown.append([(one.number, one.assigned, len(one.outstanding)) for one in evaluations.open_evaluations])
            shown.append([(one.number, one.events) for one in evaluations.results])
        return shown, {one.number: one.total for one in evaluations.results}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("where", ["memory", "sqlite"])
def test_one_loss_moves_one_number_by_a_loss_and_nothing_else(seed, where, request):
    url = None if where == "memory" else request.getfixturevalue("sqlite_url")
    rng = np.random.default_rng(seed)
    losses = rng.integers(0, GRID + 1, 60) / GRID
    shown, totals = conducted(url, "here", seed, losses)
    assert len(totals) > 2
    moved = []
    for person in range(0, 16, 4):
        other = losses.copy()
        other[person] = 1.0 if losses[person] < 0.5 else 0.0
        shown_there, totals_there = conducted(url, f"neighbour {person}", seed, other)
        assert shown_there == shown
        assert totals_there.keys() == totals.keys()
        changes = [totals_there[number] - totals[number] for number in totals if totals_there[number] != totals[number]]
        assert changes in ([], [round((other[person] - losses[person]) * GRID)])
        assert all(abs(one) <= GRID for one in changes)
        moved += changes
    assert moved  # some are in a sum that was released


def test_every_number_has_noise_of_its_own_and_enough_of_it(sqlite_url, opened):
    """Secure noise has no seed: the mean of 300 |Laplace| of scale b is within 7 standard errors of b but for 1e-10."""
    evaluations = opened(sqlite_url, loss_range=(0.0, 1.0), privacy=sv.PureDP(0.5))
    for _ in range(300):
        evaluations.open(events=1).tell(0.5)
    noise = np.array([one.total - GRID // 2 for one in evaluations.results])
    scale = GRID / 0.5
    assert evaluations.results[0].scale.noise.scale == pytest.approx(scale)
    assert abs(np.abs(noise).mean() - scale) < 7 * scale / np.sqrt(300)
    assert len(np.unique(noise)) > 290
    again = opened(sqlite_url, name="again", loss_range=(0.0, 1.0), privacy=sv.PureDP(0.5)).open(events=1)
    again.tell(0.5)
    assert again.result.total - GRID // 2 != noise[0]  # it comes from no seed; alike by chance once in a million
