"""When it is enough: said from a recommendation alone, and true where it is said."""

from dataclasses import replace

import numpy as np
import pytest

import sottovoce as sv
from optimizers import bandit

RATES = np.array([0.5, 0.42, 0.3, 0.45, 0.48])


def made(seed=1, horizon=20_000, **more):
    given = {"loss_range": (0.0, 2.0), "losses": "linear", "integral": True, "seed": seed, **more}
    return bandit(sv.domains.Simplex(list("abcde")), horizon, noise=sv.SimulatedNoise(seed), **given)


def play(optimizer, events, seed=0, **segment):
    actions = optimizer.ask(events, **segment)
    optimizer.tell(actions.ids, 2.0 * (np.random.default_rng(seed).random(events) < actions.x @ RATES))


def test_it_begins_with_no_and_ends_with_a_yes_that_holds():
    """The stated probability is 0.95; in 12 runs that stop at their first yes, 2 failures would be chance still."""
    wrong = 0
    for seed in range(12):
        optimizer = made(seed)
        first = optimizer.enough()
        assert not first
        assert (first.more, str(first)) == (None, "Not enough: nothing was released yet.")
        while not (found := optimizer.enough(within=0.05)):
            assert found.more is None or found.more >= 1
            play(optimizer, 500, seed * 1000 + optimizer.asked)
        assert (found.more, found.within) == (0, pytest.approx(0.1))
        wrong += RATES[optimizer.recommend().x.argmax()] - RATES.min() > 0.05
    assert wrong <= 2


def test_what_is_asked_for_decides(monkeypatch):
    optimizer = made(horizon=2_000)
    play(optimizer, 1_000)
    known = replace(optimizer.recommend(), shortfall=(0.02, 0.1))
    monkeypatch.setattr(optimizer, "recommend", lambda segment=None: known)
    shortfall = 0.1 / 2  # as a share of the range
    assert optimizer.enough(within=1.01 * shortfall)
    stricter, surer = optimizer.enough(within=0.99 * shortfall), optimizer.enough(0.99, within=1.01 * shortfall)
    assert not stricter
    assert not surer
    assert 0 < stricter.more < surer.more
    assert optimizer.enough(within=0.5 * shortfall).more > stricter.more
    assert "more events should do" in str(stricter)
    assert "are left" in str(optimizer.enough(within=0.01 * shortfall))
    for wrong in ({"certainty": 1.0}, {"within": 0.0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            optimizer.enough(**wrong)


def test_where_nothing_can_be_said_nothing_is(monkeypatch):
    blind = made(plan="worst-case")
    play(blind, 5_000)
    assert "no model" in str(blind.enough())
    optimizer = made()
    play(optimizer, 4_000)
    doubtful = replace(optimizer.recommend(), caution="released numbers speak against it")
    monkeypatch.setattr(optimizer, "recommend", lambda segment=None: doubtful)
    assert "does not fit: released numbers speak against it" in str(optimizer.enough(within=0.9))
    assert not optimizer.enough(within=0.9)


def test_of_several_segments_each_has_to_be_good_enough():
    optimizer = made(segments=["x", "y"])
    play(optimizer, 480, segment=["x"] * 400 + ["y"] * 80)
    few = optimizer.enough(within=0.9 / 80**0.5, segment="y")
    assert not few
    assert few.shortfall < few.within  # as far as others have shown
    assert (few.more, "has 80 events of its own, and takes 99 to" in few.why) == (19, True)
    play(optimizer, 1920, segment=["x"] * 1600 + ["y"] * 320)
    said = {
        within: [optimizer.enough(within=within, segment=one) for one in "xy"] for within in (0.03, 0.06, 0.12, 0.3)
    }
    for within, each in said.items():
        together = optimizer.enough(within=within)
        assert bool(together) == all(each)
        worst = max(2400 / optimizer.sizes[name] * one.more for name, one in zip("xy", each, strict=True))
        assert together.more == pytest.approx(worst, rel=0.2)  # so many events hold those of that segment
    assert {bool(one) for each in said.values() for one in each} == {True, False}
