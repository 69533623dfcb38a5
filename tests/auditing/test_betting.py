"""Bets against a claim: right claims are rarely refuted, however often one looks; wrong ones soon."""

import math

import numpy as np
import pytest
from scipy.special import factorial
from scipy.stats import norm

import sottovoce as sv
from sottovoce.auditing.attacks.betting import Guesses, claim_of, least, log_wealth, log_wealths, outcomes, refuted

PURE = claim_of(sv.PureDP(1.0))
GAUSSIAN = claim_of(sv.ZCDP(0.5))
APPROXIMATE = claim_of(sv.ApproxDP(1.0, 0.01), gaussian_noise=False)


def guessed(right, wrong, shape, coins):
    """Outcomes of guesses that are right, wrong or not made with these probabilities."""
    drawn = coins.random(shape)
    return (drawn < right).astype(int) - ((drawn >= right) & (drawn < right + wrong))


def of_laplace(epsilon):
    return 0.5, 0.5 * math.exp(-epsilon)


def of_gaussian(mu):
    return float(norm.cdf(mu / 2)), float(norm.cdf(-mu / 2))


def of_approximate(epsilon, delta=0.01):
    """Randomised response that gives everything away with probability delta."""
    wrong = (1 - delta) / (1 + math.exp(epsilon))
    return 1 - wrong, wrong


def trial_chances(right, wrong, people):
    """Of every outcome of a trial about so many people."""
    rights, wrongs = outcomes(people)
    none = people - rights - wrongs
    ways = factorial(people) / factorial(rights) / factorial(wrongs) / factorial(none)
    return ways * right**rights * wrong**wrongs * max(1 - right - wrong, 0.0) ** none


CLAIMS = [(PURE, of_laplace(1.0), 1), (GAUSSIAN, of_gaussian(1.0), 4), (APPROXIMATE, of_approximate(1.0), 1)]
NAMES = ["pure", "Gaussian", "approximate"]


@pytest.mark.parametrize(("claim", "chances", "people"), CLAIMS, ids=NAMES)
def test_whoever_looks_after_every_block_rarely_refutes_a_right_claim(claim, chances, people):
    """At an error of 0.1, with 100 looks: more than 240 alarms in 2,000 would have probability below 10^-2."""
    coins = np.random.default_rng(1)
    blocks = coins.multinomial(25, trial_chances(*chances, people), (2000, 100)).cumsum(axis=1)
    like = Guesses(np.zeros((people + 1, people + 1), dtype=int), rare=chances[1])
    wealth = np.array([log_wealths(claim, like, looks).max() for looks in blocks])
    assert (wealth >= math.log(10)).sum() <= 240
    final = log_wealths(claim, like, blocks[:, -1])
    assert (final >= math.log(10)).sum() < (wealth >= math.log(10)).sum()  # who looks often does see more, and pays


def test_a_bet_that_depends_on_what_was_seen_before_gains_nothing():
    """One attack while ahead, another while behind; 25 alarms of 100 at 0.1 have probability below 10^-4."""
    coins = np.random.default_rng(2)
    alarms = 0
    for _ in range(100):
        evidence = []
        for number in range(8):
            ahead = log_wealth(PURE, 1.0, evidence) >= 0
            right, wrong = of_laplace(1.0) if ahead else (0.9 * math.e / (1 + math.e), 0.9 / (1 + math.e))
            evidence.append(Guesses.of(guessed(right, wrong, (10 + number, 1), coins)))
        alarms += refuted(PURE, evidence, 0.1)
    assert alarms < 25


@pytest.mark.parametrize(("claim", "chances", "people"), CLAIMS, ids=NAMES)
def test_the_lower_bound_is_wrong_no_more_often_than_stated_and_comes_near_the_truth(claim, chances, people):
    coins = np.random.default_rng(3)
    bounds = [
        least(claim, [Guesses.of(guessed(*chances, (4000, people), coins), rare=chances[1])], 0.05) for _ in range(30)
    ]
    assert sum(bound > claim.tested for bound in bounds) <= 6  # of 30 at 0.05: more have probability below 10^-3
    assert np.mean(bounds) > 0.8 * claim.tested


@pytest.mark.parametrize(
    ("claim", "chances"),
    [(PURE, of_laplace(1.3)), (GAUSSIAN, of_gaussian(1.3)), (APPROXIMATE, of_approximate(1.3))],
    ids=NAMES,
)
def test_a_wrong_claim_is_refuted(claim, chances):
    """Ten times out of ten, with 4,000 guesses at an error of 10^-3."""
    coins = np.random.default_rng(4)
    found = [Guesses.of(guessed(*chances, (4000, 1), coins), rare=chances[1]) for _ in range(10)]
    assert all(refuted(claim, [one], 1e-3) for one in found)
    assert all(claim.tested < least(claim, [one], 1e-3) < 1.3 for one in found)


def test_blocks_count_as_one_and_nothing_is_shown_without_guesses():
    coins = np.random.default_rng(5)
    outcomes = guessed(*of_laplace(1.2), (600, 1), coins)
    parts = [Guesses.of(part) for part in np.split(outcomes, 3)]
    assert log_wealth(PURE, 1.0, parts) == pytest.approx(log_wealth(PURE, 1.0, [Guesses.of(outcomes)]))
    nothing = [Guesses.of(np.zeros((100, 1), dtype=int))]
    assert log_wealth(PURE, 1.0, nothing) == 0
    assert least(PURE, nothing, 0.01) == 0
    assert least(PURE, [], 0.01) == 0


def test_gaussians_show_their_mu_at_every_threshold_and_every_tangent_lies_above_their_curve():
    thresholds = np.linspace(-2, 3, 11)
    likely, rare = norm.sf(thresholds - 0.7), norm.sf(thresholds)
    np.testing.assert_allclose(GAUSSIAN.shown(likely, rare), 0.7)
    for touching in (0.001, 0.1, 0.5):
        slope, intercept = GAUSSIAN.line(0.7, touching)
        assert np.all(likely <= slope * rare + intercept + 1e-12)


def test_every_claim_has_an_epsilon():
    assert (claim_of(sv.LocalDP(2.0)).epsilon, claim_of(sv.LocalDP(2.0)).delta) == (2.0, 0.0)
    approximate = claim_of(sv.ApproxDP(1.0, 1e-3))
    assert approximate.as_epsilon(approximate.mu) == pytest.approx(1.0)
    assert claim_of(sv.ApproxDP(1.0, 1e-3), gaussian_noise=False).mu is None


def test_a_claim_of_nothing_is_refused():
    with pytest.raises(ValueError, match="promises nothing"):
        claim_of(sv.NoPrivacy())
    with pytest.raises(ValueError, match="delta must be 0"):
        claim_of(sv.PureDP(1.0), delta=1e-6)
    with pytest.raises(ValueError, match="delta must be that of"):
        claim_of(sv.ApproxDP(1.0, 1e-3), delta=1e-6)
