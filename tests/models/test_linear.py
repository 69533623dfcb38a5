"""What is believed about linear losses: the model's own facts, and what is forgotten when the world changes."""

import math
from dataclasses import replace

import numpy as np
import pytest

import sottovoce as sv
from sampling import every
from sottovoce.models import LinearBelief, ModelSettings, Numbers
from sottovoce.models.changes import MEMORIES
from sottovoce.models.scatter import NO_SCATTER, scatter_of, variance_of

SLATE = sv.domains.Hypersimplex(8, 3)
LAPLACE, VARIANCES = math.sqrt(2), (1 / 400, 1 / 8, 1 / 4)  # the noise of a sum at epsilon = 1; of losses
PRIVATE = ModelSettings(
    40_000, 1.0, 0.5, LAPLACE, VARIANCES, probes=12, least=32, growth=0.1, cap=0.02, posterior_scale=1.0
)
FREE = replace(PRIVATE, noise=0.0, heavy=False)


def test_a_segment_with_few_events_explores_less_than_one_with_many_or_alone():
    scales = [replace(PRIVATE, segments=21, horizon=events).sample_scale for events in (300, 60_000, 10**6)]
    assert scales == sorted(scales)
    assert scales[0] < scales[1] < scales[2] == replace(PRIVATE, horizon=300).sample_scale == 1.0


def believing(settings=PRIVATE, domain=SLATE, **given):
    return LinearBelief(domain.extreme_point, domain.dimension, settings, **given)


