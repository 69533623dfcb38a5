"""Verdicts follow from the numbers: a claim that is false of the runs is called so."""

import dataclasses
import math

import numpy as np
import pytest

from sampling import every
from sottovoce.lab import Result
from sottovoce.lab.reproduction.evidence import FAILS, HOLDS, UNSEEN, judge_match, judge_power
from sottovoce.lab.reproduction.extent import LARGE, SMALL, Extent, judge, reproduction_grid
from sottovoce.lab.reproduction.hindsight import best_by_seed
from sottovoce.lab.reproduction.lemmas import LEMMAS, lemma_gaussian, lemma_laplace, lemma_without_noise
from sottovoce.lab.reproduction.paper_claims import Base, along, claims

SCALE = Extent(
    Base(dimension=8, horizon=10_000, epsilon=1.0),
    horizons=(1_000, 10_000, 100_000),
    dimensions=(4, 8, 16),
    epsilons=(0.1, 1.0, 3.0),
    huge_epsilons=(100.0, 1_000.0),
    slow_horizons=(1_000, 10_000),
    seeds=4,
)


def dimension_of(cell):
    return int(cell.problem.partition("dimension=")[2].partition(",")[0] or 19)


def invented(regret, scale=SCALE, *, spread=0.03, never=0.5, bound=math.inf):
    """Results of the whole grid with a regret made up from algorithm, T, n and epsilon, and noise over seeds."""
    rng = np.random.default_rng(0)
    results = []
    for cell in reproduction_grid(scale):
        dimension = dimension_of(cell)
        size = regret(cell.algorithm, float(cell.horizon), float(dimension), cell.epsilon)
        size *= math.exp(spread * rng.standard_normal())
        figures = {"regret": size, "never_learning": never * cell.horizon, "predicted": bound, "oracle_calls": 9}
        results.append(Result(cell, "done", dimension=dimension, **figures))
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


class TestVerdicts:
    def test_where_everything_is_true_everything_holds(self):
        for claim in judge(invented(true_claims, spread=0.01), SCALE):
            assert set(verdicts(claim).values()) == {HOLDS}, claim
            assert claim.verdict.startswith("With the noise of the paper's lemmas it holds here (")
            assert "and the noise that privacy needs it holds here (" in claim.verdict
            assert "By this library's default it holds here (" in claim.verdict

    def test_where_nothing_is_learned_nothing_can_be_seen(self):
        for claim in judge(invented(no_learning, spread=0.01), SCALE)[:-1]:
            assert claim.of_paper.startswith("cannot be seen here, since too little is learned: regret is ")
            assert claim.of_needed.startswith("holds here (")
            assert "By this library's default it holds here (" in claim.verdict
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

        claim = judge(invented(regret, spread=0.01), SCALE)[place]
        wrong = {row.who for row in claim.rows if row.verdict == FAILS}
        assert wrong
        assert all(who.startswith("this library, pure") for who in wrong)
        assert "With the noise of the paper's lemmas it holds here" in claim.verdict
        assert "By this library's default it does not hold here" in claim.verdict
        assert all("above" in row.why for row in claim.rows if row.verdict == FAILS)

    def test_the_paper_too_is_called_wrong_where_it_is(self):
        def regret(algorithm, T, n, e):
            return true_claims(algorithm, T, n, e) * ((T / 1e4) ** 0.25 if algorithm == "paper-laplace" else 1.0)

        claim = judge(invented(regret, spread=0.01, never=5.0), SCALE)[0]
        assert verdicts(claim)["the paper's noise, Laplace"] == FAILS
        assert verdicts(claim)["the paper's noise, Gaussian"] == HOLDS
        assert "does not hold here with the paper's noise, Laplace" in claim.verdict

    def test_without_runs_nothing_is_claimed(self):
        for claim in judge((), SCALE):
            assert {row.verdict for row in claim.rows} == {UNSEEN}
            assert "no runs were finished" in claim.verdict

    def test_a_hair_above_is_called_wrong_less_often_than_the_level_says(self):
        """At a power that is exactly the claimed one, one test in 40 fails; 12 of 100 has probability below 1e-5."""
        wrong = 0
        for trial in range(100):
            rng = np.random.default_rng(trial)

            def regret(algorithm, T, n, e, rng=rng):
                return 0.01 * T**0.75 * math.exp(0.1 * rng.standard_normal())

            found = along(invented(regret, spread=0.0), "default", "horizon", SCALE.base)
            wrong += judge_power(found, 0.75, claimed=0.75).verdict == FAILS
        assert wrong < 12


