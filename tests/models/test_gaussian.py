"""Two forms of one posterior, against the textbook's: condition a joint Gaussian by writing everything out."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from sampling import every
from sottovoce.models.gaussian import ByCoefficients, ByMeasurements, LossPrior


def textbook(features, covariance, values, variances):
    """Mean and covariance of coefficients ~ N(0, covariance) given features @ coefficients + noise = values."""
    gram = features @ covariance @ features.T + np.diag(variances)
    gain = covariance @ features.T @ np.linalg.inv(gram)
    return gain @ values, covariance - gain @ features @ covariance


def made(seed, size=5, count=7, features=0):
    coins = np.random.default_rng(seed)
    rows = (coins.random((count, size)) < 0.5).astype(float)
    weights, values = 1 / coins.uniform(0.01, 0.5, count), coins.standard_normal(count)
    factor = coins.standard_normal((size, features))
    center = coins.random(size)
    prior = LossPrior(0.7, center, 0.3, factor)
    offsets = np.column_stack([rows - center, np.ones(count)])
    covariance = np.zeros((size + 1, size + 1))
    covariance[:-1, :-1], covariance[-1, -1] = prior.covariance(), 0.3**2
    by_rows = ByMeasurements(prior, sparse.csr_array(rows), weights, weights * values)
    precision = np.linalg.inv(covariance) + (offsets * weights[:, None]).T @ offsets
    by_size = ByCoefficients(precision, offsets.T @ (weights * values))
    return rows, center, by_rows, by_size, textbook(offsets, covariance, values, 1 / weights)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), features=st.sampled_from([0, 2]))
def test_both_forms_are_the_textbooks_posterior(seed, features):
    _, center, by_rows, by_size, (mean, covariance) = made(seed, features=features)
    assert np.allclose(by_rows.mean, mean, atol=1e-8)
    assert np.allclose(by_size.mean, mean, atol=1e-8)
    ask = (np.random.default_rng(seed + 1).random((3, 5)) < 0.5).astype(float)
    offsets = np.column_stack([ask - center, np.ones(3)])
    for expected, spread in (by_rows.predict(sparse.csr_array(ask)), by_size.predict(offsets)):
        assert np.allclose(expected, offsets @ mean, atol=1e-8)
        assert np.allclose(spread, offsets @ covariance @ offsets.T, atol=1e-8)


@every("form", ["by coefficients", "by measurements"])
@every("posterior_scale", [1.0, 0.5])
def test_samples_have_the_posteriors_mean_and_its_covariance_times_the_squared_temper(form, posterior_scale):
    """40,000 samples: each of 21 + 6 numbers is within 5 standard errors, a false alarm once in 50,000 seeds."""
    _, _, by_rows, by_size, (mean, covariance) = made(3)
    fitted, count = (by_size if form == "by coefficients" else by_rows), 40_000
    drawn = fitted.sample(np.random.default_rng(0), count, posterior_scale)
    wanted = posterior_scale**2 * covariance
    deviations = np.sqrt(np.diag(wanted))
    assert (np.abs(drawn.mean(axis=0) - mean) < 5 * deviations / np.sqrt(count)).all()
    errors = np.sqrt((wanted**2 + np.outer(deviations, deviations) ** 2) / count)
    assert (np.abs(np.cov(drawn.T) - wanted) < 5 * errors).all()


@every("features", [0, 3])
def test_variances_of_a_prior_are_those_of_its_matrix_sparse_or_not(features):
    world = np.random.default_rng(0)
    rows, center = (world.random((5, 6)) < 0.4).astype(float), world.random(6)
    prior = LossPrior(0.4, center, 0.5, world.normal(size=(6, features)))
    expected = np.einsum("ij,jk,ik->i", rows - center, prior.covariance(), rows - center) + 0.25
    assert np.allclose(prior.variances(rows), expected)
    assert np.allclose(prior.variances(sparse.csr_array(rows)), expected)
