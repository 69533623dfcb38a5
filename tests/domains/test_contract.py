"""What every domain promises, checked on every example of every family found. A new file is covered at once."""

import importlib
import inspect
import itertools
import pickle
import pkgutil
from functools import cache

import numpy as np
import pytest

from sampling import every
from sottovoce import domains
from sottovoce.domains import Custom, Domain, all_domains, check_domain
from sottovoce.domains._kinds import Choices

EXAMPLES = {family: family.examples() for family in all_domains()}
CLOSED_FORM = [family for family in EXAMPLES if family.inner_radius is not Domain.inner_radius]


every_domain = every("domain", [one for examples in EXAMPLES.values() for one in examples])
every_closed_form = every("domain", [one for family in CLOSED_FORM for one in EXAMPLES[family]])


def seeded():
    return np.random.default_rng(2024)


@cache
def default_of(domain):
    """The same set with nothing but its oracle; its geometry is computed once for all tests."""
    return Custom(domain.extreme_point, domain.dimension)


@cache
def vertices_of(domain, count=60):
    vertices = np.array([domain.extreme_point(cost) for cost in seeded().standard_normal((count, domain.dimension))])
    vertices.setflags(write=False)
    return vertices


def inside_points(domain, count=40):
    """Random convex combinations of a few vertices each: some near the boundary, some deep."""
    rng, vertices = seeded(), vertices_of(domain)
    sparse = rng.dirichlet(np.full(len(vertices), 0.05), size=count)
    return sparse @ vertices


def unit_tangents(domain, count=25):
    """Unit directions in the affine hull: random ones, and the images of the axes (facet normals of many sets)."""
    rows = np.vstack((seeded().standard_normal((count, domain.dimension)), np.eye(domain.dimension)))
    return along(domain, np.vstack((rows, -rows)))


def simple_tangents(domain):
    """Unit directions with coordinates in {-1, 0, 1}, before they are projected: facet normals of most other sets."""
    n = domain.dimension
    return along(domain, list(itertools.product((-1.0, 0.0, 1.0), repeat=n)) if n <= 6 else np.empty((0, n)))


def along(domain, rows):
    rows = domain.tangent(np.array(rows))
    lengths = np.linalg.norm(rows, axis=1)
    return rows[lengths > 1e-9] / lengths[lengths > 1e-9, None]


def room(domain, center, direction):
    """Distance from the centre to the supporting hyperplane in a unit direction."""
    return float(direction @ (domain.extreme_point(-direction) - center))


def test_every_set_that_has_a_file_is_exported_by_its_family_and_offers_examples():
    found = pkgutil.walk_packages(domains.__path__, f"{domains.__name__}.")
    modules = [importlib.import_module(one.name) for one in found]
    written = {
        member
        for module in modules
        for _, member in inspect.getmembers(module, inspect.isclass)
        if issubclass(member, Domain) and member.__module__ == module.__name__ and not inspect.isabstract(member)
    }
    assert written == set(all_domains()), "a set is missing in the __init__ of its family"
    for family in all_domains():
        assert getattr(domains, family.__name__) is family
        assert len(family.examples()) >= 2, family
        assert len(family.summary()) > 10, family
    assert {"Ball", "Custom", "Hypersimplex"} <= {family.__name__ for family in all_domains()}


@every_domain
def test_what_a_set_says_of_itself_does_not_contradict_its_oracle(domain):
    """Nor does what follows from the oracle alone: vertices, both balls, directions, rounding."""
    for candidate in (domain, default_of(domain)):
        check_domain(candidate)
        assert candidate.diameter <= 2 * candidate.outer_radius * (1 + 1e-12)
    assert default_of(domain).inner_radius > 0.0


@every_domain
def test_the_oracle_does_not_see_the_scale_of_the_cost(domain):
    for cost, factor in itertools.product(seeded().standard_normal((4, domain.dimension)), (1e-200, 1e-3, 7.0, 1e100)):
        np.testing.assert_allclose(
            domain.extreme_point(factor * cost), domain.extreme_point(cost), rtol=1e-12, atol=1e-12
        )


@every_closed_form
def test_closed_form_inner_radius_is_the_largest(domain):
    directions = np.vstack((unit_tangents(domain), simple_tangents(domain)))
    exact = min(room(domain, domain.center, direction) for direction in directions)
    assert domain.inner_radius == pytest.approx(exact, rel=1e-9)
    default = default_of(domain)
    apart = np.linalg.norm(default.center - domain.center)
    assert default.inner_radius <= domain.inner_radius * (1 + 1e-9) + apart


@every_closed_form
def test_closed_form_outer_bounds_are_attained_and_no_worse_than_the_defaults(domain):
    vertices = np.vstack((vertices_of(domain), [domain.extreme_point(domain.center - v) for v in vertices_of(domain)]))
    mirrored = [domain.extreme_point(vertex - domain.center) for vertex in vertices]
    assert np.linalg.norm(vertices - domain.center, axis=1).max() == pytest.approx(domain.outer_radius)
    if type(domain).diameter is not Choices.diameter:  # which is no more than a bound
        assert np.linalg.norm(vertices - mirrored, axis=1).max() == pytest.approx(domain.diameter)
        assert domain.diameter <= default_of(domain).diameter * (1 + 1e-12)


@every_domain
def test_the_default_affine_hull_is_the_exact_one(domain):
    default = default_of(domain)
    vectors = seeded().standard_normal((5, domain.dimension))
    assert default.affine_dimension == domain.affine_dimension
    np.testing.assert_allclose(default.tangent(vectors), domain.tangent(vectors), atol=1e-9)


