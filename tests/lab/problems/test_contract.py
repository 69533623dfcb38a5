"""Facts that hold for every decision problem; a new one is tested as soon as it is registered."""

import copy
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import sottovoce as sv
from sampling import every, sampled
from sottovoce.lab.problems import PROBLEMS, DecisionProblem
from sottovoce.report.html._drawings import draw_decision

EXAMPLES = {
    f"{name}-{number}": one for name, family in PROBLEMS.items() for number, one in enumerate(family.examples())
}
every_problem = pytest.mark.parametrize(
    "problem", sampled(EXAMPLES.values(), {f"{name}-0" for name in PROBLEMS}, EXAMPLES)
)
every_family = every("name", PROBLEMS)
one_of_each = every("problem", [EXAMPLES[f"{name}-0"] for name in PROBLEMS])
seeds = st.integers(0, 2**32 - 1)
few = settings(max_examples=10)


def vertices(domain, rng, count=12):
    return np.stack([domain.extreme_point(rng.standard_normal(domain.dimension)) for _ in range(count)])


def feasible_points(domain, rng, count=10):
    """Vertices, the centre, and mixtures: some of them near the boundary."""
    corners = vertices(domain, rng)
    return np.concatenate([rng.dirichlet(np.full(len(corners), 0.3), size=count) @ corners, corners, [domain.center]])


def a_line(domain, rng):
    """Two points on the affine hull: feasible ones, moved apart, so that the segment sticks out of the domain."""
    points = feasible_points(domain, rng)
    x, y = points[rng.choice(len(points), size=2, replace=False)]
    return x - 0.4 * (y - x), y + 0.4 * (y - x)


def some_events(problem, rng, size=200):
    return problem.environment.events(int(rng.integers(0, 50_000)), size)


@every_family
def test_it_is_registered_by_its_name_and_says_what_it_is(name):
    family = PROBLEMS[name]
    assert issubclass(family, DecisionProblem)
    assert family.name == name
    assert len(family.title) > 10
    assert len(family.story) > 80
    assert family.examples()
    assert not any(word in family.__doc__ for word in ("TODO", "FIXME"))


@one_of_each
def test_it_shows_as_the_call_that_makes_it(problem):
    family, shown = type(problem), repr(problem)
    assert shown.startswith(f"{family.__name__}(")
    assert "object at" not in shown
    again = eval(shown, {family.__name__: family})
    assert repr(again) == repr(copy.deepcopy(problem)) == shown
    events = [one.environment.events(0, 50).losses(one.domain.center) for one in (problem, again)]
    np.testing.assert_array_equal(*events)


def test_what_is_shown_is_what_was_given():
    assert repr(sv.lab.problems.BallTracking(dimension=3, drift=0.3)) == (
        "BallTracking(dimension=3, drift=0.3, jitter=0.2, period=10000, play='inside', seed=0)"
    )
    assert repr(sv.lab.problems.Ranking(items=5)) == "Ranking(items=5, set='permutahedron', types=4, seed=0)"
    assert repr(sv.lab.problems.Slate(drift=0.0)).startswith("Slate(items=24, slots=6, ")


@every_family
def test_every_argument_is_a_plain_value_with_a_default(name):
    problem = PROBLEMS[name]()
    assert problem.environment.domain is problem.domain


@every_family
def test_a_bad_seed_is_refused_by_name(name):
    with pytest.raises(ValueError, match="seed"):
        PROBLEMS[name](seed=-1)
    one, other = PROBLEMS[name](seed=1), PROBLEMS[name](seed=2)  # and another one makes another world
    point = one.domain.extreme_point(np.arange(one.domain.dimension) % 3.0)
    assert not np.array_equal(
        one.environment.events(0, 500).losses(point), other.environment.events(0, 500).losses(point)
    )


@every_problem
@few
@given(seed=seeds)
def test_losses_are_convex_in_the_domain_and_around_it(problem, seed):
    rng = np.random.default_rng(seed)
    events = some_events(problem, rng)
    x, y = a_line(problem.domain, rng)
    share = rng.random()
    between = events.losses((1 - share) * x + share * y)
    chord = (1 - share) * events.losses(x) + share * events.losses(y)
    assert (between <= chord + 1e-9).all()


