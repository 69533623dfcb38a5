"""What every model of losses promises: it follows from released numbers alone, is kept in full, and can go back."""

from dataclasses import replace

import numpy as np

import sottovoce as sv
from sampling import every
from sottovoce.models import LinearBelief, ModelSettings, Numbers, RadialBelief

SETTINGS = ModelSettings(20_000, 1.0, 0.5, 2**0.5, (1 / 400, 1 / 8, 1 / 4), 12, 32, 0.1, 0.02, 1.0)
PATHS = sv.domains.Paths([(0, 1), (0, 2), (1, 3), (2, 3), (1, 4), (2, 4), (3, 5), (4, 5), (0, 5)], source=0, target=5)


def linear(domain, settings=SETTINGS):
    return LinearBelief(domain.extreme_point, domain.dimension, settings)


MADE = [
    (linear, sv.domains.Hypersimplex(8, 3), SETTINGS),
    (linear, sv.domains.Hypersimplex(700, 3), replace(SETTINGS, least=200)),  # as many coordinates as are kept by rows
    (RadialBelief, sv.domains.Ball(3), SETTINGS),
    (RadialBelief, PATHS, SETTINGS),
    (RadialBelief, sv.domains.Simplex(120), SETTINGS),
]
every_model = every("make, domain, settings", MADE)


def play(belief, domain, end, passed=0, seed=1):
    """Play up to some event, of a world that turns round at half of the horizon; return all numbers."""
    coins, luck, horizon, released = np.random.default_rng([seed, 1]), np.random.default_rng([seed, 2]), 20_000, []
    slopes = np.resize(np.linspace(0.1, 0.9, 8), domain.dimension) / 3
    while passed < end:
        count = belief.pace.events(belief.settings, passed)
        probes = belief.draw(belief.settings.probes, passed, 0, coins)
        means = 0.4 + probes @ (slopes if passed < horizon / 2 else slopes[::-1]) / 2
        means += luck.normal(0, 0.4 / count**0.5, len(probes)) + luck.laplace(0, 1, len(probes)) / count
        passed += count * len(probes)
        released.append(Numbers(probes, means, np.full(len(probes), float(count)), passed))
        belief.learn(released[-1])
    return released


def same(one, other, atol=0.0):
    np.testing.assert_allclose(one.leader, other.leader, rtol=0, atol=atol)
    assert one.pace == other.pace
    assert one.resets == other.resets


@every_model
def test_what_is_remembered_goes_on_to_the_last_bit(make, domain, settings):
    belief = make(domain, settings)
    passed = play(belief, domain, 12_000)[-1].end
    other = make(domain, settings)
    other.remember(
        {name: np.array(one) if isinstance(one, np.ndarray) else one for name, one in belief.memory().items()}
    )
    for one in (belief, other):
        play(one, domain, passed + 4000, passed, seed=7)
    same(belief, other)
    assert all(np.array_equal(value, other.memory()[name]) for name, value in belief.memory().items())


@every_model
def test_what_is_believed_is_a_function_of_released_numbers_alone(make, domain, settings):
    """The order of questions, and drawing in between, change nothing; going back undoes a round."""
    first, again = make(domain, settings), make(domain, settings)
    for numbers in play(first, domain, 4000):
        before, leader = again.knowledge(), again.leader
        again.learn(replace(numbers, means=np.ones(len(numbers.means))))
        again.go_back(before)
        assert np.array_equal(again.leader, leader)
        again.draw(3, numbers.end, 0, np.random.default_rng(99))
        again.certainty(again.leader, 3)
        again.learn(numbers)
    same(first, again, atol=1e-7)


@every_model
def test_a_longer_epoch_begins_with_what_the_one_before_it_knew(make, domain, settings):
    """The same numbers under a longer horizon: rounds are as long at once as all those events deserve."""
    first, later = make(domain, settings), make(domain, replace(settings, horizon=40_000))
    play(first, domain, 10_000)
    later.carry_over(first, 10_000)
    assert np.array_equal(later.measurements.ends, first.measurements.ends - 10_000)
    assert np.linalg.norm(later.leader - first.leader) <= 0.2 * domain.diameter
    assert later.pace.since == first.pace.since - 10_000
    assert later.pace.events(later.settings, 0) >= first.pace.events(settings, 9_000)
