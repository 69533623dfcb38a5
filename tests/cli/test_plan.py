import json

import pytest

import sottovoce as sv
from sampling import every
from sottovoce.plans.choosing import horizon_needed, plan
from sottovoce.plans.problem import Problem
from sottovoce.rehearsal import prices_of, rehearsing


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Few points, which say as much here."""
    monkeypatch.setattr(rehearsing, "WORK", 150.0)
    monkeypatch.setitem(prices_of.__kwdefaults__, "factors", (0.1, 1.0))


COMMAND = ("plan",)


def test_the_plan_is_shown_with_its_price_and_what_else_was_considered(command, tmp_path):
    asked = ("--domain", "ball:3", "--horizon", "1M", "--epsilon", "1", "--plan", "worst-case", "--lipschitz", "0.5")
    code, out, err = command(*asked, "--out", "here")
    assert (code, err) == (0, "")
    made = plan(sv.domains.Ball(3), 10**6, (0.0, 1.0), sv.PureDP(1.0), plan="worst-case", lipschitz=0.5)
    assert f"bound    regret is at most {made.bound / 10**6:.4g} per event" in out
    assert f"never learning costs at most {made.no_learning / 10**6:.4g}" in out
    assert f"{made.price_of_privacy:.2f} times the bound without privacy" in out
    assert made.alternatives
    for other in made.alternatives:
        assert any(other.what in line and f"{other.bound:.4g}" in line for line in out.splitlines())
    assert "too few" not in out
    stored = json.loads((tmp_path / "here" / "plan.json").read_text())
    assert (stored["plan"]["bound"], stored["vacuous"]) == (made.bound, False)


def test_what_to_expect_is_drawn(command, tmp_path):
    code, out, _ = command(
        "--domain", "simplex:3", "--horizon", "200", "--losses", "linear", "--integral", "--out", "here"
    )
    assert code == 0
    assert "Forecast for 200 events" in out
    assert {path.name for path in (tmp_path / "here").iterdir()} == {"plan.png", "plan.json"}


def test_a_bound_on_an_unknown_lipschitz_constant_is_not_promised(command):
    code, out, _ = command("--domain", "ball:3", "--horizon", "1M", "--epsilon", "1", "--plan", "worst-case")
    assert code == 0
    assert "promised" not in out
    assert "bound    regret is of the order of" in out
    assert "lipschitz was not given: 0.5 is taken" in out


def test_a_plan_without_a_bound_claims_none(command):
    code, out, _ = command("--domain", "ball:3", "--horizon", "1M", "--epsilon", "1")
    made = plan(sv.domains.Ball(3), 10**6, (0.0, 1.0), sv.PureDP(1.0))
    assert code == 0
    assert f"the order of magnitude where worlds stay is {made.bound / 10**6:.4g} per event" in out
    assert "bound    none against every sequence of losses" in out
    assert made.options.rests_on in out


@pytest.mark.long
def test_a_horizon_that_is_too_short_is_called_so_with_what_it_would_take(command, tmp_path):
    asked = ("--domain", "ball:3", "--horizon", "100", "--epsilon", "0.5", "--delta", "1e-6", "--plan", "worst-case")
    code, out, _ = command(*asked)
    needed = horizon_needed(Problem(sv.domains.Ball(3), 100, (0.0, 1.0), sv.ApproxDP(0.5, 1e-6)), "worst-case")
    assert code == 0
    assert f"too few events for this bound to say anything: it would take about {needed:,}" in out
    assert "none that says anything at this horizon" in out
    stored = json.loads((tmp_path / "results" / "plan" / "plan.json").read_text())
    assert stored["vacuous"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--losses", "linear", "--integral"), "posterior with probe-sums"),
        (("--losses", "linear", "--integral", "--plan", "worst-case"), "designs with probe-sums"),
        (("--plan", "paper"), "Plan: paper"),
        (("--losses", "linear", "--loss-range", "-1, 3"), "scale 4 in units of loss"),
    ],
    ids=str,
)
def test_options_reach_the_plan(command, options, words):
    code, out, _ = command("--domain", "hypersimplex:6,2", "--horizon", "10k", *options)
    assert code == 0
    assert words in out


@every(
    ("arguments", "words"),
    [
        (("--domain", "cube:3"), "cube:3"),
        (("--horizon", "soon"), "horizon must be a whole number"),
        (("--epsilon", "0"), "epsilon must be greater than 0"),
        (("--delta", "2"), "delta must be"),
        (("--losses", "cubic"), "losses must be one of"),
        (("--plan", "best"), "plan must be one of"),
        (("--loss-range", "1"), "loss-range must be two numbers"),
        (("--play", "around", "--integral"), "integral=True needs play='inside'"),
    ],
)
def test_errors_of_use_are_one_line_and_code_2(command, arguments, words):
    code, out, err = command(*arguments)
    assert code == 2
    assert words in err
    assert err.count("\n") == 1
    assert "wrote" not in out
