"""Verdicts follow from the numbers: a claim that is false of the runs is called so."""

import dataclasses
import math

import numpy as np
import pytest

from reproduced import dimension_of, invented
from sampling import every
from sottovoce.lab import Cell, Result
from sottovoce.lab.reproduction.claims import (
    LEMMAS,
    WORDS,
    along,
    claims,
    lemma_gaussian,
    lemma_laplace,
    lemma_without_noise,
)
from sottovoce.lab.reproduction.evidence import FAILS, HOLDS, UNSEEN, judge_calls, judge_match, judge_power
from sottovoce.lab.reproduction.extent import LARGE, OPEN_LOOP, POLYTOPE, SMALL, Base, Extent, reproduction_grid
from sottovoce.lab.sweeps.running import run_cell

SCALE = Extent(
    Base(dimension=8, horizon=10_000, epsilon=1.0),
    horizons=(1_000, 10_000, 100_000),
    dimensions=(4, 8, 16),
    epsilons=(0.1, 1.0, 3.0),
    huge_epsilons=(100.0, 1_000.0),
    slow_horizons=(1_000, 10_000),
    seeds=4,
)


def results_of(regret, scale=SCALE, *, spread=0.03, never=0.5, bound=math.inf):
    """Results of the whole grid with a regret made up from algorithm, T, n and epsilon, and noise over seeds."""
    rng, results = np.random.default_rng(0), []
    for cell in reproduction_grid(scale):
        size = regret(cell.algorithm, float(cell.horizon), float(dimension_of(cell)), cell.epsilon)
        size *= math.exp(spread * rng.standard_normal())
        results.append(invented(cell, size, never_learning=never * cell.horizon, predicted=bound, oracle_calls=9))
    return tuple(results)


def true_claims(algorithm, horizon, dimension, epsilon):
    """A world in which everything is a hair better than the paper says, with constants small enough to learn."""
    lemma = LEMMAS.get(algorithm, lemma_without_noise)
    size = 0.01 * lemma(horizon, dimension, epsilon) / (lemma(1e4, 8.0, 1.0) / lemma_without_noise(1e4, 8.0, 1.0))
    hair = 0.02 if algorithm.startswith(("garber-kretzu", "smith-thakurta")) else 0.06
    budget = 1.0 if math.isinf(epsilon) else epsilon
    return size * (horizon / 1e4 * dimension / 8 / budget) ** -hair


def no_learning(algorithm, horizon, dimension, epsilon):
    """A world in which the paper's constants, and nothing else, drown in noise."""
    return (
        1.5 * horizon
        if algorithm.startswith(("paper-l", "paper-g"))
        else true_claims(algorithm, horizon, dimension, epsilon)
    )


def verdicts(claim):
    return {row.who: row.verdict for row in claim.rows}


def judge(results, scale=SCALE):
    return claims(results, scale.base)


def power(results, allowed=0.75):
    found = along(results, "default", "horizon", SCALE.base)
    return judge_power(WORDS["default"], found, allowed, claimed=0.75)


class TestVerdicts:
    def test_where_everything_is_true_everything_holds(self):
        for claim in judge(results_of(true_claims, spread=0.01)):
            assert set(verdicts(claim).values()) == {HOLDS}, claim

    def test_where_nothing_is_learned_nothing_can_be_seen(self):
        for claim in judge(results_of(no_learning, spread=0.01))[:-1]:
            for row in claim.rows:
                expected = UNSEEN if row.who.startswith("the paper's noise") else HOLDS
                assert row.verdict == expected

    @every(
        "place, steeper",
        [
            (0, lambda T, n, e: (T / 1e4) ** 0.3),
            (1, lambda T, n, e: (n / 8) ** 1.5),
            (2, lambda T, n, e: (n / 8) ** 0.4),
            (3, lambda T, n, e: e**-1.2),
            (4, lambda T, n, e: (T / 1e4) ** 0.2),
            (5, lambda T, n, e: (T / 1e4) ** 0.2),
        ],
    )
    def test_a_claim_that_is_false_is_called_so(self, place, steeper):
        """This library's default alone is made to grow faster than claimed; the rest stays as claimed."""

        def regret(algorithm, T, n, e):
            return true_claims(algorithm, T, n, e) * (steeper(T, n, e) if algorithm == "default" else 1.0)

        claim = judge(results_of(regret, spread=0.01))[place]
        wrong = {row.who for row in claim.rows if row.verdict == FAILS}
        assert wrong
        assert all(who.startswith("this library, pure") for who in wrong)
        assert all("above" in row.why for row in claim.rows if row.verdict == FAILS)

    def test_the_paper_too_is_called_wrong_where_it_is(self):
        def regret(algorithm, T, n, e):
            return true_claims(algorithm, T, n, e) * ((T / 1e4) ** 0.25 if algorithm == "paper-laplace" else 1.0)

        claim = judge(results_of(regret, spread=0.01, never=5.0))[0]
        assert verdicts(claim)["the paper's noise, Laplace"] == FAILS
        assert verdicts(claim)["the paper's noise, Gaussian"] == HOLDS

    def test_without_runs_nothing_is_claimed(self):
        for claim in judge(()):
            assert {(row.verdict, row.why) for row in claim.rows} == {(UNSEEN, "no runs were finished")}


