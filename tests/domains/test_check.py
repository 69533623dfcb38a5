"""Domains that lie are caught, whatever they lie about; and honest ones are not accused."""

import math

import numpy as np
import pytest

from sampling import every
from sottovoce.domains import Ball, Custom, Domain, Simplex, check_domain
from sottovoce.errors import DomainError


class Square(Domain):
    """The honest one that the liars below derive from; nothing but an oracle."""

    dimension = 3

    def extreme_point(self, cost):
        return np.array([*np.where(np.asarray(cost)[:2] > 0, -1.0, 1.0), 5.0])


class Honest(Square):
    """The same with all of its geometry."""

    affine_dimension = 2
    center = np.array([0.0, 0.0, 5.0])
    inner_radius = 1.0
    outer_radius = math.sqrt(2)
    diameter = 2 * math.sqrt(2)

    def tangent(self, vectors):
        return np.asarray(vectors, dtype=float) * [1.0, 1.0, 0.0]


def test_the_honest_square_passes():
    check_domain(Square())
    check_domain(Honest())


def lying(base=Square, **lies):
    """A square that differs in some attributes or methods."""
    return type("Liar", (base,), lies)()


def caught(domain, message):
    with pytest.raises(DomainError, match=message):
        check_domain(domain)


def sometimes_outside(self, cost):
    vertex = Square().extreme_point(cost)
    return vertex * [2.0, 2.0, 1.0] if cost[2] > 0.5 else vertex  # cheaper still, now and then


def forgets_a_vertex(self, cost):
    cost = np.asarray(cost)
    corners = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    corners = corners if np.count_nonzero(cost) == 1 else corners[1:]
    return np.array([*corners[(corners @ cost[:2]).argmin()], 5.0])


def ties_by_chance(coins):
    def oracle(self, cost):
        signs = np.sign(np.asarray(cost)[:2])
        signs[signs == 0.0] = coins.choice([-1.0, 1.0])
        return np.array([*-signs, 5.0])

    return oracle


def remembers_its_first_cost(asked):
    def oracle(self, cost):
        asked.append(np.array(cost))
        return np.array([*-np.sign(asked[0][:2] + asked[-1][:2]), 5.0])

    return oracle


def times(*factors):
    return lambda self, vectors: np.asarray(vectors, dtype=float) * np.array(factors)


def halfway(self, x, rng, size=None):
    return Square.round(self, 0.5 * (x + np.array([0.0, 0.0, 5.0])), rng, size)


def far_out(self, x, rng, size=None):
    return x + rng.choice([-1.0, 1.0], (size, 1)) * np.array([3.0, 0.0, 0.0])


SHEAR = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
ORACLES = [
    (lambda self, cost: np.zeros(2), r"must return an array of shape \(3,\), got \(2,\)"),
    (lambda self, cost: np.full(3, np.nan), "must return finite"),
    (lambda self, cost: None, "returned None: a solver that found no answer"),
    (lambda self, cost: Square().extreme_point(-np.asarray(cost)), "if it maximises"),
    (lambda self, cost: Square().extreme_point([cost[0], 1.0 * cost[2], 0.0]), "cheaper"),
    (sometimes_outside, "another of its answers is cheaper"),
    (forgets_a_vertex, "cheaper"),
    (ties_by_chance(np.random.default_rng(0)), "not a function of the cost"),
    (remembers_its_first_cost([]), "cheaper|not a function"),
]
LIES = [
    ({"center": np.array([0.0, 0.0, 5.1])}, "center is not in the set"),
    ({"center": np.zeros(2)}, "center must be a finite vector"),
    ({"inner_radius": 1.01}, "no more than 1 of room"),
    ({"inner_radius": 0.0}, "choose a center inside"),
    ({"inner_radius": -1.0}, "must not be negative"),
    ({"inner_radius": math.nan}, "must not be negative"),
    ({"outer_radius": 1.4}, "a vertex is 1.41421 from the center"),
    ({"diameter": 2.8}, "two vertices are 2.82843 apart"),
    ({"affine_dimension": 3}, "projects on 2 dimensions, but affine_dimension is 3"),
    ({"affine_dimension": 4}, "between 0 and dimension 3, got 4"),
    ({"tangent": times(2.0, 2.0, 0.0)}, "not an orthogonal projection"),
    ({"tangent": lambda self, vectors: np.asarray(vectors) @ SHEAR}, "not an orthogonal projection"),
    ({"tangent": times(1.0, 0.0, 0.0), "affine_dimension": 1}, "does not leave the differences"),
    ({"tangent": times(1.0, 1.0, 1.0), "affine_dimension": 3}, "flat in a direction|no more than"),
    ({"contains": lambda self, x, tolerance=1e-6: bool(np.abs(x[:2]).max() < 0.9)}, "is outside the set"),
    ({"contains": lambda self, x, tolerance=1e-6: True}, "inside the set that is cheaper"),
    ({"round": halfway}, "round must draw with mean x"),
    ({"round": far_out}, "outside the set"),
    ({"round": lambda self, x, rng, size=None: np.zeros(3)}, "round must return finite points of shape"),
    ({"dimension": 2.0}, "dimension must be a whole number"),
]