@every_domain
def test_contains_tells_inside_from_outside(domain):
    for point in inside_points(domain):
        assert domain.contains(point)
    for direction in unit_tangents(domain)[:20]:
        outside = domain.center + (room(domain, domain.center, direction) + 1e-4) * direction
        assert not domain.contains(outside)
        nearby = domain.extreme_point(-direction) + 1e-4 * direction  # 1e-4 away: the direction is normal there
        assert domain.contains(nearby, tolerance=1.1e-4)
        assert not domain.contains(nearby, tolerance=0.7e-4)
    if domain.affine_dimension < domain.dimension:
        random = seeded().standard_normal(domain.dimension)
        normal = random - domain.tangent(random)
        assert not domain.contains(domain.center + 1e-4 * normal / np.linalg.norm(normal))


@every_domain
def test_default_contains_agrees_with_the_closed_form(domain):
    default = default_of(domain)
    for point in inside_points(domain, 15):
        for moved in (point, domain.center + 1.5 * (point - domain.center), point + 1e-5):
            assert default.contains(moved) == domain.contains(moved)


@every_closed_form
def test_round_draws_points_that_no_segment_of_the_set_goes_through(domain):
    for x in inside_points(domain, 5):
        for vertex in domain.round(x, seeded(), size=20):
            # In these symmetric families each extreme point is the only one farthest out in its own direction.
            np.testing.assert_allclose(
                domain.extreme_point(domain.center - vertex), vertex, atol=1e-9 * domain.diameter
            )


@every_domain
def test_default_round_draws_answers_of_the_oracle(domain):
    answers = []

    def recording(cost):
        answers.append(domain.extreme_point(cost))
        return answers[-1]

    default = Custom(recording, domain.dimension)
    drawn = default.round(inside_points(domain)[0], seeded(), size=50)
    known = {answer.tobytes() for answer in answers}
    assert all(point.tobytes() in known for point in drawn)


@every_domain
def test_round_shapes_and_seeds(domain):
    one = domain.round(domain.center, seeded())
    assert one.shape == (domain.dimension,)
    assert domain.round(domain.center, seeded(), size=0).shape == (0, domain.dimension)
    np.testing.assert_array_equal(one, domain.round(domain.center, seeded()))


@every_domain
def test_bad_input_is_refused_and_changes_nothing(domain):
    before, n = pickle.dumps(domain), domain.dimension
    good = domain.extreme_point(np.ones(n))
    for bad in (np.ones(n + 1), np.ones((1, 1, n)), 3.0, np.full(n, np.nan), np.full(n, np.inf), ["a"] * n, None):
        for method in (domain.extreme_point, domain.contains, domain.tangent, lambda x: domain.round(x, seeded())):
            with pytest.raises((ValueError, TypeError)):
                method(bad)
    for tolerance in (0.0, -1.0, np.nan, "small"):
        with pytest.raises((ValueError, TypeError), match="tolerance"):
            domain.contains(domain.center, tolerance)
    for size in (-1, 1.5, "two"):
        with pytest.raises((ValueError, TypeError), match="size"):
            domain.round(domain.center, seeded(), size=size)
    outside = domain.center + 3 * (domain.outer_radius + 1) * np.ones(n)
    with pytest.raises(ValueError, match="away: project it first"):
        domain.round(outside, seeded())
    with pytest.raises(AttributeError, match="immutable"):
        domain.dimension = 7
    with pytest.raises(ValueError, match="read-only"):
        domain.center[0] = 1.0
    np.testing.assert_array_equal(domain.extreme_point(np.ones(n)), good)
    if type(domain).center is not Domain.center:  # the others may have computed geometry meanwhile
        assert pickle.dumps(domain) == before


@every_domain
def test_arguments_are_left_alone_and_answers_are_the_callers_own(domain):
    cost = seeded().standard_normal(domain.dimension)
    kept = cost.copy()
    answer, again = domain.extreme_point(cost), domain.extreme_point(cost)
    domain.tangent(cost)[...] = 0.0
    domain.contains(cost)
    np.testing.assert_array_equal(cost, kept)
    answer[...] = np.nan
    np.testing.assert_array_equal(domain.extreme_point(cost), again)


@every_domain
def test_a_copy_is_the_same_set_and_what_follows_from_its_oracle_is_the_same_every_time(domain):
    copy = pickle.loads(pickle.dumps(domain))
    assert repr(copy) == repr(domain)
    for cost in seeded().standard_normal((5, domain.dimension)):
        np.testing.assert_array_equal(copy.extreme_point(cost), domain.extreme_point(cost))
        np.testing.assert_allclose(copy.tangent(cost), domain.tangent(cost), atol=1e-14)
    for first, second in ((copy, domain), (default_of(domain), Custom(domain.extreme_point, domain.dimension))):
        for name in ("affine_dimension", "inner_radius", "outer_radius", "diameter"):
            assert getattr(first, name) == getattr(second, name)
        np.testing.assert_array_equal(first.center, second.center)


@every_domain
def test_a_formula_for_the_projection_agrees_with_the_oracle(domain):
    """`nearest` is exact where it exists; the universal certificate <x - y, x - oracle(x - y)> is at rounding level."""
    for scale in (0.1, 1.0, 10.0):
        y = domain.center + scale * domain.outer_radius * seeded().standard_normal(domain.dimension)
        x = domain.nearest(y)
        if x is None:
            return
        gap = (x - y) @ (x - domain.extreme_point(x - y))
        size = domain.outer_radius + np.abs(y).max()
        assert abs(gap) <= 1e-12 * size * size
        assert domain.contains(x, 1e-9 * size)