class TestEvidence:
    def test_slopes_are_fitted_where_it_learns(self):
        def regret(algorithm, T, n, e):
            return 2.0 * T if T < 5_000 else T**0.5

        found = along(invented(regret, spread=0.001), "default", "horizon", SCALE.base)
        row = judge_power(found, 0.75, claimed=0.75)
        assert row.measured.startswith("0.499 ± 0.0")
        assert row.why.endswith("over the 2 of 3 values at which it learns")
        assert row.level == "4 to 0.0063"

    def test_a_share_of_the_bound_is_shown_where_there_is_one(self):
        found = along(invented(lambda *_: 10.0, spread=0.0, bound=40.0), "default", "horizon", SCALE.base)
        assert found.share_of_bound == "0.25 to 0.25"
        found = along(invented(lambda *_: 10.0, spread=0.0, bound=math.nan), "default", "horizon", SCALE.base)
        assert found.share_of_bound == ""

    def test_a_match_reports_the_ratio_and_who_does_not_learn(self):
        def regret(algorithm, T, n, e):
            return 2.0 * T if algorithm.startswith("smith") else 0.1 * T

        results = invented(regret, spread=0.01)
        ours, theirs = (along(results, name, "horizon", SCALE.base) for name in ("default", "smith-thakurta"))
        row = judge_match(ours, theirs, allowed=0.0)
        assert row.measured.startswith("0.05 [0.05, 0.05] times")
        assert row.verdict == HOLDS
        assert row.why.endswith("Smith-Thakurta, pure, does not learn there")

    def test_regret_that_is_not_positive_is_not_judged(self):
        found = along(invented(lambda *_: -1.0), "default", "horizon", SCALE.base)
        assert judge_power(found, 0.75, claimed=0.75).verdict == UNSEEN

    def test_only_the_quantity_of_the_axis_varies(self):
        results = invented(lambda algorithm, T, n, e: T + 1e6 * n + 1e9 / e, spread=0.0)
        base = SCALE.base
        for axis, expected in {
            "horizon": [T + 8e6 + 1e9 for T in SCALE.horizons],
            "dimension": [1e4 + 1e6 * n + 1e9 for n in SCALE.dimensions],
            "1/epsilon": [1e4 + 8e6 + 1e9 / e for e in reversed(SCALE.epsilons)],
        }.items():
            found = along(results, "default", axis, base)
            assert found.regrets == pytest.approx(np.tile(expected, (SCALE.seeds, 1)))

    def test_runs_on_another_set_count_for_oracle_calls_alone(self):
        found = along(invented(true_claims), "paper-no-noise", "dimension", SCALE.base, every=True)
        assert found.values.tolist() == [4.0, 8.0, 16.0]

    def test_failed_runs_are_left_out(self):
        results = [
            Result(one.cell, "failed", error="why") if one.cell.seed == 0 else one for one in invented(true_claims)
        ]
        assert along(results, "default", "horizon", SCALE.base).seeds == (1, 2, 3)


class TestFarValues:
    """A horizon with few seeds is reported, and takes no part in the verdict."""

    SCALE = dataclasses.replace(SCALE, longest=(10_000_000,), longest_seeds=2, seeds=6)

    def row(self, regret, algorithm="default"):
        results = invented(regret, self.SCALE, spread=0.001)
        found, far = (along(results, algorithm, "horizon", SCALE.base, every=every) for every in (False, True))
        assert (found.values[-1], len(found.seeds)) == (1e5, 6)
        assert (far.values[-1], far.seeds) == (1e7, (0, 1))
        return judge_power(found, 0.75, claimed=0.75, far=far)

    def test_it_is_reported(self):
        row = self.row(lambda algorithm, T, n, e: T**0.5)
        assert row.level == "0.063 to 0.0063; 0.00063 at 10,000,000"
        assert "; to 10,000,000, on 2 seeds, 0.500 ± 0.0" in row.why

    def test_it_decides_nothing(self):
        row = self.row(lambda algorithm, T, n, e: T**0.5 if T < 1e6 else 0.4 * T)
        assert row.verdict == HOLDS
        assert row.measured.startswith("0.500 ±") or row.measured.startswith("0.499 ±")
        assert "; to 10,000,000, on 2 seeds, 1.298 ± 0.000" in row.why


class TestHindsight:
    SCALE = dataclasses.replace(SCALE, hindsight_horizons=(1_000, 100_000), slow_hindsight_horizons=(10_000,))

    def results(self):
        def regret(algorithm, T, n, e):
            factor = float(algorithm.partition("radius_factor=")[2] or 1.0)
            baseline = algorithm.startswith(("garber", "smith", "chen", "fkm"))
            return 0.1 * T * (1 + abs(math.log(factor / 1.7))) if baseline else 0.05 * T

        return invented(regret, self.SCALE, spread=0.001)

    def test_the_best_constant_is_that_of_the_radius_with_the_least_regret(self):
        for who, horizons in {"Garber-Kretzu": [1_000, 100_000], "Smith-Thakurta, pure": [10_000]}.items():
            found = best_by_seed(self.results(), SCALE.base, who)
            assert list(found) == horizons
            for each in found.values():
                assert len(each) > 1
                assert list(each.values()) == pytest.approx([0.1] * len(each), rel=0.01)
        assert best_by_seed(self.results(), SCALE.base, "nobody") == {}

    def test_comparisons_name_it(self):
        found = judge(self.results(), self.SCALE)
        assert all(
            " 0.50 times its best constant in hindsight, at 100,000 events" in row.why
            for row in found[4].rows
            if "Garber" in row.who and "library" in row.who
        )
        assert any("its best constant in hindsight, at 10,000 events" in row.why for row in found[5].rows)


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
        for claim in claims(invented(true_claims, scale), scale.base):
            for row in claim.rows:
                assert "no runs" not in row.why
                assert row.measured
        assert scale.base.horizon in scale.horizons
        assert scale.base.dimension in scale.dimensions
        assert scale.base.epsilon in scale.epsilons
        assert set(scale.slow_horizons) <= set(scale.horizons)
        assert max(scale.dimensions) ** 2 <= scale.base.horizon  # where the paper's bound has n^(1/2)
