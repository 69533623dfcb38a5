"""Routing: times by hand, and how far the best split is computed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sottovoce as sv
from sottovoce.lab.problems import Routing
from sottovoce.lab.problems.routing import CongestedFlows, smooth_minimum

DIAMOND = [("s", "a"), ("s", "b"), ("a", "t"), ("b", "t"), ("a", "b")]


def diamond(**settings):
    domain = sv.domains.Paths(DIAMOND, source="s", target="t")
    free = np.array([1.0, 2.0, 2.0, 1.0, 0.5])
    background = np.random.default_rng(0).uniform(0.0, 1.0, (6, 5))
    arguments = {"demand": 0.7, "congestion": 0.15, "steepness": 4, **settings}
    return domain, CongestedFlows(domain, free, background, **arguments)


@given(
    shares=st.lists(st.floats(0, 1), min_size=3, max_size=3).filter(lambda s: sum(s) > 0.1),
    steepness=st.integers(1, 7),
    demand=st.floats(0.1, 2.0),
)
def test_mean_times_are_those_of_the_formula(shares, steepness, demand):
    _, library = diamond(steepness=steepness, demand=demand)
    first, second, through = np.array(shares) / sum(shares)
    flow = np.array([first + through, second, first, second + through, through])
    for kind, background in enumerate(library.background):
        by_hand = sum(
            x * free * library.scale * (1 + 0.15 * (load + demand * x) ** steepness)
            for x, free, load in zip(flow, library.free, background, strict=True)
        )
        rows = library.losses(np.tile(flow, (2, 1)), np.array([kind, kind]))
        assert rows * library.scale + library.fastest == pytest.approx([by_hand, by_hand])


def test_the_range_is_that_of_the_fastest_and_the_slowest_path():
    _, library = diamond()
    paths = np.array([[1, 0, 1, 0, 0], [0, 1, 0, 1, 0], [1, 0, 0, 1, 1]], dtype=float)
    empty = library.free * library.scale * (1 + 0.15 * library.background**4)
    assert library.fastest == pytest.approx((paths @ empty.T).min())
    slowest = max(library.losses(path, np.arange(6)).max() for path in paths)
    assert slowest == pytest.approx(1.0)


def test_the_default_splits_the_traffic():
    best = Routing().environment.comparator(20_000)
    assert best.certificate <= 2e-7
    assert ((best.point > 0.1) & (best.point < 0.9)).sum() >= 5


def test_a_missing_end_is_the_farthest_place():
    assert Routing(source="Muenchen").target == "Norden"
    assert Routing(target="Muenchen").source == "Norden"


def test_frank_wolfe_reaches_its_gap_and_stops_at_its_budget():
    domain = sv.domains.Birkhoff(4)
    goal = np.random.default_rng(0).uniform(-0.2, 0.7, 16)
    x = smooth_minimum(domain, lambda x: x - goal, gap=1e-9)
    assert (x - goal) @ (x - domain.extreme_point(x - goal)) <= 1e-9
    assert domain.contains(x, 1e-6)
    rough = smooth_minimum(domain, lambda x: x - goal, gap=0.0, steps=3)
    assert domain.contains(rough, 1e-6)
    np.testing.assert_allclose(x, sv.projection.project(domain, goal, gap=1e-10).point, atol=1e-4)
