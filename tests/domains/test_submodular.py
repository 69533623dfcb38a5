"""Set functions against their definitions, and what is refused."""

import itertools

import numpy as np
import pytest

from sampling import every
from sottovoce.domains import BasePolytope
from sottovoce.domains.set_functions import WeightedCoverage, check_submodular
from sottovoce.errors import DomainError

COVERS, ITEM_WEIGHTS = [{0, 1}, {1, 2}, {2, 0, 3}, {4}, {5, 6}, set()], np.array([1.0, 2.0, 0.5, 1.0, 3.0, 0.0, 1.0])


def root(mask):
    return float(np.sqrt(mask @ np.arange(1.0, len(mask) + 1)))


# Each function beside its definition, in code that it does not share.
DEFINED = {
    "coverage": (
        WeightedCoverage(COVERS, ITEM_WEIGHTS),
        lambda chosen: ITEM_WEIGHTS[sorted(set().union(*(COVERS[e] for e in chosen)))].sum() if chosen else 0.0,
    ),
}
every_function = every("function, definition", DEFINED.values())


def subsets(n):
    return [chosen for size in range(n + 1) for chosen in itertools.combinations(range(n), size)]


def adversarial_costs(n):
    rng = np.random.default_rng(0)
    yield from rng.standard_normal((15, n))
    yield from rng.integers(-1, 2, (15, n)).astype(float)
    yield from (np.zeros(n), np.ones(n), -np.ones(n), np.arange(n) * 1e-300)


@every_function
def test_functions_are_their_definitions(function, definition):
    for chosen in subsets(function.ground_size):
        assert function(list(chosen)) == pytest.approx(float(definition(chosen)))
        assert function(np.isin(np.arange(function.ground_size), chosen)) == pytest.approx(float(definition(chosen)))


@every_function
def test_all_prefixes_at_once_are_the_prefixes_one_by_one(function, definition):
    rng = np.random.default_rng(1)
    for length in (0, 1, 3, 6, 6, 6):
        order = rng.permutation(6)[:length]
        wanted = [float(definition(tuple(order[: k + 1].tolist()))) for k in range(length)]
        np.testing.assert_allclose(function.prefixes(order), wanted, atol=1e-12)
        np.testing.assert_allclose(function.gains(order), np.diff([0.0, *wanted]), atol=1e-12)


@every_function
def test_ready_functions_are_submodular_and_their_components_are_all_there_are(function, definition):
    check_submodular(function)
    n, labels = function.ground_size, function.components()
    whole = function(list(range(n)))
    closed = [
        chosen
        for chosen in subsets(n)
        if abs(function(list(chosen)) + function([e for e in range(n) if e not in chosen]) - whole) < 1e-9
    ]
    for one, other in itertools.combinations(range(n), 2):  # F adds up across every cut that parts the two
        assert (labels[one] != labels[other]) == any((one in chosen) != (other in chosen) for chosen in closed)


def test_a_callable_is_the_ready_function_that_it_computes():
    cover = WeightedCoverage(COVERS, ITEM_WEIGHTS)
    ready, plain = BasePolytope(cover), BasePolytope(cover.__call__, 6)
    for cost in adversarial_costs(6):
        np.testing.assert_allclose(plain.extreme_point(cost), ready.extreme_point(cost), atol=1e-12)
    assert plain.affine_dimension == ready.affine_dimension
    assert plain.inner_radius == pytest.approx(ready.inner_radius)


def test_large_functions_take_all_prefixes_in_one_go():
    """A callable is called n + 1 times; a ready function takes thousands of elements in one pass."""
    rng = np.random.default_rng(7)
    n, calls = 40, []
    domain = BasePolytope(lambda mask: calls.append(1) or root(mask), n)
    calls.clear()
    domain.extreme_point(rng.standard_normal(n))
    assert len(calls) == n + 1
    cover, order = WeightedCoverage(rng.integers(0, 4000, (3000, 5)).tolist()), rng.permutation(3000)
    values = cover.prefixes(order)
    for k in rng.integers(1, 3000, 10):
        assert values[k - 1] == pytest.approx(cover(order[:k]))


@every("size", [4, 30])
@every(
    ("function", "message"),
    [
        (lambda mask: float(mask.sum() ** 2), "not submodular: element"),
        (lambda mask: -float(np.sqrt(mask.sum())), "not submodular: element"),
        (lambda mask: 1.0 + mask.sum(), "0 at the empty set, got 1"),
        (lambda mask: float(mask[::2].sum() * mask[1::2].sum()), "not submodular: element"),
        (lambda mask: np.nan, "must be finite"),
        (lambda mask: "much", "must be a number"),
    ],
)
def test_what_is_visibly_not_submodular_is_refused(size, function, message):
    for build in (check_submodular, BasePolytope):
        with pytest.raises((DomainError, ValueError, TypeError), match=message):
            build(function, size)


def test_a_violation_on_a_single_set_is_found_up_to_ten_elements():
    def almost(mask):
        return float(min(mask.sum(), 5)) + 0.01 * (mask.sum() == 6 and mask[0] and mask[9] and not mask[1])

    check_submodular(lambda mask: float(min(mask.sum(), 5)), 10)
    with pytest.raises(DomainError, match="not submodular"):
        check_submodular(almost, 10)


def test_rounding_errors_are_forgiven_at_every_scale():
    for scale in (1e-9, 1.0, 1e9):
        check_submodular(lambda mask, scale=scale: scale * root(mask) / 3, 8)
        check_submodular(lambda mask, scale=scale: scale * 0.1 * mask.sum(), 25)