@every_problem
@few
@given(seed=seeds)
def test_losses_change_no_faster_than_the_lipschitz_constant(problem, seed):
    rng = np.random.default_rng(seed)
    events = some_events(problem, rng)
    x, y = a_line(problem.domain, rng)
    for step in (1.0, 1e-3):
        end = x + step * (y - x)
        change = np.abs(events.losses(end) - events.losses(x)).max()
        assert change <= problem.environment.lipschitz * np.linalg.norm(end - x) * (1 + 1e-9) + 1e-9


@every_problem
def test_the_lipschitz_constant_is_not_far_too_large(problem):
    """That would be true, and would cost regret."""
    rng = np.random.default_rng(3)
    events = problem.environment.events(0, 3000)
    steepest = 0.0
    for x, y in itertools.pairwise(feasible_points(problem.domain, rng, 40)):
        if (length := 1e-3 * np.linalg.norm(y - x)) > 0:
            change = np.abs(events.losses(x + 1e-3 * (y - x)) - events.losses(x)).max()
            steepest = max(steepest, change / length)
    assert steepest >= problem.environment.lipschitz / 4


@every_problem
@few
@given(seed=seeds)
def test_losses_stay_in_their_range_over_the_domain(problem, seed):
    rng = np.random.default_rng(seed)
    events = some_events(problem, rng, 500)
    low, high = problem.environment.loss_range
    losses = np.array([events.losses(point) for point in feasible_points(problem.domain, rng)])
    assert low - 1e-9 <= losses.min()
    assert losses.max() <= high + 1e-9


@every_problem
def test_the_range_is_not_far_too_wide(problem):
    """Noise grows with the range: an idle half of it would double the price of privacy."""
    rng = np.random.default_rng(5)
    events = problem.environment.events(0, 5000)
    low, high = problem.environment.loss_range
    losses = np.array([events.losses(point) for point in feasible_points(problem.domain, rng, 40)])
    assert np.ptp(losses) >= 0.5 * (high - low)


@every_problem
def test_losses_do_not_depend_on_how_events_are_cut_and_leave_the_actions_alone(problem):
    rng = np.random.default_rng(1)
    total = 20_000  # more than two internal chunks
    points = feasible_points(problem.domain, rng)
    actions = points[rng.integers(0, len(points), total)]
    before, environment = actions.copy(), problem.environment
    whole = environment.events(0, total).losses(actions)
    cuts = np.unique(np.concatenate([[0, 8192, 16384, total], rng.integers(0, total, 12)]))
    for start, end in rng.permutation(np.stack([cuts[:-1], cuts[1:]], axis=1)):
        piece = environment.events(int(start), int(end - start)).losses(actions[start:end])
        np.testing.assert_array_equal(piece, whole[start:end])
    np.testing.assert_array_equal(actions, before)


@one_of_each
def test_one_point_for_all_events_is_that_point_in_every_row(problem):
    rng = np.random.default_rng(2)
    events = problem.environment.events(100, 500)
    for point in (*feasible_points(problem.domain, rng, 3), *a_line(problem.domain, rng)):
        np.testing.assert_allclose(events.losses(point), events.losses(np.tile(point, (500, 1))), rtol=0, atol=1e-12)


@one_of_each
def test_events_come_in_an_order_that_does_not_repeat(problem):
    """Were it periodic, an optimizer that plays in rounds could meet the same people in every round."""
    point = problem.domain.extreme_point(np.arange(problem.domain.dimension) % 3.0)
    losses = problem.environment.events(0, 3 * 8192).losses(point)
    for period in (256, 1024, 4096, 8192):
        assert np.mean(losses[period:] == losses[:-period]) < 0.9