class TestEvidence:
    def test_slopes_are_fitted_where_it_learns(self):
        def regret(algorithm, T, n, e):
            return 2.0 * T if T < 5_000 else T**0.5

        row = power(results_of(regret, spread=0.001))
        assert row.measured.startswith("0.499 ± 0.0")
        assert row.why.endswith("over the 2 of 3 values at which it learns")
        assert row.level == "4 to 0.0063"

    def test_a_share_of_the_bound_is_shown_where_there_is_one(self):
        for bound, share in ((40.0, "0.25 to 0.25"), (math.nan, "")):
            assert power(results_of(lambda *_: 10.0, spread=0.0, bound=bound)).share_of_bound == share

    def test_a_match_reports_the_ratio_and_who_does_not_learn(self):
        def regret(algorithm, T, n, e):
            return 2.0 * T if algorithm.startswith("smith") else 0.1 * T

        results = results_of(regret, spread=0.01)
        ours, theirs = (along(results, name, "horizon", SCALE.base) for name in ("default", "smith-thakurta"))
        row = judge_match("ours", ours, "theirs", theirs, allowed=0.0)
        assert row.measured.startswith("0.05 [0.05, 0.05] times")
        assert row.verdict == HOLDS
        assert row.why.endswith("theirs, does not learn there")

    def test_only_the_quantity_of_the_axis_varies(self):
        results = results_of(lambda algorithm, T, n, e: T + 1e6 * n + 1e9 / e, spread=0.0)
        base = SCALE.base
        for axis, expected in {
            "horizon": [T + 8e6 + 1e9 for T in SCALE.horizons],
            "dimension": [1e4 + 1e6 * n + 1e9 for n in SCALE.dimensions],
            "1/epsilon": [1e4 + 8e6 + 1e9 / e for e in reversed(SCALE.epsilons)],
        }.items():
            found = along(results, "default", axis, base)
            assert found.regrets == pytest.approx(np.tile(expected, (SCALE.seeds, 1)))

    def test_runs_on_another_set_count_for_oracle_calls_alone(self):
        found = along(results_of(true_claims), "paper-no-noise", "dimension", SCALE.base)
        assert found.values == (4.0, 8.0, 16.0)

    def test_horizons_with_few_seeds_are_left_out(self):
        longer = dataclasses.replace(SCALE, longest=(10_000_000,), longest_seeds=2, seeds=6)
        assert along(results_of(true_claims, longer), "default", "horizon", SCALE.base).values == (1e3, 1e4, 1e5)


class TestFormulas:
    """The lemmas, against what they say as T, n and 1/epsilon grow."""

    @every(
        "lemma, T, n, e",
        [(lemma_laplace, 0.75, 1.5, 1.0), (lemma_gaussian, 0.75, 0.5, 1.0), (lemma_without_noise, 0.75, 0.5, 0.0)],
    )
    def test_powers_at_the_far_end(self, lemma, T, n, e):
        far = 1e200

        def power(change):
            return math.log(lemma(*change(10.0)) / lemma(*change(1.0))) / math.log(10)

        assert power(lambda x: (x * far, 10.0, 1e-9)) == pytest.approx(T, abs=0.02)
        assert power(lambda x: (far, x * 100.0, 1e-9)) == pytest.approx(n, abs=0.01)
        assert power(lambda x: (far, 10.0, 1e-9 / x)) == pytest.approx(e, abs=0.01)


class TestGrid:
    @every("scale", [SMALL, LARGE, SCALE])
    def test_every_claim_finds_its_runs(self, scale):
        """No row of any claim is empty, and the base is part of every axis."""
        for claim in claims(results_of(true_claims, scale), scale.base):
            for row in claim.rows:
                assert "no runs" not in row.why
                assert row.measured
        assert scale.base.horizon in scale.horizons
        assert scale.base.dimension in scale.dimensions
        assert scale.base.epsilon in scale.epsilons
        assert set(scale.slow_horizons) <= set(scale.horizons)
        assert max(scale.dimensions) ** 2 <= scale.base.horizon  # where the paper's bound has n^(1/2)


# ---------------------------------------------------------------------- one call of the oracle for each event


def counted(calls, horizons=(1_000, 10_000, 100_000), seeds=3):
    return [
        Result(Cell("ball", "it", 1.0, T, seed), "done", oracle_calls=int(calls(T)) + seed)
        for T in horizons
        for seed in range(seeds)
    ]


def test_calls_of_the_order_of_events_hold_and_one_run_with_more_calls_than_events_breaks_it():
    results = counted(lambda T: T / 9)
    row = judge_calls("it", results)
    assert (row.verdict, row.measured) == (HOLDS, "0.11 to 0.11 calls an event")
    assert "they grow as T to the power of 0.998 ± 0.001" in row.why
    row = judge_calls("it", [*results, Result(Cell("ball", "it", 1.0, 1_000, 9), "done", oracle_calls=1_001)])
    assert row.verdict == FAILS
    assert row.why.startswith("at most 1 calls an event in any run, of 1,000 events")


def test_no_calls_and_no_runs():
    none = judge_calls("it", [Result(Cell("ball", "it", 1.0, 10, 0), "done")])
    assert (none.verdict, none.measured) == (HOLDS, "0 calls an event")
    assert "formula" in none.why
    assert judge_calls("it", [Result(Cell("ball", "it", 1.0, 10, 0), "failed")]).verdict == UNSEEN


@every("algorithm", ["paper-no-noise", "garber-kretzu", OPEN_LOOP])
@every("problem", ["ball:dimension=8,play=around", POLYTOPE])
def test_algorithm_1_keeps_it(problem, algorithm):
    """The paper's own parameters, at a horizon that is quick: fewer calls than events, and more than none."""
    result = run_cell(Cell(problem, algorithm, math.inf, 900, 0)).result
    assert 0 < result.oracle_calls <= 900
