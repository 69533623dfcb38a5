"""From runs to a forecast: laws that are known are read off, and extrapolated."""

import math

import pytest

from sampling import every
from sottovoce.rehearsal._reading import Shares, price_between

LENGTHS = [400, 3200, 25_600]


def law(exponent, at=0.2, worlds=(0.8, 1.0, 1.25)):
    """Shares that fall as a power of the length; `at` is that of the longest, in the middle world."""
    return [[one * at * (length / LENGTHS[-1]) ** exponent for one in worlds] for length in LENGTHS]


def test_a_power_law_is_continued():
    shares = Shares(LENGTHS, law(-0.7))
    for length in (*LENGTHS, 10**6):
        expected = 0.2 * (length / LENGTHS[-1]) ** -0.7
        assert shares.at(length).central == pytest.approx(expected, rel=1e-9)


def test_the_spread_covers_the_worlds_and_grows_with_what_is_not_known():
    shares = Shares(LENGTHS, law(-0.7, worlds=(0.5, 1.0, 2.0)))
    here, far = shares.at(LENGTHS[-1]), shares.at(10**8)
    assert here.low < 0.5 * 0.2
    assert here.high > 2.0 * 0.2
    assert far.high / far.low > 1.5 * here.high / here.low


@every("share", [0.5, 0.1, 0.01])
def test_the_length_for_a_share_is_where_the_share_is(share):
    shares = Shares(LENGTHS, law(-0.7))
    length = shares.length_for(share)
    assert shares.at(length.central).central == pytest.approx(share, rel=1e-3)
    assert shares.at(length.low).low == pytest.approx(share, rel=1e-3)
    assert shares.at(length.high).high == pytest.approx(share, rel=1e-3)


def test_a_share_that_never_falls_or_rose_by_chance_is_never_learned_and_none_falls_faster_than_one_over_the_events():
    assert math.isinf(Shares(LENGTHS, [[1.1, 1.0]] * 3).length_for(0.5).central)
    assert Shares([100, 800], [[0.9, 0.8], [1.0, 1.0]]).exponent == 0.0
    assert Shares([100, 200], [[0.9], [0.01]]).exponent >= -1.0


def test_a_price_is_a_ratio_and_never_less_than_one():
    private, free = Shares(LENGTHS, law(-0.7)), Shares(LENGTHS, law(-0.7, at=0.05))
    assert price_between(private, free, LENGTHS[-1]).central == pytest.approx(4.0)
    assert price_between(free, private, LENGTHS[-1]).central == 1.0


@pytest.mark.parametrize("lengths", [[300], [300, 1200]])
def test_from_runs_that_barely_learn_no_length_is_told(lengths):
    """One short run that learned nothing was extrapolated as if it had begun to learn: half of it in 810 events."""
    found = Shares(lengths, [[0.99, 1.01]] * len(lengths)).length_for(0.5)
    assert (found.central, found.low, found.high) == (math.inf, lengths[-1], math.inf)
    assert math.isfinite(Shares(lengths, [[0.6, 0.6]] * (len(lengths) - 1) + [[0.55, 0.55]]).length_for(0.5).central)
