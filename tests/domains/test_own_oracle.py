"""An oracle of one's own may be a solver with absolute tolerances: it is asked at one scale, and every call counts."""

import numpy as np
import pytest
from scipy.optimize import linprog

import sottovoce as sv
from optimizers import bandit
from sampling import every
from sottovoce.domains import Custom, Hypersimplex, check_domain
from sottovoce.errors import DomainError
from sottovoce.projection import project

ITEMS = 4


def knapsack(seed):
    """The cheapest part of some items that fits, by HiGHS."""
    weights = np.random.default_rng(seed).uniform(1.0, 10.0, ITEMS)
    return lambda cost: linprog(cost, A_ub=weights[None], b_ub=[weights.sum() / 3], bounds=(0, 1)).x


@every("seed", range(6))
def test_a_linear_program_is_a_set(seed):
    domain = Custom(knapsack(seed), ITEMS)
    assert domain.affine_dimension == ITEMS
    assert domain.contains(domain.center)
    drawn = domain.round(domain.center, np.random.default_rng(0), size=20)
    assert drawn.shape == (20, ITEMS)
    weights = np.random.default_rng(seed).uniform(1.0, 10.0, ITEMS)
    shifts = domain.inner_radius * np.vstack((np.eye(ITEMS), -np.eye(ITEMS), weights / np.linalg.norm(weights)))
    around = domain.center + shifts  # the inner ball, along the facets' normals: all of it is feasible
    assert (around >= -1e-9).all()
    assert (around @ weights <= weights.sum() / 3 + 1e-9).all()


def test_answers_within_a_millionth_of_the_extent_pass_and_others_say_what_to_set():
    slate = Hypersimplex(8, 3)

    def stopped(share):
        """Return an oracle that stops before the optimum, elsewhere for every cost."""

        def oracle(cost):
            best, farthest = slate.extreme_point(cost), slate.extreme_point(-cost)
            return best + share * (0.5 + 0.5 * np.sin(1e3 * cost.sum())) * (farthest - best)

        return Custom(oracle, 8)

    assert 1e-9 < check_domain(stopped(1e-8)).off < 1e-8
    assert 1e-7 < check_domain(stopped(9e-7)).off < 1e-6
    with pytest.raises(DomainError, match="mip_rel_gap': 0"):
        check_domain(stopped(1e-4))


def test_costs_reach_it_at_one_scale_and_unrounded():
    asked = []

    def oracle(cost):
        asked.append(cost)
        return np.where(cost > 0, -1.0, 1.0)

    square = Custom(oracle, 2)
    for scale in (1e-300, 1e-17, 1.0, 1e300, 0.0):
        cost = scale * np.array([0.3, -0.7])
        square.extreme_point(cost)
        largest = np.abs(asked[-1]).max()
        assert largest == 0.0 if scale == 0.0 else 0.5 <= largest < 1.0
        if scale:
            assert np.array_equal(np.log2(asked[-1] / cost), np.full(2, np.rint(np.log2(asked[-1][0] / cost[0]))))
    assert project(square, np.array([1e-30, 1e-30])).distance < 1e-6


def test_a_run_counts_the_calls_of_the_oracle():
    asked = []
    slate = Hypersimplex(6, 2)

    def oracle(cost):
        asked.append(cost)
        return slate.extreme_point(cost)

    domain = Custom(oracle, 6)
    environment = sv.lab.NoisyLinear(domain, seed=1)
    optimizer = bandit(domain, 500, loss_range=environment.loss_range, plan="worst-case")
    made = len(asked)
    run = sv.lab.simulate(optimizer, environment)
    assert 0 < run.details.oracle_calls <= len(asked) - made  # and the slate's own are not counted
