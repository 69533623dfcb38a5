"""Conditional gradient: the paper's rate, exact line search, and objectives other than the distance."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax

from sampling import every
from sottovoce.projection import Entropy, Objective, Quadratic, conditional_gradient


def simplex(cost):
    vertex = np.zeros(cost.size)
    vertex[cost.argmin()] = 1.0
    return vertex


def test_open_loop_keeps_the_papers_rate():
    """With steps 2/(k + 2) the error after k steps is at most 2 D^2/(k + 2) (Jaggi, 2013)."""
    target = np.random.default_rng(0).standard_normal(20) * 0.1
    objective = Quadratic(target)
    best = conditional_gradient(simplex, objective, simplex(target), gap=1e-9, max_calls=100_000)
    least = objective.value(best.point) - best.gap
    for steps in (1, 2, 5, 20, 100, 1000):
        result = conditional_gradient(
            simplex, objective, simplex(target), gap=0.0, max_calls=steps + 1, rule="open-loop"
        )
        assert result.calls == steps + 1
        assert objective.value(result.point) - least <= 2 * 2.0 / (steps + 2)


def test_open_loop_is_the_recursion_of_the_paper():
    target = np.array([0.4, 0.35, 0.25])
    x = start = np.array([1.0, 0.0, 0.0])
    for k in range(6):
        x = x + 2 / (k + 2) * (simplex(x - target) - x)
    result = conditional_gradient(simplex, Quadratic(target), start, gap=0.0, max_calls=7, rule="open-loop")
    np.testing.assert_allclose(result.point, x, atol=1e-15)


def test_line_search_never_rises_and_beats_open_loop():
    target = np.random.default_rng(1).dirichlet(np.ones(10))
    objective = Quadratic(target)
    start = simplex(-target)
    values = [
        objective.value(conditional_gradient(simplex, objective, start, gap=0.0, max_calls=calls).point)
        for calls in range(1, 60)
    ]
    assert (np.diff(values) <= 1e-16).all()
    loose = conditional_gradient(simplex, objective, start, gap=0.0, max_calls=59, rule="open-loop")
    assert values[-1] < objective.value(loose.point)


@every("start", ["vertex", "uniform"])
@every("rule", ["line-search", "open-loop"])
def test_entropy_over_the_simplex_gives_softmax(start, rule):
    """The gradient is infinite at the vertices, where the open loop lands with its first step."""
    linear = np.random.default_rng(0).standard_normal(6)
    begin = simplex(linear) if start == "vertex" else np.full(6, 1 / 6)
    result = conditional_gradient(simplex, Entropy(linear), begin, gap=2e-3, max_calls=20_000, rule=rule)
    exact = softmax(-linear)
    assert result.converged
    assert np.linalg.norm(result.point - exact) <= result.distance
    objective = Entropy(linear)
    assert -1e-12 <= objective.value(result.point) - objective.value(exact) <= result.gap


@given(
    target=st.lists(st.floats(-5, 5), min_size=3, max_size=3).map(np.array),
    direction=st.lists(st.floats(-5, 5), min_size=3, max_size=3).map(np.array),
)
def test_bisection_finds_the_closed_form_step(target, direction):
    objective = Quadratic(target)
    x = np.array([1.0, 2.0, 3.0])
    closed, found = objective.line_search(x, direction), Objective.line_search(objective, x, direction)
    values = [objective.value(x + step * direction) for step in (closed, found)]
    assert values[1] == pytest.approx(values[0], rel=1e-9, abs=1e-12)
    assert values[1] <= objective.value(x) * (1 + 1e-15)
    if closed == 1.0:
        assert found == 1.0


def test_entropy_line_search_stops_before_the_wall():
    objective = Entropy(np.zeros(2))
    x = np.array([0.5, 0.5])
    step = objective.line_search(x, np.array([0.5, -0.5]))
    assert 0.0 <= step < 1e-6
    assert objective.line_search(np.array([0.0, 1.0]), np.array([1.0, -1.0])) == pytest.approx(0.5)


def test_entropy_is_its_own_derivative_and_infinite_outside():
    objective = Entropy([0.3, -0.2])
    x, h = np.array([0.4, 0.6]), 1e-6
    for axis in np.eye(2):
        slope = (objective.value(x + h * axis) - objective.value(x - h * axis)) / (2 * h)
        assert slope == pytest.approx(float(axis @ objective.gradient(x)), rel=1e-6)
    assert objective.value(np.array([-0.1, 1.1])) == math.inf


def test_the_start_is_left_alone_and_a_solved_problem_costs_one_call():
    start = np.array([0.5, 0.5])
    result = conditional_gradient(simplex, Quadratic([0.5, 0.5]), start, gap=1e-12, max_calls=10)
    assert (result.calls, result.gap, result.converged) == (1, 0.0, True)
    conditional_gradient(simplex, Quadratic([1.0, 0.0]), start, gap=1e-12, max_calls=10)
    np.testing.assert_array_equal(start, [0.5, 0.5])
    assert result.atoms is None
    assert result.weights is None


@every(
    "arguments, message",
    [
        ({"start": [0.5, math.nan]}, "start must be finite"),
        ({"start": [1.0, 0.0, 0.0]}, "target must have shape"),
        ({"gap": -1e-9}, "gap must be"),
        ({"max_calls": 0}, "max_calls must be at least 1"),
        ({"rule": "armijo"}, "rule must be one of"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    good = {"oracle": simplex, "objective": Quadratic([0.5, 0.5]), "start": [1.0, 0.0], "gap": 0.1, "max_calls": 5}
    with pytest.raises(ValueError, match=message):
        conditional_gradient(**(good | arguments))
