"""What is set up with many coordinates: nothing is searched that a plan does not need, and memory grows with them."""

import numpy as np
import pytest
from watching import peak_of

import sottovoce as sv
from optimizers import bandit
from sampling import every
from sottovoce.domains import base, design
from sottovoce.domains.choices import matroid_bases

MANY = 300


def grid(edges):
    """Return the edges of a square grid, down and to the right, about so many, and the number of its nodes."""
    side = int(np.sqrt(edges / 2)) + 1
    nodes = np.arange(side * side).reshape(side, side)
    down = np.stack((nodes[:-1].ravel(), nodes[1:].ravel()), axis=1)
    right = np.stack((nodes[:, :-1].ravel(), nodes[:, 1:].ravel()), axis=1)
    return np.concatenate((down, right)), side * side


def furthest(dimension):
    def oracle(cost):
        vertex = np.zeros(dimension)
        largest = np.abs(cost).argmax()
        vertex[largest] = -np.sign(cost[largest]) or 1.0
        return vertex

    return oracle


def paths(n):
    edges, nodes = grid(n)
    return sv.domains.Paths(edges, source=0, target=nodes - 1)


def trees(n):
    return sv.domains.SpanningTrees(grid(n)[0])


matroids = sv.domains.matroids
SETS = {
    "simplex": sv.domains.Simplex,
    "k of n": lambda n: sv.domains.Hypersimplex(n, 20),
    "box": lambda n: sv.domains.Box(0, 1, n),
    "paths": paths,
    "trees": trees,
    "ranking": lambda n: sv.domains.Permutahedron(np.arange(n)),
    "assignment": lambda n: sv.domains.Birkhoff(int(np.sqrt(n))),
    "flows": lambda n: sv.domains.Flows(grid(n)[0], source=0, target=grid(n)[1] - 1, value=2, capacities=1),
    "groups": lambda n: sv.domains.MatroidBases(matroids.Partition(np.arange(n) // 10, 2)),
    "points": lambda n: sv.domains.ConvexHull(np.random.default_rng(0).standard_normal((50, n))),
    "own": lambda n: sv.domains.Custom(furthest(n), n),
    "product": lambda n: sv.domains.Product([trees(n // 2), sv.domains.Simplex(n)]),
}


def optimizer(domain, losses="linear"):
    return bandit(domain, 100_000, losses=losses)


@pytest.fixture
def searches(monkeypatch):
    """Return the searches through a set that were begun."""
    begun = []

    def spy(module, name):
        original = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *given: begun.append(name) or original(*given))

    spy(design, "_search")
    for name in ("affine_hull", "inner_ball"):
        spy(base, name)
        spy(matroid_bases, name)
    return begun


@pytest.mark.parametrize("losses", ["linear", "convex"])
@pytest.mark.parametrize("name", SETS)
def test_nothing_is_searched_that_the_default_plan_does_not_need(name, losses, searches):
    made = optimizer(SETS[name](MANY), losses)
    actions = made.ask(64)
    made.tell(actions.ids, np.full(64, 0.5))
    assert made.domain.dimension > base.FEW
    assert not searches


def test_the_searches_are_seen_where_something_needs_them(searches):
    assert trees(40).inner_radius > 0
    design.d_optimal_design(sv.domains.Box(0, 1, 3))
    assert set(searches) == {"affine_hull", "inner_ball", "_search"}


@every("name", SETS)
def test_the_middle_of_many_coordinates_is_in_the_set(name):
    domain = SETS[name](MANY)
    middle = domain.middle
    assert not middle.flags.writeable
    cost = np.random.default_rng(1).standard_normal(domain.dimension)
    for sign in (1, -1):
        assert sign * cost @ middle >= sign * cost @ domain.extreme_point(sign * cost) - 1e-9
    if name in ("paths", "k of n", "box", "simplex", "ranking", "teams"):
        assert domain.contains(middle, 1e-6)


@every("family", sv.domains.all_domains())
def test_of_few_coordinates_the_middle_is_the_centre_and_the_dimension_exact(family):
    for domain in family.examples():
        np.testing.assert_array_equal(domain.middle, domain.center)
        assert domain.rough_dimension == domain.affine_dimension


@every("losses", ["linear", "convex"])
@every("name", ["k of n", "box", "paths"])
def test_memory_is_linear_in_the_coordinates(name, losses):
    optimizer(SETS[name](MANY), losses)  # what is compiled is not counted
    small, large = (peak_of(lambda n=n: optimizer(SETS[name](n), losses).ask(8)) for n in (2_000, 8_000))
    assert large < 6 * small  # 4 if linear, 16 if square
