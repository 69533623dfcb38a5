"""Summaries of seeds, and slopes with their intervals."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sottovoce.lab import Cell, Result
from sottovoce.lab.reproduction.tables import fit, seed_table
from sottovoce.lab.summary import summarise


def result(regret, *, problem="ball", algorithm="default", epsilon=1.0, horizon=1_000, seed=0, **more):
    return Result(Cell(problem, algorithm, epsilon, horizon, seed), "done", regret=regret, **more)


class TestFit:
    @given(st.floats(-2, 2), st.floats(0.1, 100), st.lists(st.floats(1, 1e6), min_size=2, max_size=6, unique=True))
    def test_a_power_law_is_found_exactly(self, slope, factor, values):
        values = np.array(values)
        if np.ptp(np.log(values)) < 0.1:
            return
        found = fit(values, factor * np.stack([values**slope, 2 * values**slope]))
        assert found.slope == pytest.approx(slope, abs=1e-6)
        assert found.low == pytest.approx(slope, abs=1e-6)

    def test_it_agrees_with_an_independent_regression(self):
        rng = np.random.default_rng(0)
        values = np.array([10.0, 30.0, 100.0, 500.0])
        regrets = np.exp(rng.standard_normal((7, 4)))
        each = [stats.linregress(np.log(values), np.log(row)).slope for row in regrets]
        interval = stats.ttest_1samp(each, 0.0).confidence_interval(0.95)
        found = fit(values, regrets)
        assert (found.slope, found.error) == pytest.approx((np.mean(each), stats.sem(each)))
        assert (found.low, found.high) == pytest.approx(tuple(interval))

    def test_one_seed_has_a_slope_and_no_interval(self):
        found = fit(np.array([1.0, 10.0]), np.array([[1.0, 10.0]]))
        assert found.slope == pytest.approx(1.0)
        assert math.isnan(found.error)
        assert math.isnan(found.low)
        assert str(found) == "1.00"


def test_only_seeds_that_were_finished_everywhere_count():
    results = [result(1.0, seed=0), result(9.0, seed=1), result(10.0, horizon=10_000, seed=0)]
    found = seed_table(results, lambda one: float(one.cell.horizon))
    assert (found.seeds, found.values, found.regrets.tolist()) == ((0,), (1_000.0, 10_000.0), [[1.0, 10.0]])


class TestSummary:
    """Means, errors and shares: tests/report/test_sweep_page.py, from the file of results."""

    def test_failed_runs_are_counted_and_leave_the_mean_alone(self):
        failed = Result(Cell("ball", "default", 1.0, 1_000, 1), "failed", error="why")
        (found,) = summarise([result(100.0, never_learning=200.0), failed])
        assert (found.runs, found.failed) == (1, 1)
        assert (found.regret, found.ratio) == (0.1, 0.5)
        assert math.isnan(found.regret_error)
        (all_failed,) = summarise([failed])
        assert math.isnan(all_failed.regret)

    def test_groups_keep_their_order(self):
        found = summarise([result(1.0, algorithm="b"), result(1.0, algorithm="a"), result(1.0, algorithm="b", seed=1)])
        assert [(one.algorithm, one.runs) for one in found] == [("b", 2), ("a", 1)]
