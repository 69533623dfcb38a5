"""Simulations with segments: whose regret is counted, and by what."""

import numpy as np
import pytest

import sottovoce as sv
from lab_losses import losses_of
from sampling import every
from sottovoce.lab.problems import Editions
from sottovoce.lab.problems.editions import Audiences

SMALL = {"items": 7, "slots": 2, "segments": 4, "differ": 0.6}
ONE = {"privacy": sv.PureDP(1.0), "seed": 1}


def segmented(problem, horizon, seed=1):
    return problem.optimizer(horizon=horizon, privacy=sv.PureDP(1.0), seed=seed, noise=sv.SimulatedNoise(seed))


def test_regret_is_against_the_best_decision_of_each_segment():
    problem = Editions(**SMALL)
    world, horizon = problem.environment, 3000
    run = sv.lab.simulate(segmented(problem, horizon), world)
    best = world.comparators(horizon)
    segments, events = world.segments_of(0, horizon), losses_of(world, 0, horizon)
    each = {name: events(one.point) for name, one in best.items()}
    least = np.array([each[name][event] for event, name in enumerate(segments)])
    assert run.simulation_only_best_loss[-1] == pytest.approx(least.sum())
    np.testing.assert_allclose(run.simulation_only_best_loss, np.cumsum(least)[run.events - 1])
    scores = run.segments
    assert scores.regret.sum() == pytest.approx(run.final_regret)
    assert (scores.one_for_all >= -1e-9).all()
    lost = scores.simulation_only_one_for_all_loss.sum() - least.sum()
    assert scores.one_for_all.sum() == pytest.approx(lost)
    for place, name in enumerate(scores.names):
        mine = np.array([one == name for one in segments])
        assert scores.events[place] == mine.sum()
        assert scores.simulation_only_best_loss[place] == pytest.approx(least[mine].sum())
        one_point = events(world.comparator(horizon).point)[mine].sum()
        assert scores.simulation_only_one_for_all_loss[place] == pytest.approx(one_point)
    assert "by segment" in str(run)


def test_a_run_with_segments_is_kept_and_read_back(tmp_path):
    factors = sv.Segments(factors={"device": ["phone", "desktop"], "country": ["it", "de"]})
    world = Audiences(sv.domains.Hypersimplex(6, 2), factors)
    optimizer = sv.PrivateBandit(world.domain, horizon=500, loss_range=(0, 1), losses="linear", segments=factors, **ONE)
    run = sv.lab.simulate(optimizer, world)
    again = sv.lab.Run.load(run.save(tmp_path / "run.npz"))
    assert again.segments.names == run.segments.names == factors.names
    np.testing.assert_array_equal(again.segments.regret, run.segments.regret)
    assert "phone, it" in str(again)


def test_an_optimizer_without_segments_plays_one_for_all_and_is_measured_alike():
    problem = Editions(**SMALL)
    world, horizon = problem.environment, 2000
    both = [
        problem.optimizer(horizon=horizon, segments=None, noise=sv.SimulatedNoise(1), **ONE),
        segmented(problem, horizon),
    ]
    runs = [sv.lab.simulate(one, world) for one in both]
    for run in runs:
        assert run.events_finished == horizon
        np.testing.assert_array_equal(run.segments.events, np.bincount(world.places(0, horizon), minlength=4))
        assert run.simulation_only_best_loss[-1] == pytest.approx(runs[0].simulation_only_best_loss[-1])
    assert runs[0].final_regret != runs[1].final_regret


def test_segments_that_an_optimizer_cannot_take_are_refused():
    world = sv.lab.NoisyLinear(sv.domains.Hypersimplex(6, 2))
    given = {"horizon": 100, "loss_range": (0, 1), "losses": "linear", **ONE}
    with pytest.raises((TypeError, ValueError), match="segment"):  # the world does not say which one an event is of
        sv.lab.simulate(sv.PrivateBandit(world.domain, segments=["a", "b"], **given), world)
    problem = Editions(**SMALL)
    with pytest.raises(sv.errors.UnknownSegment):
        sv.lab.simulate(problem.optimizer(horizon=100, segments=["it", "de"], **ONE), problem.environment)
    with pytest.raises(TypeError, match="a function has none"):
        sv.minimize(sum, sv.domains.Simplex(2), segments=["a"], horizon=9, loss_range=(0, 1), privacy=sv.NoPrivacy())
    opened = problem.optimizer(horizon=None, segments=sv.Segments(limit=4), **ONE)
    assert sv.lab.simulate(opened, problem.environment, events=100).segments.events.sum() == 100


def test_an_interrupted_run_has_scores_of_what_was_finished():
    problem = Editions(**SMALL)
    optimizer, calls = segmented(problem, 3000), []

    def stop(events, total, rounds):
        calls.append(events)
        if events > 500:
            raise KeyboardInterrupt

    run = sv.lab.simulate(optimizer, problem.environment, progress=stop)
    assert 0 < run.events_finished < 3000
    assert run.segments.events.sum() == run.events_finished
    assert run.segments.regret.sum() == pytest.approx(run.final_regret)


@every(
    "segments, shares, words",
    [
        (sv.Segments(["a", "b"]), [1.0, -1.0], "shares must be 2 numbers"),
        (sv.Segments(["a", "b"]), [1.0, float("nan")], "shares must be 2 numbers"),
        (sv.Segments(limit=3), [], "must be named"),
    ],
)
def test_shares_and_names_are_checked(segments, shares, words):
    with pytest.raises(ValueError, match=words):
        sv.lab.SegmentedEnvironment(sv.domains.Ball(2), segments, shares, 4, 0)
