"""Plans: the paper's parameters, noise that is never too small, horizons of every kind."""

import dataclasses
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sottovoce as sv
from sampling import every
from sottovoce.learning.epoch import Epoch
from sottovoce.plans.choosing import make_plan
from sottovoce.plans.plan import Plan
from sottovoce.plans.problem import Problem
from sottovoce.plans.sensitivity import needed_noise
from sottovoce.privacy import TREE

BALL = sv.domains.Ball(10)
GUARANTEES = [sv.NoPrivacy(), sv.PureDP(1.0), sv.PureDP(0.1, contributions=3), sv.ApproxDP(1.0, 1e-6), sv.ZCDP(0.1)]


def problem(
    horizon=10**6, privacy=None, domain=BALL, play="around", loss_range=(0.0, 2.0), lipschitz=1.0, losses="convex"
):
    return Problem(
        domain, horizon, loss_range, privacy or sv.NoPrivacy(), lipschitz=lipschitz, play=play, losses=losses
    )


def test_the_papers_parameters_and_scales_and_what_they_are_worth():
    """Line 1 of Algorithm 1 at n = 10, T = 10^6, D = 2, L = 1."""
    plan = make_plan(problem(), "paper")
    assert (plan.rounds, plan.batch_size, plan.delay, plan.baseline) == (1000, 1000, 1, 0.0)
    assert plan.radius == pytest.approx(2 * math.sqrt(10) / 10**1.5)
    assert plan.step == pytest.approx(2 / (10**4.5 * math.sqrt(10)))
    assert math.sqrt(plan.gap) == pytest.approx(2 / math.sqrt(1000))
    laplace = make_plan(problem(privacy=sv.PureDP(1.0)), "paper")
    assert laplace.noise.family == "laplace"
    assert in_gradient_units(laplace) == pytest.approx(1000 * 10 * math.log2(10**6))
    assert laplace.vacuous
    assert "never learning" in str(laplace)
    spread = math.log((10 + 10**6) / 1e-6)
    expected = 10**1.5 * math.sqrt(10) * math.log2(10**6) * math.log(10**6 / 1e-6)
    expected *= spread + math.sqrt((1 + 100) * spread)
    assert in_gradient_units(make_plan(problem(privacy=sv.ApproxDP(1.0, 1e-6)), "paper")) == pytest.approx(expected)
    for privacy in GUARANTEES:
        assert make_plan(problem(privacy=privacy), "auto").bound <= make_plan(problem(privacy=privacy), "paper").bound


def in_gradient_units(plan):
    return plan.noise_in_loss_units * 10 / plan.radius


def test_the_papers_scale_gives_way_where_privacy_needs_more():
    """A wide loss range makes the sensitivity exceed what the paper's L and D suggest."""
    wide = problem(horizon=100, privacy=sv.PureDP(1.0), loss_range=(0.0, 1e6))
    plan = make_plan(wide, "paper")
    least = needed_noise(wide, TREE, bits=plan.bits, rounds=plan.rounds, dimension=10)
    assert plan.noise == least


@given(st.integers(1, 3000))
def test_no_horizon_drops_an_event(horizon):
    plan = make_plan(problem(horizon), "paper")
    assert plan.rounds <= math.ceil(math.sqrt(horizon))
    assert (plan.rounds - 1) * plan.batch_size < horizon <= plan.rounds * plan.batch_size


@every("privacy", GUARANTEES[1:])
@every("choices", [{}, {"plan": "paper"}, {"mechanism": "tree"}, {"mechanism": "fresh"}, {"exploration": "frames"}])
@every("horizon", [1, 10, 1000, 10**6, 10**9])
def test_noise_is_never_less_than_the_sensitivity_needs(privacy, choices, horizon):
    """Worked out again from the definitions: levels, the range of a loss, and the norm of a direction."""
    given = problem(horizon, privacy)
    plan = make_plan(given, **choices)
    losses, directions = plan.grids(given.loss_range)
    levels = max(1, math.ceil(math.log2(plan.rounds))) if plan.mechanism == "tree" else 1
    largest, l1 = (2**directions.bits, math.sqrt(10)) if plan.exploration == "sphere" else (1, 1)
    worst = losses.steps * largest  # a loss across its range, times a unit direction where there is one
    if plan.noise.family == "laplace":
        assert privacy.contributions * levels * worst * l1 / plan.noise.scale <= privacy.epsilon
    else:
        assert privacy.contributions * math.sqrt(levels) * worst / plan.noise.scale <= privacy.mu


def test_a_radius_that_does_not_fit_is_cut():
    inside = problem(horizon=100, domain=sv.domains.Simplex(10), play="inside")
    plan = make_plan(inside, "paper")
    assert plan.radius == sv.domains.Simplex(10).inner_radius / 2
    assert any("does not fit" in note for note in plan.notes)


@every(
    ("choice", "value"),
    [("radius", 0.05), ("batch_size", 77), ("step", 1e-3), ("delay", 1), ("padding", True), ("mechanism", "tree")],
)
@every("name", ["auto", "paper"])
def test_single_choices_override_the_plan(name, choice, value):
    options = {"exploration": "sphere", "mechanism": "tree", choice: value}
    assert getattr(make_plan(problem(privacy=sv.PureDP(1.0)), name, **options), choice) == value


