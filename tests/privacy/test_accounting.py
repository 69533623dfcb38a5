"""Conversions and composition, against dp-accounting and against sums over the worst case itself."""

import math

import dp_accounting
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution
from hypothesis import given
from hypothesis import strategies as st

from sampling import every
from sottovoce.privacy import ZCDP, ApproxDP, LocalDP, NoPrivacy, PureDP, compose, gaussian
from sottovoce.privacy.accounting import decimal_sum

epsilons = st.floats(0.01, 8)
deltas = st.floats(1e-10, 0.3)


def randomised_response(epsilon):
    """The two distributions of the answer: the worst that epsilon-DP allows."""
    likely = 1 / (1 + math.exp(-epsilon))
    return np.array([likely, 1 - likely]), np.array([1 - likely, likely])


def delta_at(p, q, epsilon):
    return np.maximum(p - math.exp(epsilon) * q, 0).sum()


@given(epsilons, deltas)
def test_a_pure_guarantee_keeps_what_randomised_response_does(epsilon, delta):
    ours = compose(PureDP(epsilon)).epsilon(delta)
    exact = delta_at(*randomised_response(epsilon), ours)
    assert exact == pytest.approx(delta, abs=1e-12) if ours > 0 else exact <= delta


@given(epsilons, st.floats(1.001, 200))
def test_renyi_curve_of_a_pure_guarantee(epsilon, alpha):
    p, q = randomised_response(epsilon)
    exact = np.logaddexp(*(alpha * np.log(p) + (1 - alpha) * np.log(q))) / (alpha - 1)
    ours = compose(PureDP(epsilon)).renyi(alpha)
    assert ours == pytest.approx(exact, abs=1e-9)
    assert ours <= min(epsilon, alpha * epsilon**2 / 2) * (1 + 1e-9) + 1e-12  # and so rho = epsilon^2/2 holds


@every("rhos", [[0.5], [0.1, 0.02], [1e-4], [5.0]])
@every("delta", [1e-9, 1e-5])
def test_zcdp_agrees_with_dp_accounting(rhos, delta):
    accountant = dp_accounting.rdp.RdpAccountant(orders=1 + np.geomspace(1e-3, 1e6, 4000))
    for rho in rhos:
        accountant.compose(dp_accounting.ZCDpEvent(rho))
    theirs, ours = accountant.get_epsilon(delta), compose(*map(ZCDP, rhos)).epsilon(delta)
    assert ours <= theirs * (1 + 1e-9)
    assert ours == pytest.approx(theirs, rel=1e-3)
    # A Gaussian has this rho: the bound holds for it, and is not far off.
    truth = gaussian.epsilon_of(math.sqrt(2 * sum(rhos)), delta)
    assert truth <= ours <= 1.25 * truth + 0.02


def test_a_mixture_is_bounded_by_the_truth_of_its_worst_mechanisms():
    """Laplace releases and a Gaussian one: dp-accounting's exact composition is below ours, and not by much."""
    guarantees = [PureDP(0.1)] * 30 + [ZCDP(0.125)]
    exact = privacy_loss_distribution.from_gaussian_mechanism(2.0, value_discretization_interval=1e-4)
    response = privacy_loss_distribution.from_randomized_response(
        2 / (1 + math.exp(0.1)), 2, value_discretization_interval=1e-4
    )
    exact = exact.compose(response.self_compose(30))
    truth, ours = exact.get_epsilon_for_delta(1e-6), compose(*guarantees).epsilon(1e-6)
    assert truth * 0.99 <= ours <= 1.3 * truth
    assert ours < 0.8 * (3.0 + compose(ZCDP(0.125)).epsilon(1e-6))  # better than adding up thirty epsilons
    assert exact.get_delta_for_epsilon(ours) <= 1.1e-6


def test_basic_composition():
    assert compose(PureDP(0.5), LocalDP(0.25)).epsilon(0.0) == 0.75
    together = compose(ApproxDP(0.5, 1e-6), PureDP(0.25), ApproxDP(0.1, 2e-6))
    assert together.epsilon(3e-6) == pytest.approx(0.85)
    assert together.epsilon(2.9e-6) == math.inf


def test_approximate_curve_is_that_of_leaky_randomised_response():
    """With probability delta everything is shown; otherwise one answer of randomised response."""
    epsilon, delta = 1.0, 0.01
    p, q = (np.append((1 - delta) * part, [delta, 0.0]) for part in randomised_response(epsilon))
    q[-2:] = [0.0, delta]
    for at in (0.1, 0.4, 0.99):
        assert compose(ApproxDP(epsilon, delta)).epsilon(delta_at(p, q, at)) == pytest.approx(at)


def test_nothing_promised_is_nothing():
    together = compose(PureDP(1.0), NoPrivacy())
    assert together.epsilon(0.5) == math.inf
    assert together.rho == math.inf


def test_nonsense_is_refused():
    with pytest.raises(ValueError, match="delta"):
        compose(PureDP(1.0)).epsilon(1.0)
    with pytest.raises(ValueError, match="alpha"):
        compose(PureDP(1.0)).renyi(1.0)
    with pytest.raises(TypeError, match="guarantees"):
        compose(1.0)


def test_numbers_add_up_as_they_are_written():
    assert decimal_sum([0.1] * 10) == 1.0
    assert decimal_sum([0.1, 0.2, -0.3]) == 0.0
    assert decimal_sum([1e-6] * 10) == 1e-5