@every_problem
@few
@given(seed=seeds)
def test_gradients_are_subgradients_of_the_weighted_sum(problem, seed):
    """Close by, on all sides, that makes them gradients wherever there is one."""
    library = getattr(problem.environment, "library", None)
    if library is None:
        pytest.skip("offers no gradient")
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.ones(len(library)))
    everything = np.arange(len(library))
    points = feasible_points(problem.domain, rng)
    x = 0.9 * points[0] + 0.1 * problem.domain.center
    slope = library.gradient(x, weights)
    here = float(weights @ library.losses(x, everything))
    for other in points:
        for share in (1.0, 1e-3, -1e-3):
            way = share * (other - x)
            assert float(weights @ library.losses(x + way, everything)) >= here + slope @ way - 1e-10


@every_problem
def test_the_comparator_is_feasible_and_nothing_beats_it_by_more_than_its_certificate(problem):
    low, high = problem.environment.loss_range
    for horizon in (1, 100, 9000):
        best = problem.environment.comparator(horizon)
        assert 0.0 <= best.certificate <= 1e-4 * (high - low), horizon
        assert problem.domain.contains(best.point, 1e-6), horizon
        events = problem.environment.events(0, horizon)
        reached = events.losses(best.point).mean()
        others = feasible_points(problem.domain, np.random.default_rng(horizon), 60)
        others = np.concatenate([others, 0.9 * best.point + 0.1 * others, 0.99 * best.point + 0.01 * others])
        assert min(events.losses(other).mean() for other in others) >= reached - best.certificate - 1e-10, horizon


@every_problem
def test_the_comparator_is_as_good_as_a_general_solver(problem):
    """Minimise over mixtures of vertices with scipy's SLSQP, which knows nothing of the problem."""
    rng = np.random.default_rng(7)
    horizon = 2000
    best = problem.environment.comparator(horizon)
    events = problem.environment.events(0, horizon)
    corners = np.concatenate([vertices(problem.domain, rng, 20), [best.point]])
    start = np.full(len(corners), 1 / len(corners))
    found = minimize(
        lambda weights: events.losses(weights @ corners).mean(),
        start,
        method="SLSQP",
        bounds=[(0, 1)] * len(corners),
        constraints={"type": "eq", "fun": lambda weights: weights.sum() - 1},
        options={"maxiter": 60},
    )
    weights = np.maximum(found.x, 0.0) / np.maximum(found.x, 0.0).sum()
    assert events.losses(weights @ corners).mean() >= events.losses(best.point).mean() - best.certificate - 1e-10


@every_family
def test_there_is_something_to_learn(name):
    problem = PROBLEMS[name]()
    events = problem.environment.events(0, 20_000)
    best = problem.environment.comparator(20_000).point
    gain = events.losses(problem.domain.center).mean() - events.losses(best).mean()
    low, high = problem.environment.loss_range
    assert gain > 0.03 * (high - low)


@pytest.mark.long
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_default_is_learned_in_private(name):
    problem = PROBLEMS[name]()
    optimizer = problem.optimizer(horizon=60_000, privacy=sv.PureDP(1.0), seed=5, noise=sv.SimulatedNoise(5))
    run = sv.lab.simulate(optimizer, problem.environment, record=2)
    assert run.final_regret < 0.4 * run.final_no_learning


@every_family
def test_an_optimizer_takes_the_settings_and_plays_feasible_actions(name):
    problem = min(PROBLEMS[name].examples(), key=lambda example: example.domain.affine_dimension)
    optimizer = problem.optimizer(horizon=600, privacy=sv.PureDP(1.0), seed=1, noise=sv.SimulatedNoise(1))
    run = sv.lab.simulate(optimizer, problem.environment, events=500)
    assert run.events_finished == 500
    segments = problem.environment.segments
    action = (optimizer.ask() if segments is None else optimizer.ask(segment=segments.names[0])).x
    if problem.settings().get("play", "inside") == "inside":
        assert problem.domain.contains(action, 1e-6)
    if problem.integral:
        assert problem.domain.extreme_point(-(2 * action - 1)) == pytest.approx(action)


@one_of_each
def test_different_decisions_look_differently(problem):
    rng = np.random.default_rng(4)
    points = (problem.environment.comparator(1000).point, *vertices(problem.domain, rng, 2))
    pictures = [draw_decision(problem.domain, point, places=problem.places) for point in points]
    assert len(set(pictures)) > 1
    assert all(one.bars or one.svg for one in pictures)
