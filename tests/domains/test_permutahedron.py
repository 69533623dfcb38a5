"""The permutahedron against isotonic regression and a QP solver."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sottovoce.domains import Permutahedron
from sottovoce.projection import project


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1), n=st.integers(2, 12), spread=st.sampled_from([0.1, 3.0, 100.0]), ties=st.booleans()
)
def test_the_formula_for_the_projection_agrees_with_the_oracle_and_has_a_certificate(seed, n, spread, ties):
    rng = np.random.default_rng(seed)
    weights = rng.integers(0, 4, n).astype(float) if ties else rng.standard_normal(n)
    weights[0] += 1.0 - (np.ptp(weights) > 0)
    target = spread * (rng.integers(-2, 3, n) if ties else rng.standard_normal(n))
    domain = Permutahedron(weights)
    wanted, found = domain.nearest(target), project(domain, target)
    np.testing.assert_allclose(found.point, wanted, atol=2e-5 * max(domain.diameter, 1e-3 * np.linalg.norm(target)))
    # The universal certificate at the formula's point: no vertex is any better in the direction of the target.
    away = wanted - target
    assert abs(away @ (wanted - domain.extreme_point(away))) <= 1e-12 * (1 + np.linalg.norm(target)) ** 2
    apart = float(np.linalg.norm(away))
    if apart > 1e-6:
        assert domain.contains(target, tolerance=apart * (1 + 1e-9))
        assert not domain.contains(target, tolerance=apart * (1 - 1e-9))


def test_a_number_stands_for_the_ranks():
    assert repr(Permutahedron(3)) == "Permutahedron([1.0, 2.0, 3.0])"
    np.testing.assert_array_equal(Permutahedron(3).extreme_point([2.0, 1.0, 3.0]), [2.0, 3.0, 1.0])
