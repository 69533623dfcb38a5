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
def test_a_plan_is_the_one_that_the_optimizer_follows(options):
    made = plan(BALL, 10**6, RANGE, sv.PureDP(1.0), **options)
    given = {"horizon": 10**6, "loss_range": RANGE, "privacy": sv.PureDP(1.0)}
    run = sv.PrivateBandit(BALL, **given, **options).plan
    notes = made.notes[: len(run.notes)]
    assert (str(made).split("note")[0], notes) == (str(run).split("note")[0], run.notes)
    assert (made.bound, made.noise, made.step, made.options) == (run.bound, run.noise, run.step, run.options)
    if not options:
        assert sv.PrivateBandit(BALL, **given, plan=made).plan is made
        assert not any("too few" in note for note in made.notes)


def test_a_horizon_that_is_too_short_is_called_so_and_what_is_needed_is_enough():
    note = plan(BALL, 100, RANGE, sv.PureDP(1.0), plan="worst-case").notes[-1]
    assert note.startswith("too few events for this bound to say anything")
    needed = int(note.split()[-1].replace(",", ""))
    assert not plan(BALL, needed, RANGE, sv.PureDP(1.0), plan="worst-case").vacuous
    with pytest.raises(ValueError, match="losses must be one of"):
        plan(BALL, 1000, RANGE, sv.PureDP(1.0), losses="cubic")


@every(
    "epsilon, options",
    [(0.1, {}), (10.0, {"domain": sv.domains.Hypersimplex(6, 2), "losses": "linear", "integral": True})],
)
def test_the_horizon_needed_is_the_least_whatever_the_search_starts_from(epsilon, options):
    """Found from far below and from far above; a fifth less is not enough."""
    answers = [horizon_needed(problem(start, sv.PureDP(epsilon), **options), "worst-case") for start in (10, 10**7)]
    assert answers[0] == pytest.approx(answers[1], rel=0.1)
    for needed in answers:
        assert not make_plan(problem(needed, sv.PureDP(epsilon), **options), "worst-case").vacuous
        assert make_plan(problem(int(0.8 * needed), sv.PureDP(epsilon), **options), "worst-case").vacuous
        assert int(str(needed)[2:] or 0) == 0  # two digits, the rest is noise


def test_more_privacy_needs_more_events_than_there_may_be():
    """The paper's noise at a small epsilon drowns everything at any horizon that anybody has."""
    needed = [horizon_needed(problem(1000, sv.PureDP(epsilon))) for epsilon in (10.0, 0.3, 0.01)]
    assert needed == sorted(needed)
    assert needed[0] < needed[-1]
    assert horizon_needed(problem(1000, sv.PureDP(0.001), domain=sv.domains.Ball(10)), "paper") is None
    note = plan(sv.domains.Ball(10), 1000, RANGE, sv.PureDP(0.001), plan="paper").notes[-1]
    assert f"not even {LONGEST:.0e}" in note
    assert horizon_needed(problem(10**6), "worst-case", batch_size=2000) >= 2000  # choices are kept


def test_an_outlook_holds_the_plan_itself_and_every_point_is_a_plan():
    calls = []
    found = outlook(problem(20_000), points=5, progress=lambda done, total: calls.append((done, total)))
    assert calls == [(i + 1, len(calls)) for i in range(len(calls))]
    own = make_plan(problem(20_000))
    assert found.plan.bound == own.bound
    assert found.bound == found.by_budget[2] == found.by_horizon[2] == own.bound / 20_000
    assert (found.budget, found.budgets[2], found.horizons[2]) == (1.0, 1.0, 20_000)
    assert found.never_learning == own.no_learning / 20_000
    for budget, bound in zip(found.budgets, found.by_budget, strict=True):
        assert make_plan(problem(20_000, sv.PureDP(budget))).bound / 20_000 == bound
    for length, bound in zip(found.horizons.tolist(), found.by_horizon, strict=True):
        assert make_plan(problem(length)).bound / length == bound
    assert (found.without_privacy <= found.by_horizon).all()  # privacy never helps
    assert (found.without_privacy_here <= found.by_budget).all()
    assert (np.diff(found.by_budget) <= 0).all()


def test_other_guarantees_keep_what_is_not_varied_and_need_a_budget():
    found = outlook(problem(10**6, sv.ApproxDP(1.0, 1e-6, contributions=2)), points=2)
    low = make_plan(problem(10**6, sv.ApproxDP(0.01, 1e-6, contributions=2)))
    assert found.by_budget[0] == low.bound / 10**6
    assert outlook(problem(1000, sv.ZCDP(0.5)), points=1).budget_name == "rho"
    with pytest.raises(ValueError, match="privacy must have a budget"):
        outlook(problem(1000, sv.NoPrivacy()))


def test_budgets_that_no_mechanism_serves_are_left_out(monkeypatch):
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