@every("oracle, message", ORACLES)
def test_an_oracle_that_lies_is_caught(oracle, message):
    caught(lying(extreme_point=oracle), message)


@every("lies, message", LIES)
def test_geometry_that_lies_is_caught(lies, message):
    caught(lying(Honest, **lies), message)


def test_an_oracle_of_ones_own_is_cared_for():
    """It is handed copies of costs at one scale, and its answers are copied."""
    buffer = np.zeros(3)

    def careless(self, cost):
        buffer[:] = Square().extreme_point(np.round(cost, 3))  # what is below 0.0005 counts as nothing
        cost[:] = 0.0
        return buffer

    check_domain(lying(extreme_point=careless))


def test_an_inner_radius_that_is_too_large_for_a_facet_off_the_axes():
    """The nearest facet of a polygon turned by an odd angle is found, not guessed."""
    turned = np.array([[math.cos(0.3), -math.sin(0.3)], [math.sin(0.3), math.cos(0.3)]]) @ np.diag([1.0, 3.0])

    class Turned(Domain):
        dimension = 2
        center = np.zeros(2)
        inner_radius = 1.01

        def extreme_point(self, cost):
            return turned @ np.where(np.asarray(cost) @ turned > 0, -1.0, 1.0)

    caught(Turned(), "no more than 1 of room")


def drifting():
    """An oracle of a segment that is a little elsewhere when its first question comes back."""
    asked = []

    def oracle(cost):
        again = bool(asked) and np.array_equal(cost, asked[0])
        asked.append(cost.copy())
        return np.array([-np.sign(cost[0]), 1e-3 * again])

    return oracle


RING, WIDE = Ball(2), Ball(30)  # in the wide one no random cost sees that another answer is too far out
AT_ONCE = [
    (lambda cost: ["left", "right"], 2, r"must return an array of shape \(2,\), got \['left'"),
    (lambda cost: np.array([np.cos(cost[0]), 0.0]), 2, "does not minimise"),
    (lambda cost: RING.extreme_point(cost) * (3.0 if cost[0] > 0.5 else 1.0), 2, "does not minimise"),
    (lambda cost: WIDE.extreme_point(cost) * (1.2 if int(1e6 * cost[0]) % 2 else 1.0), 30, "does not minimise"),
    (drifting(), 2, "not a function of the cost"),
]


@every("oracle, dimension, message", AT_ONCE)
def test_custom_looks_at_construction_already(oracle, dimension, message):
    with pytest.raises(DomainError, match=message):
        Custom(oracle, dimension)


def test_a_verdict_has_figures():
    found = check_domain(Custom(Simplex(6).extreme_point, 6))
    assert found.off <= 1e-6
    assert str(found).startswith(f"{found.domain}: no contradiction in {found.calls:,} calls")
