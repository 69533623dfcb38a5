import tracemalloc

import numpy as np
import pytest

import sottovoce as sv
from lab_losses import losses_of
from sampling import every, sampled
from sottovoce.domains import Ball
from sottovoce.lab import MovingTarget, simulate
from sottovoce.minimizing import minimize


@pytest.fixture(scope="module")
def environment():
    return MovingTarget(Ball(3), seed=5)


def private_bandit(environment, horizon, privacy, **options):
    return sv.PrivateBandit(
        environment.domain,
        horizon=horizon,
        loss_range=environment.loss_range,
        lipschitz=environment.lipschitz,
        privacy=privacy,
        **options,
    )


def test_the_best_fixed_point_has_no_regret_and_the_centre_has_that_of_never_learning(environment, steadfast):
    best = environment.comparator(10_000).point
    run = simulate(steadfast(environment.domain, best, 10_000, 130), environment)
    np.testing.assert_allclose(run.regret, 0.0, atol=1e-8)
    run = simulate(steadfast(environment.domain, environment.domain.center, 10_000, 130), environment)
    np.testing.assert_allclose(run.regret, run.no_learning, atol=1e-8)
    assert run.final_no_learning > 1000


def test_regret_is_that_of_the_losses_one_by_one_and_a_simulation_may_end_before_the_optimizer_does(
    environment, steadfast
):
    point, seen = np.array([0.3, -0.2, 0.1]), []
    optimizer = steadfast(environment.domain, point, None, 70)
    run = simulate(optimizer, environment, events=5000, progress=lambda *numbers: seen.append(numbers))
    best = environment.comparator(5000).point
    events = losses_of(environment, 0, 5000)
    difference = np.cumsum(events(point) - events(best))
    np.testing.assert_allclose(run.regret, difference[run.events - 1], rtol=1e-9)
    assert run.finished
    assert (run.events_finished, optimizer.told, optimizer.asked) == (5000, 5000, 5000)
    assert (seen[0][1], seen[-1], seen) == (5000, (5000, 5000, 72), sorted(seen))


@every("record", [2, 50, 2000])
def test_checkpoints_are_bounded_ascending_and_reach_from_start_to_end(environment, steadfast, record):
    run = simulate(steadfast(environment.domain, environment.domain.center, 30_000, 1), environment, record=record)
    assert len(run.events) <= record
    assert run.events[-1] == 30_000
    assert (np.diff(run.events) > 0).all()
    if record >= 50:
        assert run.events[0] == 1
        assert np.diff(run.events).max() <= 30_000 / (record * 0.7) + 1


@pytest.mark.parametrize("where", ["ask_round", "tell", "losses"])
def test_an_interruption_returns_what_was_finished(environment, steadfast, monkeypatch, where):
    optimizer = steadfast(environment.domain, [0.2, 0.0, 0.0], 10_000, 100)
    calls = iter(range(100))
    place = environment.library if where == "losses" else optimizer
    original = getattr(place, where)

    def interrupted(*arguments, **options):
        if next(calls) == 7:
            monkeypatch.undo()
            raise KeyboardInterrupt
        return original(*arguments, **options)

    monkeypatch.setattr(place, where, interrupted)
    run = simulate(optimizer, environment, record=10)  # so few that no checkpoint falls on the last round
    expected = simulate(steadfast(environment.domain, [0.2, 0.0, 0.0], 700, 100), environment)
    assert not run.finished
    assert run.events_finished == 700
    assert run.details.horizon == 10_000
    np.testing.assert_allclose(run.regret[-1], expected.regret[-1])  # the best point is that of the 700, not of all
    assert "then interrupted" in str(run)


def test_what_cannot_be_simulated_is_refused_with_what_to_call(environment, steadfast):
    def some(horizon=100, domain=environment.domain):
        return steadfast(domain, domain.center, horizon, 10)

    done = some()
    simulate(done, environment)
    for optimizer, options, words in (
        (some(None), {}, "events must be given"),
        (some(), {"events": 101}, "events"),
        (some(domain=Ball(4)), {}, "share a domain"),
        (some(), {"record": 1}, "record"),
        (done, {}, "events"),
    ):
        with pytest.raises(ValueError, match=words):
            simulate(optimizer, environment, **options)
    for swapped in ((environment, some()), (some(), some()), (some(), sv.lab.problems.BallTracking(dimension=3))):
        with pytest.raises(TypeError, match=r"simulate\(optimizer, environment\).*problem\.environment"):
            simulate(*swapped)


def test_a_simulated_run_repeats_under_its_seeds_and_says_that_it_is_not_private(environment):
    noises = [sv.SimulatedNoise(3), sv.SimulatedNoise(3), None]
    runs = [
        simulate(private_bandit(environment, 1000, sv.PureDP(1.0), seed=3, noise=one), environment) for one in noises
    ]
    np.testing.assert_array_equal(runs[0].regret, runs[1].regret)
    assert [one.details.simulated_noise for one in runs] == ["NOT PRIVATE" in str(one) for one in runs]
    assert [one.details.simulated_noise for one in runs] == [True, True, False]


@every("vectorized", [False, True])
def test_minimize_hands_each_action_over_once_finds_the_cheap_end_and_names_it(vectorized):
    seen = []

    def loss(x):
        assert x.ndim == (2 if vectorized else 1)
        seen.append(np.atleast_2d(x))
        return x[..., 0]

    given = {"privacy": sv.NoPrivacy(), "vectorized": vectorized, "seed": 1}
    found = minimize(loss, Ball(2), horizon=3000, loss_range=(-1, 1), **given)
    assert np.concatenate(seen).shape == (3000, 2)
    assert found.point[0] < -0.7
    assert found.optimizer.remaining == 0
    assert found.privacy == found.optimizer.privacy
    drinks = sv.domains.Simplex(["tea", "coffee", "cocoa"])
    given |= {"loss_range": (0, 1), "losses": "linear", "integral": True}
    assert minimize(lambda x: x @ [0.9, 0.1, 0.8], drinks, horizon=600, **given).chosen == ["coffee"]


@pytest.mark.parametrize(
    ("plan", "short", "long"),
    sampled([("paper", 50_000, 400_000), ("worst-case", 50_000, 400_000), ("auto", 200_000, 800_000)], 1),
)
def test_memory_of_the_real_optimizer_grows_with_its_rounds_alone(environment, plan, short, long):
    """An event of an open round has eight bytes, and as many in a few copies; a closed one has none.

    The planner may choose few, long rounds, a fiftieth of all events at most: they are held in blocks, which short runs
    do not fill.
    """

    def peak(horizon):
        optimizer = private_bandit(environment, horizon, sv.PureDP(0.1), plan=plan, noise=sv.SimulatedNoise(1))
        tracemalloc.start()
        simulate(optimizer, environment, record=100)
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return size

    peak(1000)  # imports and caches
    events = (long - short) // 50
    assert peak(long) < 1.2 * peak(short) + 100_000 + 5 * 8 * events
