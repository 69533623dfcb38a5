"""Plans for the asking: the same as the optimizer's own, and honest about horizons that are too short."""

import numpy as np
import pytest

import sottovoce as sv
from sampling import every
from sottovoce.plans import outlook as module
from sottovoce.plans.choosing import make_plan
from sottovoce.plans.outlook import LONGEST, horizon_needed, outlook, plan
from sottovoce.plans.problem import Problem

BALL, RANGE = sv.domains.Ball(3), (0.0, 1.0)


def problem(horizon, privacy=None, domain=BALL, **options):
    return Problem(domain, horizon, RANGE, privacy or sv.PureDP(1.0), **options)


class TestPlan:
    @every(
        "options",
        [
            {},
            {"plan": "paper"},
            {"play": "around", "lipschitz": 0.7},
            {"losses": "linear", "plan": "worst-case"},
            {"exploration": "sphere", "mechanism": "tree", "radius": 0.1},
            {"batch_size": 500, "directions": 2, "plan": "worst-case"},
        ],
    )
    def test_it_is_the_one_that_the_optimizer_follows(self, options):
        made = plan(BALL, 10**6, RANGE, sv.PureDP(1.0), **options)
        run = sv.PrivateBandit(BALL, horizon=10**6, loss_range=RANGE, privacy=sv.PureDP(1.0), **options).plan
        notes = made.notes[: len(run.notes)]
        assert (str(made).split("note")[0], notes) == (str(run).split("note")[0], run.notes)
        assert (made.bound, made.noise, made.step, made.options) == (run.bound, run.noise, run.step, run.options)

    def test_an_optimizer_follows_it(self):
        made = plan(BALL, 5000, RANGE, sv.PureDP(1.0))
        run = sv.PrivateBandit(BALL, horizon=5000, loss_range=RANGE, privacy=sv.PureDP(1.0), plan=made)
        assert run.plan is made

    def test_a_horizon_that_is_too_short_is_called_so_and_what_is_needed_is_enough(self):
        note = plan(BALL, 100, RANGE, sv.PureDP(1.0), plan="worst-case").notes[-1]
        assert note.startswith("too few events for this bound to say anything")
        needed = int(note.split()[-1].replace(",", ""))
        assert not plan(BALL, needed, RANGE, sv.PureDP(1.0), plan="worst-case").vacuous

    def test_a_horizon_that_is_long_enough_is_not(self):
        assert not any("too few" in note for note in plan(BALL, 10**6, RANGE, sv.PureDP(1.0)).notes)

    def test_bad_arguments_are_refused(self):
        with pytest.raises(TypeError, match="unknown choice zeta"):
            plan(BALL, 1000, RANGE, sv.PureDP(1.0), zeta=1.0)
        with pytest.raises(ValueError, match="losses must be one of"):
            plan(BALL, 1000, RANGE, sv.PureDP(1.0), losses="cubic")


class TestHorizonNeeded:
    @every(
        "epsilon, options",
        [(0.1, {}), (10.0, {"domain": sv.domains.Hypersimplex(6, 2), "losses": "linear", "integral": True})],
    )
    def test_it_is_the_least_whatever_the_search_starts_from(self, epsilon, options):
        """Found from far below and from far above; a fifth less is not enough."""
        answers = [horizon_needed(problem(start, sv.PureDP(epsilon), **options), "worst-case") for start in (10, 10**7)]
        assert answers[0] == pytest.approx(answers[1], rel=0.1)
        for needed in answers:
            assert not make_plan(problem(needed, sv.PureDP(epsilon), **options), "worst-case").vacuous
            assert make_plan(problem(int(0.8 * needed), sv.PureDP(epsilon), **options), "worst-case").vacuous
            assert int(str(needed)[2:] or 0) == 0  # two digits, the rest is noise

    def test_more_privacy_needs_more_events(self):
        needed = [horizon_needed(problem(1000, sv.PureDP(epsilon))) for epsilon in (10.0, 0.3, 0.01)]
        assert needed == sorted(needed)
        assert needed[0] < needed[-1]

    def test_there_may_be_none(self):
        """The paper's noise at a small epsilon drowns everything at any horizon that anybody has."""
        assert horizon_needed(problem(1000, sv.PureDP(0.001), domain=sv.domains.Ball(10)), "paper") is None
        note = plan(sv.domains.Ball(10), 1000, RANGE, sv.PureDP(0.001), plan="paper").notes[-1]
        assert f"not even {LONGEST:.0e}" in note

    def test_choices_that_need_some_events_are_kept(self):
        assert horizon_needed(problem(10**6), "worst-case", batch_size=2000) >= 2000


@pytest.fixture(scope="module")
def found():
    calls = []
    found = outlook(problem(20_000), points=5, progress=lambda done, total: calls.append((done, total)))
    assert calls == [(i + 1, len(calls)) for i in range(len(calls))]
    return found


class TestOutlook:
    def test_it_holds_the_plan_itself(self, found):
        own = make_plan(problem(20_000))
        assert found.plan.bound == own.bound
        assert found.bound == found.by_budget[2] == found.by_horizon[2] == own.bound / 20_000
        assert (found.budget, found.budgets[2], found.horizons[2]) == (1.0, 1.0, 20_000)
        assert found.never_learning == own.no_learning / 20_000

    def test_every_point_is_a_plan(self, found):
        for budget, bound in zip(found.budgets, found.by_budget, strict=True):
            assert make_plan(problem(20_000, sv.PureDP(budget))).bound / 20_000 == bound
        for length, bound in zip(found.horizons.tolist(), found.by_horizon, strict=True):
            assert make_plan(problem(length)).bound / length == bound

    def test_privacy_never_helps(self, found):
        assert (found.without_privacy <= found.by_horizon).all()
        assert (found.without_privacy_here <= found.by_budget).all()
        assert (np.diff(found.by_budget) <= 0).all()

    def test_other_guarantees_keep_what_is_not_varied(self):
        found = outlook(problem(10**6, sv.ApproxDP(1.0, 1e-6, contributions=2)), points=2)
        low = make_plan(problem(10**6, sv.ApproxDP(0.01, 1e-6, contributions=2)))
        assert found.by_budget[0] == low.bound / 10**6
        assert outlook(problem(1000, sv.ZCDP(0.5)), points=1).budget_name == "rho"

    def test_budgets_that_no_mechanism_serves_are_left_out(self, monkeypatch):
        def refusing(given, *arguments, **choices):
            if given.privacy.private and given.privacy.epsilon > 10:
                raise ValueError("no such noise")
            return make_plan(given, *arguments, **choices)

        monkeypatch.setattr(module, "make_plan", refusing)
        found = outlook(problem(1000), points=3)
        assert found.budgets.tolist() == [0.01, 1.0]
        assert np.isfinite(found.by_budget).all()
        with pytest.raises(ValueError, match="no such noise"):
            outlook(problem(1000, sv.PureDP(20.0)), points=3)

    def test_without_a_budget_there_is_nothing_to_vary(self):
        with pytest.raises(ValueError, match="privacy must have a budget"):
            outlook(problem(1000, sv.NoPrivacy()))
