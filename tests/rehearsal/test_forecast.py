"""Forecasts: the same on every call, true of runs that they did not see, and said in words that follow from them."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

import sottovoce as sv
from sampling import every, sampled
from sottovoce.plans.forecast import Forecast, Spread
from sottovoce.plans.plan import Plan
from sottovoce.plans.problem import Problem
from sottovoce.rehearsal import Rehearsal, _scope
from sottovoce.rehearsal._scope import work_of

ARMS, RANGE, ONE = sv.domains.Simplex(4), (0.0, 1.0), sv.PureDP(1.0)
LINEAR = {"losses": "linear", "integral": True}
QUICK, QUICKER = {"rehearse": 0.03}, {"rehearse": 0.01}


def planned(horizon=2000, privacy=ONE, domain=ARMS, **options):
    return sv.plan(domain, horizon, RANGE, privacy, **{**LINEAR, **QUICK, **options})


@pytest.fixture(scope="module")
def usual():
    return planned(rehearse=0.05)


@pytest.fixture(scope="module")
def short():
    return planned(400)


def test_it_is_the_same_on_every_call(usual):
    again = planned(rehearse=0.05)
    assert again.forecast == usual.forecast
    assert str(again) == str(usual)


def test_runs_that_it_did_not_see_come_out_as_it_says():
    """Items that fail by lot, with odds that are spread evenly: the best gains 0.3, and losses scatter by 0.45."""

    class Lots(sv.lab.FiniteEnvironment):
        name, loss_range, lipschitz = "lots", RANGE, 2.0

        def __init__(self, seed):
            super().__init__(ARMS, seed)
            odds = self._design_rng().permutation([0.2, 0.4, 0.6, 0.8])
            costs = (self._design_rng().random((512, 4)) < odds).astype(float)
            self.library = sv.lab.LinearLosses(costs, 0.0)

        def schedule(self, start, size, rng):
            return rng.integers(0, 512, size=size)

    def share(privacy, seed):
        optimizer = sv.PrivateBandit(
            ARMS, horizon=2000, loss_range=RANGE, privacy=privacy, seed=seed, noise=sv.SimulatedNoise(seed), **LINEAR
        )
        run = sv.lab.simulate(optimizer, Lots(seed), record=2)
        return run.final_regret / run.final_no_learning

    private = np.mean([share(ONE, seed) for seed in range(6)])
    free = np.mean([share(sv.NoPrivacy(), seed) for seed in range(6)])
    said = planned(rehearse=0.05, contrast=0.3, scatter=0.45).forecast
    assert said.share.low < private < said.share.high
    assert said.share_without_privacy.low < free < said.share_without_privacy.high
    assert said.price.low < private / free < said.price.high


def test_the_lengths_say_when_as_much_is_learned(usual):
    said = usual.forecast
    assert said.half.central < said.most.central
    shorter, longer = (planned(round(one), rehearse=0.05).forecast.share for one in (said.half.low, said.half.high))
    assert shorter.high > 0.5 > longer.low
    assert shorter.central > longer.central


def test_without_hints_it_says_what_each_contrast_would_bring(usual):
    said = usual.forecast
    assert [(one.contrast, round(one.scatter, 2)) for one in said.cases] == [
        (0.01, 0.1), (0.03, 0.17), (0.1, 0.3), (0.3, 0.46)
    ]  # fmt: skip
    shares = [one.share.central for one in said.cases]
    assert shares[0] > shares[1] > max(shares[2:])
    assert said.cases[2].share == said.share
    assert "  if 3%    " in str(said)
    assert "sv.plan(..., contrast=, scatter=)" in str(said)
    known = planned(contrast=0.1, scatter=0.3, rehearse=0.05).forecast
    assert known.cases == ()
    assert known.share.central == pytest.approx(said.share.central, rel=0.5)
    assert "if 3%" not in str(known)


def test_a_long_run_is_extrapolated_and_says_so():
    said = planned(10**8).forecast
    assert said.longest < 10**8
    assert "extrapolated from" in str(said)
    assert said.share.central < 0.05


def test_a_run_that_is_too_short_or_has_little_contrast_is_called_hopeless_and_a_bound_that_says_nothing_is_not():
    made = planned(60, sv.PureDP(0.01))
    assert made.forecast.hopeless
    assert "expect little or nothing to be learned" in str(made)
    assert made.forecast.half.central > 60
    assert planned(200, contrast=0.0005).forecast.hopeless
    vacuous = planned(500, plan="worst-case", domain=sv.domains.Ball(2), losses="convex", integral=False)
    assert vacuous.vacuous
    assert not vacuous.forecast.hopeless
    assert "expect little" not in str(vacuous)
    assert "expect little" not in str(replace(vacuous, forecast=None))


class TestKinds:
    @pytest.mark.parametrize(
        ("privacy", "options"),
        sampled(
            [
                (sv.NoPrivacy(), {}),
                (sv.ApproxDP(1.0, 1e-6), {}),
                (sv.ZCDP(0.5), {}),
                (sv.LocalDP(2.0), {}),
                (sv.PureDP(1.0, contributions=3), {}),
                (ONE, {"integral": False, "losses": "convex"}),
                (ONE, {"plan": "worst-case", **QUICKER}),
                (ONE, {"plan": "paper", "integral": False, "play": "around"}),
                (ONE, {"features": np.eye(4)[:, :2]}),
                (
                    ONE,
                    {"plan": "worst-case", "mechanism": "tree", "exploration": "sphere", "integral": False, **QUICKER},
                ),
                (ONE, {"plan": "worst-case", "probe_events": 100, **QUICKER}),
            ],
            [0, 4],
        ),
    )
    def test_all_are_rehearsed(self, privacy, options):
        said = planned(200, privacy, **options).forecast
        assert (said.price is None) == (not privacy.private)
        assert 0 < said.share.low <= said.share.central <= said.share.high

    def test_a_horizon_may_be_unknown(self):
        made = planned(None)
        own = sv.PrivateBandit(ARMS, horizon=None, loss_range=RANGE, privacy=ONE, **LINEAR).plan
        assert made.horizon == own.horizon
        assert made.forecast.horizon == 100_000
        assert "first epoch" in made.notes[-1]

    def test_a_prior_and_segments_are_left_out_and_that_is_said(self, short):
        optimizer = sv.PrivateBandit(ARMS, horizon=300, loss_range=RANGE, privacy=ONE, **LINEAR)
        actions = optimizer.ask_round()
        optimizer.tell(actions.ids, actions.x[:, 0])
        made = planned(400, prior=optimizer.posterior())
        assert "rehearsed without the prior" in str(made)
        segmented = planned(400, segments=["phone", "desktop"])
        assert "rehearsed without segments" in str(segmented)
        for one in (made, segmented):
            assert replace(one.forecast, notes=()) == short.forecast

    def test_a_ready_plan_is_rehearsed_at_its_own_horizon(self):
        ready = planned(400, rehearse=False)
        made = planned(400, plan=ready)
        assert made.forecast.longest == 400
        long = planned(10**6, rehearse=False)
        assert "own horizon" in planned(10**6, plan=long).notes[-1]

    def test_other_ranges_are_forecast_alike(self, short):
        other = sv.plan(ARMS, 400, (-3.0, 5.0), ONE, **LINEAR, **QUICK).forecast
        assert other.share.central == pytest.approx(short.forecast.share.central, rel=0.2)


class TestLarge:
    def test_many_coordinates_are_not_rehearsed_and_that_is_said(self):
        made = planned(10**6, domain=sv.domains.Hypersimplex(100_000, 50))
        assert made.forecast is None
        assert "not rehearsed" in made.notes[-1]
        assert str(made).startswith("Forecast: none; the note below says why")
        assert "100,000 coordinates" in made.notes[-1]

    def test_what_learned_too_little_is_not_extrapolated(self):
        made = planned(10**6, sv.PureDP(0.01), domain=sv.domains.Hypersimplex(40, 5), rehearse=0.03)
        assert made.forecast is None
        assert "learn too little to tell" in made.notes[-1]

    def test_work_is_bounded_by_what_is_allowed(self):
        for dimension in (5, 50, 500, 5000):
            problem = Problem(sv.domains.Hypersimplex(dimension, 2), 10**7, RANGE, ONE, **LINEAR)
            rehearsal = Rehearsal(problem, "auto", {}, 0.1, 0.3)
            work = sum(work_of(problem, rehearsal._plan(length)) for length in rehearsal.lengths)
            assert 2 * len(rehearsal.worlds) * work <= 10_000

    def test_an_oracle_that_is_slow_is_asked_less(self):
        """By a clock that says so: seconds pass with every call."""
        calls, now, pause = [], [0.0], [0.001]

        def solver(cost):
            calls.append(1)
            now[0] += pause[0]
            return np.eye(4)[cost.argmin()]

        slow, slower, quick = (sv.domains.Custom(one, 4) for one in (solver, solver, lambda c: np.eye(4)[c.argmin()]))
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(_scope.time, "perf_counter", lambda: now[0])
            assert _scope.oracle_work(slow) > _scope.oracle_work(quick) == 0.0
            pause[0] = 1.0
            assert _scope.oracle_work(slower) > _scope.oracle_work(slow)
        before = len(calls)
        made = [planned(5000, domain=domain, rehearse=0.2) for domain in (slow, quick)]
        assert made[0].forecast.events < made[1].forecast.events
        assert len(calls) - before < 2000
        assert "the set's oracle is slow" in planned(5000, domain=slower, rehearse=0.1).notes[-1]


def test_a_bound_above_the_range_is_not_printed():
    made = sv.plan(sv.domains.Ball(10), 1000, RANGE, ONE, plan="paper", rehearse=False)
    assert made.bound / 1000 > 1
    assert f"{made.bound / 1000:.4g}" not in str(made)
    assert "none that says anything" in dict(made.rows)["bound"]


def test_a_forecast_goes_through_json_and_a_plan_without_one_says_how_to_get_one(usual):
    assert usual.forecast.cases
    again = Plan.from_dict(json.loads(json.dumps(usual.to_dict())))
    assert again.forecast == usual.forecast
    assert again == usual == replace(usual, forecast=None)
    endless = replace(usual.forecast, cases=(), most=Spread(math.inf, 1e6, math.inf))
    assert Forecast.from_dict(json.loads(json.dumps(endless.to_dict(), allow_nan=False))) == endless
    assert "more than 1,000,000 events" in str(endless)
    given = {"horizon": 2000, "loss_range": RANGE, "privacy": ONE, **LINEAR}
    optimizer = sv.PrivateBandit(ARMS, **given)
    assert str(optimizer.plan).splitlines()[0].startswith("Forecast: none was asked for; sv.plan(")
    assert optimizer.plan.to_dict()["forecast"] is None
    assert sv.PrivateBandit(ARMS, plan=usual, **given).plan is usual
    assert usual.price_of_privacy == usual.forecast.price.central
    bare = replace(usual, forecast=None)
    assert bare.price_of_privacy == bare.bound / bare.bound_without_privacy


def test_the_words_are_those_of_the_numbers():
    spread = Spread(0.2, 0.1, 0.4)
    said = Forecast(
        1000, spread, Spread(0.1, 0.05, 0.2), Spread(2.0, 1.5, 3.0), Spread(210, 100, 450), Spread(4100, 2000, 9000),
        (0.1, 0.3), 4, 1000, 8000,
    )  # fmt: skip
    words = str(said)
    assert "80% (60% to 90%) of what a fixed decision can gain" in words
    assert "multiplies the regret by 2 (1.5 to 3); without it 90% would be learned" in words
    assert "half of it takes 210 (100 to 450) events, 90% of it 4,100 (2,000 to 9,000) events" in words
    assert "extrapolated" not in words


@every(
    "options, words",
    [
        ({"contrast": 0.0}, "contrast must be"),
        ({"contrast": 2.0}, "contrast must be"),
        ({"scatter": 0.7}, "scatter must be"),
        ({"rehearse": -1.0}, "rehearse must be"),
    ],
)
def test_bad_arguments_are_refused(options, words):
    with pytest.raises((TypeError, ValueError), match=words):
        planned(**options)
