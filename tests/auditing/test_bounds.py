import math

import numpy as np
import pytest
from scipy.stats import binom, norm

import sottovoce as sv
from sottovoce.auditing.attacks.bounds import at_least, at_most, epsilon_shown, mu_shown
from sottovoce.auditing.attacks.claims import claim_of
from sottovoce.privacy import GDP


@pytest.mark.parametrize("chance", [0.003, 0.2, 0.5, 0.93])
def test_a_bound_is_wrong_no_more_often_than_stated(chance):
    """Exactly, by summing the binomial: no simulation."""
    trials, error = 60, 0.01
    hits = np.arange(trials + 1)
    likelihood = binom.pmf(hits, trials, chance)
    assert likelihood[at_least(hits, trials, error) > chance].sum() <= error
    assert likelihood[at_most(hits, trials, error) < chance].sum() <= error


def test_bounds_of_nothing_and_of_everything():
    assert at_least(0, 50, 0.01) == 0
    assert at_most(50, 50, 0.01) == 1
    assert math.isclose(at_least(50, 50, 0.01), 0.01 ** (1 / 50))


def test_randomised_response_shows_its_epsilon():
    chance = 1 / (1 + math.exp(-1.5))
    assert math.isclose(epsilon_shown(chance, 1 - chance), 1.5)
    assert epsilon_shown(0.1, 0.05, delta=0.1) == -math.inf


def test_gaussians_show_their_mu_at_every_threshold():
    thresholds = np.linspace(-2, 3, 11)
    np.testing.assert_allclose(mu_shown(norm.sf(thresholds - 0.7), norm.sf(thresholds)), 0.7)


def test_every_claim_has_an_epsilon():
    assert (claim_of(sv.LocalDP(2.0)).epsilon, claim_of(sv.LocalDP(2.0)).delta) == (2.0, 0.0)
    approximate = claim_of(sv.ApproxDP(1.0, 1e-3))
    assert approximate.as_epsilon(approximate.mu) == pytest.approx(1.0)
    assert claim_of(sv.ApproxDP(1.0, 1e-3), gaussian_noise=False).mu is None
    assert claim_of(GDP(1.0), delta=1e-5).epsilon == claim_of(sv.ZCDP(0.5), delta=1e-5).epsilon


def test_a_claim_of_nothing_is_refused():
    with pytest.raises(ValueError, match="promises nothing"):
        claim_of(sv.NoPrivacy())
    with pytest.raises(ValueError, match="delta must be 0"):
        claim_of(sv.PureDP(1.0), delta=1e-6)
    with pytest.raises(ValueError, match="delta must be that of"):
        claim_of(sv.ApproxDP(1.0, 1e-3), delta=1e-6)