def test_bad_and_unknown_choices_are_refused():
    wrong = {"radius": [-1, float("nan")], "batch_size": [0, 10**7], "step": [0], "delay": [-1]}
    for choice, value in ((choice, value) for choice, values in wrong.items() for value in values):
        with pytest.raises(ValueError, match=f"{choice} must be"):
            make_plan(problem(), "paper", **{choice: value})
    with pytest.raises(TypeError, match="unknown choice zeta; known are exploration, mechanism"):
        make_plan(problem(), "paper", zeta=1.0)
    with pytest.raises(ValueError, match="plan must be one of 'auto', 'worst-case', 'paper', got 'best'"):
        make_plan(problem(), "best")


@every(
    ("losses", "plan", "choices", "words"),
    [
        ("convex", "auto", {"exploration": "sphere", "rate": 0.1}, "rate does not apply to exploration 'sphere'"),
        ("convex", "auto", {"exploration": "sphere", "directions": 2}, "a choice of exploration='frames'"),
        ("convex", "auto", {"exploration": "frames", "padding": True}, "padding does not apply"),
        (
            "convex",
            "auto",
            {"exploration": "sphere", "mechanism": "fresh", "padding": True},
            "option of mechanism tree",
        ),
        ("convex", "auto", {"exploration": "frames", "mechanism": "tree"}, "these do: probe-sums"),
        ("linear", "auto", {"radius": 0.3}, "radius does not apply to exploration 'designs'"),
        ("linear", "auto", {"position": "rounded"}, "position does not apply to exploration 'designs'"),
        ("linear", "auto", {"batch_size": 50}, "batch_size does not apply to exploration 'designs'"),
        ("convex", "paper", {"exploration": "frames"}, "plan='paper' explores by sphere"),
        ("convex", "paper", {"directions": 2}, "directions does not apply to plan='paper', which has"),
        ("convex", "paper", {"mechanism": "probe-sums"}, "does not fit exploration 'sphere'"),
    ],
)
def test_a_choice_that_does_not_apply_is_refused_with_those_that_do(losses, plan, choices, words):
    with pytest.raises(ValueError, match=words):
        make_plan(problem(privacy=sv.PureDP(1.0), losses=losses), plan, **choices)


def test_a_plan_holds_the_options_of_its_own_kind_and_reads_them_out():
    plan = make_plan(problem(privacy=sv.PureDP(1.0)), exploration="frames", radius=0.05)
    assert plan.options.radius == plan.radius == 0.05
    with pytest.raises(AttributeError, match="a plan that explores by frames has no 'rate'"):
        plan.rate  # noqa: B018


@every("losses", ["convex", "linear"])
@every("name", ["auto", "paper"])
def test_a_plan_comes_back_from_plain_data(name, losses):
    plan = make_plan(problem(privacy=sv.PureDP(1.0), losses=losses), name)
    assert Plan.from_dict(json.loads(json.dumps(plan.to_dict()))) == plan


def test_a_plan_that_was_made_for_another_problem_is_refused_and_its_own_is_taken():
    """A ready plan carries its noise with it: less, of another family, or for fewer rounds would break a promise."""

    def build(plan, privacy):
        return sv.PrivateBandit(BALL, horizon=10**6, loss_range=(0.0, 2.0), privacy=privacy, plan=plan, play="around")

    pure = problem(privacy=sv.PureDP(1.0))
    weak = [make_plan(problem(), "auto"), make_plan(problem(privacy=sv.PureDP(1.01)), "auto")]
    for plan in (*weak, make_plan(problem(privacy=sv.ApproxDP(1.0, 1e-6)), "auto", mechanism="tree")):
        with pytest.raises(ValueError, match="made for another problem"):
            build(plan, sv.PureDP(1.0))
    tree = dataclasses.replace(make_plan(pure, "auto", mechanism="tree"), batch_size=1)
    with pytest.raises(ValueError, match="made for another problem"):
        Epoch(pure, tree, sv.SimulatedNoise(0))
    with pytest.raises(ValueError, match=r"plan.horizon is 1000, but horizon is 1000000"):
        build(make_plan(problem(horizon=1000), "auto"), sv.NoPrivacy())
    own = make_plan(pure, "auto")
    assert build(own, sv.PureDP(1.0)).plan is own


@every(
    "options",
    [
        {},
        {"plan": "paper"},
        {"play": "around", "lipschitz": 0.7},
        {"losses": "linear", "plan": "worst-case"},
        {"exploration": "sphere", "mechanism": "tree", "radius": 0.1},
    ],
)
def test_a_plan_is_the_one_that_the_optimizer_follows(options):
    given = {"horizon": 10**6, "loss_range": (0.0, 1.0), "privacy": sv.PureDP(1.0)}
    made = sv.plan(sv.domains.Ball(3), **given, **options, rehearse=False)
    run = sv.PrivateBandit(sv.domains.Ball(3), **given, **options)
    assert dataclasses.replace(made, notes=run.plan.notes) == run.plan
    if not options:
        assert sv.PrivateBandit(sv.domains.Ball(3), **given, plan=made).plan is made
