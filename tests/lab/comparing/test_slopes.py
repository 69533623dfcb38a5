"""Slopes and their intervals: exact on power laws, right as often as they claim on noisy ones."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sampling import every
from sottovoce.lab import Cell, Result
from sottovoce.lab.slopes import fit, slopes
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
        interval = stats.ttest_1samp(each, 0.0).confidence_interval(0.9)
        found = fit(values, regrets, confidence=0.9)
        assert (found.slope, found.error) == pytest.approx((np.mean(each), stats.sem(each)))
        assert (found.low, found.high) == pytest.approx(tuple(interval))

    @every("seeds", [2, 4, 10])
    @every("confidence", [0.8, 0.95])
    def test_intervals_hold_the_truth_as_often_as_they_say(self, seeds, confidence):
        """Noise is shared by the points of a seed and grows along the curve; 4.5 sigma, false alarm below 1e-5."""
        rng, trials, truth = np.random.default_rng(seeds), 1500, 0.75
        values = np.geomspace(1e3, 1e5, 4)
        hits = 0
        for _ in range(trials):
            shared = 0.5 * rng.standard_normal((seeds, 1)) * np.linspace(0.5, 2.0, 4)
            noise = shared + 0.1 * rng.standard_normal((seeds, 4)) * np.linspace(1, 3, 4)
            found = fit(values, values**truth * np.exp(noise), confidence=confidence)
            hits += found.low <= truth <= found.high
        spread = math.sqrt(trials * confidence * (1 - confidence))
        assert abs(hits - trials * confidence) < 4.5 * spread

    def test_one_seed_has_a_slope_and_no_interval(self):
        found = fit(np.array([1.0, 10.0]), np.array([[1.0, 10.0]]))
        assert found.slope == pytest.approx(1.0)
        assert math.isnan(found.error)
        assert math.isnan(found.low)
        assert str(found) == "1.00"


class TestSlopes:
    def test_each_quantity_has_its_own_slope(self):
        results = [
            result(
                horizon**0.75 * size**1.5 / epsilon,
                problem=f"ball:dimension={size}",
                horizon=horizon,
                epsilon=epsilon,
                seed=seed,
                dimension=size,
            )
            for horizon in (100, 1000)
            for size in (2, 4, 8)
            for epsilon in (0.1, 1.0)
            for seed in range(2)
        ]
        found = slopes(results)
        by = {
            kind: {round(one.fit.slope, 9) for one in found if one.against == kind}
            for kind in {s.against for s in found}
        }
        assert by == {"horizon": {0.75}, "dimension": {1.5}, "1/epsilon": {1.0}}
        counts = {kind: sum(one.against == kind for one in found) for kind in by}
        assert counts == {"horizon": 6, "dimension": 4, "1/epsilon": 6}
        (dimension, *_) = [one for one in found if one.against == "dimension"]
        assert (dimension.problem, dimension.values, dimension.seeds) == ("ball", (2.0, 4.0, 8.0), 2)

    def test_problems_that_differ_in_more_than_size_have_no_slope_in_dimension(self):
        texts = ("slate:items=10,slots=2", "slate:items=20,slots=4", "slate:items=20,slots=2")
        results = [result(1.0, problem=text, dimension=place + 1) for place, text in enumerate(texts)]
        assert slopes(results) == ()
        assert [one.against for one in slopes([results[0], results[2]])] == ["dimension"]

    def test_without_privacy_there_is_no_slope_in_epsilon(self):
        assert slopes([result(1.0, epsilon=math.inf, seed=seed) for seed in range(3)]) == ()

    def test_regret_that_is_not_positive_has_no_logarithm(self):
        (found,) = slopes([result(-1.0), result(2.0, horizon=10_000)])
        assert found.fit is None
        assert found.reason == "regret is not positive in 1 of 2 runs"

    def test_only_seeds_that_were_finished_everywhere_count(self):
        results = [result(1.0, seed=0), result(9.0, seed=1), result(10.0, horizon=10_000, seed=0)]
        (found,) = slopes(results)
        assert (found.seeds, round(found.fit.slope, 9)) == (1, 1.0)
        (found,) = slopes([result(1.0, seed=0), result(1.0, horizon=10_000, seed=1)])
        assert (found.fit, found.reason) == (None, "no seed was finished at every value")


class TestSummary:
    def test_means_and_standard_errors(self):
        regrets = np.array([10.0, 14.0, 9.0, 11.0])
        never = np.array([50.0, 60.0, 40.0, 55.0])
        (found,) = summarise(
            result(regret, never_learning=other, horizon=100, seed=seed)
            for seed, (regret, other) in enumerate(zip(regrets, never, strict=True))
        )
        assert found.regret == pytest.approx(regrets.mean() / 100)
        assert found.regret_error == pytest.approx(stats.sem(regrets) / 100)
        assert found.ratio == pytest.approx(regrets.sum() / never.sum())

    def test_failed_runs_are_counted_and_leave_the_mean_alone(self):
        failed = Result(Cell("ball", "default", 1.0, 1_000, 1), "failed", error="why")
        (found,) = summarise([result(100.0, never_learning=200.0), failed])
        assert (found.runs, found.failed, found.errors) == (1, 1, ("why",))
        assert (found.regret, found.ratio) == (0.1, 0.5)
        assert math.isnan(found.regret_error)
        (all_failed,) = summarise([failed])
        assert math.isnan(all_failed.regret)

    def test_groups_keep_their_order(self):
        found = summarise([result(1.0, algorithm="b"), result(1.0, algorithm="a"), result(1.0, algorithm="b", seed=1)])
        assert [(one.algorithm, one.runs) for one in found] == [("b", 2), ("a", 1)]
