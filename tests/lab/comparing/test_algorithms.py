"""Every algorithm runs on a problem that fits it, says what it promises, and learns no faster than it may."""

import math

import pytest

from sampling import every
from sottovoce.lab import Cell, run_cell
from sottovoce.lab.algorithms import ALGORITHMS, DELTA
from sottovoce.lab.baselines import BASELINES

HEADLINES = {
    "default": "epsilon = 2, pure differential privacy (SIMULATED NOISE: NOT PRIVATE)",
    "worst-case": "epsilon = 2, pure differential privacy (SIMULATED NOISE: NOT PRIVATE)",
    "paper-laplace": "epsilon = 2, pure differential privacy (SIMULATED NOISE: NOT PRIVATE)",
    "local": "epsilon = 2, local differential privacy (SIMULATED NOISE: NOT PRIVATE)",
    "no-privacy": "no privacy: NOT PRIVATE",
    "paper-no-noise": "no privacy: NOT PRIVATE",
}


@every("name", ALGORITHMS)
def test_every_algorithm_runs_and_says_what_it_promises(name):
    linear = name in BASELINES and BASELINES[name].linear_only
    problem = "slate:items=8,slots=2,categories=2" if linear else "toy"
    if name.startswith("one-"):
        problem = "editions:items=6,slots=2,segments=3"
    cell = Cell(problem, name, 2.0 if ALGORITHMS[name].private else math.inf, 400, 0)
    outcome = run_cell(cell)
    result = outcome.result
    assert (result.status, result.cell) == ("done", cell)
    assert math.isfinite(result.regret)
    assert result.privacy == HEADLINES.get(name, result.privacy)
    assert "NOT PRIVATE" in result.privacy
    promised = "rho = 2, zero" if name.startswith("zcdp") else "epsilon = 2"  # rho = epsilon^2/2
    assert (promised in result.privacy) == ALGORITHMS[name].private
    assert outcome.run.point.ndim == 1
    assert outcome.run.finished


def test_approximate_privacy_says_its_delta():
    assert f"delta = {DELTA:g}" in run_cell(Cell("toy", "paper-gaussian", 1.0, 200, 0)).result.privacy
    assert "delta = 0.001" in run_cell(Cell("toy", "default:delta=0.001", 1.0, 200, 0)).result.privacy


def test_settings_reach_the_plan():
    for name in ("worst-case:batch_size=50", "default:exploration=frames,batch_size=50"):
        assert run_cell(Cell("toy", name, 1.0, 1_000, 0)).result.rounds == 20
    assert run_cell(Cell("toy", "default:probes=2,least_events=25", 1.0, 1_000, 0)).result.rounds == 20
    runs = [run_cell(Cell("toy", name, 1.0, 400, 0)).run for name in ("default", "worst-case")]
    assert ["posterior" in dict(run.details.plan_rows)["method"] for run in runs] == [True, False]


BALL = "ball:dimension=4,play=around"


@every(
    "problem, name, words",
    [
        ("toy", "phased-elimination", "phased-elimination is for linear losses, and those of toy are convex"),
        ("toy", "garber-kretzu:colour=3", "garber-kretzu has no setting colour"),
        ("toy", "default:plan=best", "plan must be one of"),
        (BALL, "nobody", "algorithm must be one of"),
        (BALL, "paper-needed-laplace:radius=1", "have no setting radius"),
        (BALL, "garber-kretzu:horizon=5", "garber-kretzu has no setting horizon"),
    ],
)
def test_what_does_not_fit_or_makes_no_sense_says_why(problem, name, words):
    with pytest.raises(ValueError, match=words):
        run_cell(Cell(problem, name, math.inf if name.startswith("garber") else 1.0, 100, 0))


def test_reports_are_all_that_a_local_optimizer_is_told():
    """With a budget near zero reports are coins: other losses, equal points."""
    one = run_cell(Cell("toy:drift=0.1,seed=1", "local", 1e-9, 400, 0))
    two = run_cell(Cell("toy:drift=0.1,seed=2", "local", 1e-9, 400, 0))
    assert one.run.point == pytest.approx(two.run.point, rel=1e-6)
    assert one.result.regret != two.result.regret


@every("algorithm, privacy", [("paper-needed-laplace", "pure"), ("paper-needed-gaussian", "approximate")])
def test_needed_noise_keeps_its_promise_and_is_less(algorithm, privacy):
    needed = run_cell(Cell(BALL, algorithm, 1.0, 900, 0))
    assert privacy in needed.result.privacy
    usual = run_cell(Cell(BALL, algorithm.replace("needed-", ""), 1.0, 900, 0))
    assert needed.result.predicted < 0.2 * usual.result.predicted