def a_round(belief, passed, costs, coins):
    """Draw a round's decisions, and release what items that fail by lot, with these odds, say of them."""
    settings = belief.settings
    events = belief.pace.events(settings, passed)
    probes = belief.draw(settings.probes, passed, passed // (events * settings.probes), coins)
    odds = np.clip(probes * costs, 0, 1)
    sums = coins.binomial(events, odds).sum(axis=1) / 3 + coins.laplace(0, 1, len(probes)) * (settings.noise > 0)
    return Numbers(probes, sums / events, np.full(len(probes), float(events)), passed + events * len(probes))


def played(belief, worlds, seed):
    """Play a belief to its horizon, in worlds that share it equally; return when all was forgotten."""
    coins, passed, forgotten = np.random.default_rng(seed), 0, []
    while passed < belief.settings.horizon:
        costs = worlds[passed * len(worlds) // belief.settings.horizon]
        numbers, resets = a_round(belief, passed, costs, coins), belief.resets
        belief.learn(numbers)
        passed = numbers.end
        forgotten += [passed] * (belief.resets > resets)
    return forgotten


CHEAP_FIRST = np.linspace(0.1, 0.9, 8)
CHEAP_LAST = CHEAP_FIRST[::-1]


def some_rounds(seed, count=6, settings=PRIVATE):
    """Made-up rounds without duplicates: nothing is known of the variance beyond what was believed at first."""
    coins = np.random.default_rng(seed)
    rounds, every = [], np.array([SLATE.extreme_point(coins.standard_normal(8)) for _ in range(400)])
    distinct = np.unique(every, axis=0)
    for number in range(count):
        probes = coins.permutation(distinct)[: settings.probes]
        counts = coins.integers(30, 300, len(probes)).astype(float)
        means = probes @ CHEAP_FIRST / 3 + coins.standard_normal(len(probes)) * 0.05
        rounds.append(Numbers(probes, means, counts, (number + 1) * 2000))
    return rounds


# ---------------------------------------------------------------------- the model


@every("domain", [SLATE, sv.domains.Birkhoff(4), sv.domains.Simplex(5)])
@every("width", [1.0, 40.0])
def test_losses_of_random_vertices_lie_apart_as_the_prior_says(domain, width):
    """<theta, v - c> deviates by B/(4 sqrt(H)). Over 64 fixed vertices and 4,000 parameters: within a twentieth."""
    belief = believing(replace(PRIVATE, width=width), domain)
    coins = np.random.default_rng(0)
    vertices = np.array([domain.extreme_point(coins.standard_normal(domain.dimension)) for _ in range(64)])
    theta = belief.best_fit.sample(np.random.default_rng(1), 4000)[:, :-1]
    apart = ((vertices - belief.center) @ theta.T).std()
    entries = np.count_nonzero(vertices, axis=1).mean()
    assert apart == pytest.approx(width / (4 * math.sqrt(entries)), rel=0.05)


def test_memories_are_least_squares_with_faded_weights():
    belief = believing()
    rounds = some_rounds(1)
    for numbers in rounds:
        belief.learn(numbers)
    assert belief.resets == 0
    rows = np.concatenate([numbers.probes for numbers in rounds])
    means = np.concatenate([numbers.means for numbers in rounds]) - 0.5
    counts = np.concatenate([numbers.counts for numbers in rounds])
    ages = 12_000 - np.repeat([numbers.end for numbers in rounds], 12)
    features = np.column_stack([rows - belief.center, np.ones(len(rows))])
    prior = np.append(np.full(8, belief.prior.scale**-2), belief.prior.level**-2)
    for memory in MEMORIES:
        fit = belief._fit(memory)
        variances = 1 / 8 / counts + 2 / counts**2 + memory.wander**2  # no decision is twice in a round
        weights = np.exp(-ages / (memory.reach * 40_000)) / variances
        precision = np.diag(prior) + features.T @ (features * weights[:, None])
        assert np.allclose(fit.mean, np.linalg.solve(precision, features.T @ (weights * means)), rtol=1e-9, atol=1e-12)


# ---------------------------------------------------------------------- the variance


def varying(settings, spread, events, rounds, seed):
    """Return the variance that squares say of: of decisions whose means are anything, and losses that vary alike."""
    coins, found = np.random.default_rng(seed), NO_SCATTER
    probes, counts, noisy = np.eye(6), np.full(6, float(events)), float(settings.noise > 0)
    for number in range(rounds):
        means = coins.uniform(-0.2, 0.2, (6, 1))
        losses = means + spread * coins.uniform(-1, 1, (6, events)) * math.sqrt(3)
        sums = np.array([losses.sum(axis=1), (losses**2).sum(axis=1)]) + noisy * coins.laplace(0, 1, (2, 6))
        found = found + scatter_of(Numbers(probes, sums[0] / events, counts, number, sums[1] / events), settings)
    return variance_of(found, settings)


@pytest.mark.parametrize("spread", [0.03, 0.15])
def test_the_variance_comes_from_squares_however_decisions_differ(spread):
    """Squares of uniform losses deviate by .9 of their mean: within 5 standard errors, one that is added, and 2/8."""
    found = varying(replace(FREE, variances=(0.0, 1 / 8, 10.0)), spread, 50, 100, seed=3)
    error = 0.9 * spread**2 / math.sqrt(30_000) + 0.25 * spread / math.sqrt(30_000)
    assert abs(found - spread**2) < 5 * error + 2 / 8 / 30_000


def test_the_noise_of_privacy_is_not_taken_for_variance_of_losses():
    """Of a variance a tenth as large as the noise of a number is: one standard error is added; it is within three."""
    spread, events, rounds = 0.02, 50, 300
    found = varying(replace(PRIVATE, variances=(0.0, 1 / 8, 10.0)), spread, events, rounds, seed=4)
    error = math.sqrt(2 * 6 * rounds * 1.06) / (6 * rounds * events)
    assert error < 2 * spread**2
    assert abs(found - error - spread**2) < 3 * error


def test_few_events_say_no_more_of_the_variance_than_they_can():
    """A round of losses that happen to be the same: they may vary by what a few dozen events do not show."""
    belief = believing(FREE)
    probes = np.unique([SLATE.extreme_point(np.random.default_rng(0).standard_normal(8)) for _ in range(4)], axis=0)
    size = len(probes)
    belief.learn(Numbers(probes, np.full(size, 0.5), np.full(size, 24.0), 24 * size, np.zeros(size)))
    assert belief.variance > 1 / 1000


def test_a_number_of_a_decision_nearer_the_middle_of_the_range_counts_less():
    """Of losses that are 0 or 1 and fail at .1 and at .5: they vary by .09 and .25, as squares say on average."""
    belief = believing(FREE)
    good, bad = SLATE.extreme_point(CHEAP_FIRST), SLATE.extreme_point(CHEAP_LAST)
    probes, means = np.array([good] * 6 + [bad]), np.array([0.1] * 6 + [0.5])
    for end in (70_000, 140_000):
        belief.learn(Numbers(probes, means, np.full(7, 10_000.0), end, np.full(7, 0.25)))
    at_good, at_bad = belief._variances()[[0, 6]] * 10_000
    assert at_good == pytest.approx(0.09, rel=0.03)
    assert at_bad == pytest.approx(0.25, rel=0.03)


# ---------------------------------------------------------------------- change


def test_a_still_world_is_not_forgotten():
    """Twelve squared normal numbers average above 4 in one round of 300,000; there are some 900 rounds here."""
    for seed in range(12):
        belief = believing()
        assert played(belief, [CHEAP_FIRST], seed) == []
        assert np.array_equal(belief.leader, SLATE.extreme_point(CHEAP_FIRST))


@every("settings", [FREE, PRIVATE])
def test_a_switch_is_noticed_within_two_rounds(settings):
    for seed in range(4):
        belief = believing(settings)
        forgotten = played(belief, [CHEAP_FIRST, CHEAP_LAST], seed)
        assert 1 <= len(forgotten) <= 2
        assert 20_000 < forgotten[0] <= 20_000 + 2 * 0.02 * 40_000
        assert np.array_equal(belief.leader, SLATE.extreme_point(CHEAP_LAST))


def test_switches_go_on_being_noticed():
    """Doubling the limit for ever, every reset would make the next less likely: the tenth would never come."""
    belief = believing(replace(FREE, horizon=400_000))
    forgotten = played(belief, [CHEAP_FIRST, CHEAP_LAST] * 6, seed=1)
    noticed = {(passed - 1) * 12 // 400_000 for passed in forgotten}
    assert noticed == set(range(1, 12))


def test_a_world_that_flips_every_round_is_averaged_after_a_while():
    """Surprise that is usual is no news: resets stop, and the best decision on average is found."""
    belief, coins, passed = believing(replace(FREE, horizon=400_000)), np.random.default_rng(6), 0
    tilt = np.array([0.3, -0.3] * 4)
    steady = np.array([0.35, 0.35, 0.35, 0.65, 0.65, 0.65, 0.65, 0.65])
    number, last = 0, 0
    while passed < 400_000:
        numbers, resets = a_round(belief, passed, steady + tilt * (-1) ** number, coins), belief.resets
        belief.learn(numbers)
        passed, number = numbers.end, number + 1
        last = passed if belief.resets > resets else last
    assert last < 200_000
    assert np.array_equal(belief.leader, SLATE.extreme_point(steady))


def test_steady_drift_is_followed_by_a_memory_that_fades():
    belief, coins, passed = believing(replace(FREE, horizon=400_000)), np.random.default_rng(7), 0
    reaches = []
    while passed < 400_000:
        share = passed / 400_000
        numbers = a_round(belief, passed, (1 - share) * CHEAP_FIRST + share * CHEAP_LAST, coins)
        belief.learn(numbers)
        passed = numbers.end
        reaches.append(MEMORIES[belief.memory_in_use].reach)
    assert min(reaches) < 1
    assert np.array_equal(belief.leader, SLATE.extreme_point(CHEAP_LAST))
