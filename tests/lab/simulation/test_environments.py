"""Facts that hold for every environment, those of problems too; a new one is tested as soon as it is exported."""

import inspect
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from sampling import every, sampled
from sottovoce import domains
from sottovoce.lab import simulation
from sottovoce.lab.problems import PROBLEMS
from sottovoce.lab.simulation import Comparator, Distances, Environment, FiniteEnvironment, MovingTarget, Switching

FAMILIES = [
    thing
    for name in simulation.__all__
    if inspect.isclass(thing := getattr(simulation, name))
    and issubclass(thing, Environment)
    and not inspect.isabstract(thing)
    and thing is not FiniteEnvironment
]
OWN = {f"{family.name}-{i}": example for family in FAMILIES for i, example in enumerate(family.examples())}
MADE = [(name, i, one) for name, family in PROBLEMS.items() for i, one in enumerate(family.examples())]
OF_PROBLEMS = {f"{name}-{i}": problem.environment for name, i, problem in MADE}
FIRST = {f"{name}-0": OF_PROBLEMS[f"{name}-0"] for name in PROBLEMS}
WORLDS = OWN | OF_PROBLEMS
every_environment = every("environment", OWN.values())
every_world = pytest.mark.parametrize("environment", sampled(WORLDS.values(), {*OWN, *FIRST}, WORLDS))
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


def some_events(environment, rng, size=200):
    return environment.events(int(rng.integers(0, 50_000)), size)


def test_every_family_offers_examples():
    assert {"MovingTarget", "NoisyLinear", "Switching"} <= {family.__name__ for family in FAMILIES}
    assert all(family.examples() for family in FAMILIES)
    assert len({family.name for family in FAMILIES}) == len(FAMILIES)


@every_environment
def test_equal_settings_give_equal_losses_and_another_seed_gives_others(environment):
    point = environment.domain.center + 0.1 * environment.domain.tangent(np.eye(environment.domain.dimension)[0])
    again = eval(repr(environment), {**vars(domains), **vars(simulation)})
    other = type(environment)(environment.domain, seed=environment.seed + 1)
    first = environment.events(0, 300).losses(point)
    np.testing.assert_array_equal(again.events(0, 300).losses(point), first)
    assert not np.array_equal(other.events(0, 300).losses(point), first)


@every_environment
def test_the_seed_draws_the_losses_and_their_order_and_no_stretch_repeats(environment):
    other = type(environment)(environment.domain, seed=environment.seed + 1)
    point, kinds = feasible_points(environment.domain, np.random.default_rng(0), 1)[0], np.arange(128)
    assert not np.array_equal(environment.library.losses(point, kinds), other.library.losses(point, kinds))
    assert not np.array_equal(environment.kinds(0, 5000), other.kinds(0, 5000))
    first, second = environment.kinds(0, 8192) % 64, environment.kinds(8192, 8192) % 64
    assert not np.array_equal(first, second)


@every_world
@few
@given(seed=seeds)
def test_losses_are_convex_in_the_domain_and_around_it(environment, seed):
    rng = np.random.default_rng(seed)
    events = some_events(environment, rng)
    x, y = a_line(environment.domain, rng)
    share = rng.random()
    between = events.losses((1 - share) * x + share * y)
    chord = (1 - share) * events.losses(x) + share * events.losses(y)
    assert (between <= chord + 1e-9).all()


@every_world
@few
@given(seed=seeds)
def test_losses_change_no_faster_than_the_lipschitz_constant(environment, seed):
    rng = np.random.default_rng(seed)
    events = some_events(environment, rng)
    x, y = a_line(environment.domain, rng)
    for step in (1.0, 1e-3):
        end = x + step * (y - x)
        change = np.abs(events.losses(end) - events.losses(x)).max()
        assert change <= environment.lipschitz * np.linalg.norm(end - x) * (1 + 1e-9) + 1e-9


@every_world
def test_the_lipschitz_constant_is_not_far_too_large(environment):
    """That would be true, and would cost regret."""
    rng = np.random.default_rng(3)
    events = environment.events(0, 3000)
    steepest = 0.0
    for x, y in itertools.pairwise(feasible_points(environment.domain, rng, 40)):
        if (length := 1e-3 * np.linalg.norm(y - x)) > 0:
            change = np.abs(events.losses(x + 1e-3 * (y - x)) - events.losses(x)).max()
            steepest = max(steepest, change / length)
    assert steepest >= environment.lipschitz / 4


@every_world
@few
@given(seed=seeds)
def test_losses_stay_in_their_range_over_the_domain(environment, seed):
    rng = np.random.default_rng(seed)
    events = some_events(environment, rng, 500)
    low, high = environment.loss_range
    losses = np.array([events.losses(point) for point in feasible_points(environment.domain, rng)])
    assert low - 1e-9 <= losses.min()
    assert losses.max() <= high + 1e-9


@every_world
def test_the_range_is_not_far_too_wide(environment):
    """Noise grows with the range: an idle half of it would double the price of privacy."""
    rng = np.random.default_rng(5)
    events = environment.events(0, 5000)
    low, high = environment.loss_range
    losses = np.array([events.losses(point) for point in feasible_points(environment.domain, rng, 40)])
    assert np.ptp(losses) >= 0.5 * (high - low)


@every_world
def test_losses_do_not_depend_on_how_events_are_cut_and_leave_the_actions_alone(environment):
    rng = np.random.default_rng(1)
    total = 20_000  # more than two internal chunks
    points = feasible_points(environment.domain, rng)
    actions = points[rng.integers(0, len(points), total)]
    before = actions.copy()
    whole = environment.events(0, total).losses(actions)
    cuts = np.unique(np.concatenate([[0, 8192, 16384, total], rng.integers(0, total, 12)]))
    for start, end in rng.permutation(np.stack([cuts[:-1], cuts[1:]], axis=1)):
        piece = environment.events(int(start), int(end - start)).losses(actions[start:end])
        np.testing.assert_array_equal(piece, whole[start:end])
    np.testing.assert_array_equal(actions, before)


@every_world
def test_one_point_for_all_events_is_that_point_in_every_row(environment):
    rng = np.random.default_rng(2)
    events = environment.events(100, 500)
    for point in (*feasible_points(environment.domain, rng, 3), *a_line(environment.domain, rng)):
        np.testing.assert_allclose(events.losses(point), events.losses(np.tile(point, (500, 1))), rtol=0, atol=1e-12)


@every("environment", FIRST.values())
def test_events_come_in_an_order_that_does_not_repeat(environment):
    """Were it periodic, an optimizer that plays in rounds could meet the same people in every round."""
    point = environment.domain.extreme_point(np.arange(environment.domain.dimension) % 3.0)
    losses = environment.events(0, 3 * 8192).losses(point)
    for period in (256, 1024, 4096, 8192):
        assert np.mean(losses[period:] == losses[:-period]) < 0.9


@every_world
@few
@given(seed=seeds)
def test_gradients_are_subgradients_of_the_weighted_sum(environment, seed):
    """Close by, on all sides, that makes them gradients wherever there is one."""
    library = getattr(environment, "library", None)
    if library is None:
        pytest.skip("offers no gradient")
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.ones(len(library)))
    everything = np.arange(len(library))
    points = feasible_points(environment.domain, rng)
    x = 0.9 * points[0] + 0.1 * environment.domain.center
    slope = library.gradient(x, weights)
    here = float(weights @ library.losses(x, everything))
    for other in points:
        for share in (1.0, 1e-3, -1e-3):
            way = share * (other - x)
            assert float(weights @ library.losses(x + way, everything)) >= here + slope @ way - 1e-10


@every_world
def test_the_comparator_is_feasible_and_nothing_beats_it_by_more_than_its_certificate(environment):
    low, high = environment.loss_range
    for horizon in (1, 100, 9000):
        best = environment.comparator(horizon)
        assert 0.0 <= best.certificate <= 1e-4 * (high - low), horizon
        assert environment.domain.contains(best.point, 1e-6), horizon
        events = environment.events(0, horizon)
        reached = events.losses(best.point).mean()
        others = feasible_points(environment.domain, np.random.default_rng(horizon), 60)
        others = np.concatenate([others, 0.9 * best.point + 0.1 * others, 0.99 * best.point + 0.01 * others])
        assert min(events.losses(other).mean() for other in others) >= reached - best.certificate - 1e-10, horizon


@every_world
def test_the_comparator_is_as_good_as_a_general_solver(environment):
    """Minimise over mixtures of vertices with scipy's SLSQP, which knows nothing of the problem."""
    rng = np.random.default_rng(7)
    horizon = 2000
    best = environment.comparator(horizon)
    events = environment.events(0, horizon)
    corners = np.concatenate([vertices(environment.domain, rng, 20), [best.point]])
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


@every("environment", [*OWN.values(), *FIRST.values()])
def test_there_is_something_to_learn(environment):
    events = environment.events(0, 20_000)
    gain = events.losses(environment.domain.center).mean() - events.losses(environment.comparator(20_000).point).mean()
    low, high = environment.loss_range
    assert gain > 0.03 * (high - low)


@every_world
def test_cumulative_loss_is_the_sum_of_losses(environment):
    marks = [1, 2, 700, 8191, 8192, 8193, 16384, 20_000]
    for point in feasible_points(environment.domain, np.random.default_rng(0), 2)[:2]:
        running = np.cumsum(environment.events(0, marks[-1]).losses(point))
        expected = running[np.array(marks) - 1]
        np.testing.assert_allclose(environment.cumulative_loss(point, marks), expected, rtol=1e-12)
        np.testing.assert_allclose(Environment.cumulative_loss(environment, point, marks), expected, rtol=1e-12)
        assert len(environment.cumulative_loss(point, [])) == 0


@every_world
def test_events_hand_out_nothing_that_a_caller_could_spoil(environment):
    before = environment.events(0, 10).losses(environment.domain.center)
    with pytest.raises(ValueError, match="read-only"):
        environment.kinds(0, 10)[:] = 0
    np.testing.assert_array_equal(environment.events(0, 10).losses(environment.domain.center), before)


def test_the_certificate_of_a_poor_point_covers_what_it_misses():
    class Poor(Distances):
        def best(self, domain, weights):
            return domain.center

    environment = MovingTarget(domains.Ball(3))
    truly_best = environment.comparator(5000).point
    environment.library = Poor(environment.library.targets)
    poor = environment.comparator(5000)
    assert isinstance(poor, Comparator)
    losses = environment.events(0, 5000).losses
    assert poor.certificate >= losses(poor.point).mean() - losses(truly_best).mean() > 0.1


def test_a_median_on_a_target_is_found_and_certified():
    targets = np.array([[0.0, 0.0], [0.5, 0.0], [0.0, 0.5]])
    library, weights = Distances(targets), np.array([0.6, 0.2, 0.2])
    np.testing.assert_array_equal(library.best(domains.Ball(2), weights), targets[0])
    np.testing.assert_array_equal(library.gradient(targets[0], weights), [0.0, 0.0])


def test_targets_of_a_moving_target_lie_in_the_domain_and_far_from_its_centre():
    environment = MovingTarget(domains.Hypersimplex(8, 3))
    assert all(environment.domain.contains(target, 1e-9) for target in environment.library.targets[::100])
    mean = environment.library.targets.mean(axis=0)
    assert np.linalg.norm(mean - environment.domain.center) > 0.4 * environment.domain.outer_radius


def test_the_target_walks_its_loop_once_per_period():
    environment = MovingTarget(domains.Ball(2), jitter=0.0, drift=0.5, period=640)
    targets = environment.library.targets[environment.kinds(0, 1280)]
    np.testing.assert_allclose(targets[:640], targets[640:], atol=1e-12)
    assert np.linalg.norm(targets[0] - targets[320]) > 0.1


def test_the_adversary_switches_once_in_every_stretch_at_a_drawn_moment():
    environment = Switching(domains.Ball(3), every=50, moods=3, seed=4)
    moods = environment.moods_of(0, 200_000)
    changes = np.flatnonzero(moods[1:] != moods[:-1]) + 1
    order = moods[changes]
    np.testing.assert_array_equal(order, (moods[0] + 1 + np.arange(len(order))) % 3)
    assert len(set(np.diff(changes)[:1000] - np.diff(changes)[1024:2024])) > 10  # no pattern that repeats
    if moods[0] == 1:  # the first switch came before the first event
        changes = np.concatenate([[0], changes])
    np.testing.assert_array_equal(changes // 50, np.arange(4000))
    assert len(np.unique(changes % 50)) == 50
    np.testing.assert_array_equal(environment.moods_of(777, 5000), moods[777:5777])


@every(
    "make, words",
    [
        (lambda: MovingTarget("ball"), "domain"),
        (lambda: MovingTarget(domains.Ball(2), drift=0.5, jitter=0.5), "drift"),
        (lambda: MovingTarget(domains.Ball(2), jitter=-0.1), "jitter"),
        (lambda: MovingTarget(domains.Ball(2), period=0), "period"),
        (lambda: MovingTarget(domains.Ball(2), seed=-1), "seed"),
        (lambda: simulation.NoisyLinear(domains.Ball(2), gap=0.6), "gap"),
        (lambda: Switching(domains.Ball(2), moods=1), "moods"),
        (lambda: Switching(domains.Ball(2), every=0), "every"),
        (lambda: MovingTarget(domains.Ball(2)).comparator(0), "horizon"),
        (lambda: MovingTarget(domains.Ball(2)).events(-1, 3), "start"),
    ],
)
def test_bad_settings_are_refused_by_name(make, words):
    with pytest.raises((TypeError, ValueError), match=words):
        make()


def test_a_finite_environment_needs_only_a_library_and_a_schedule():
    class Alternating(FiniteEnvironment):
        name = "alternating"

        def __init__(self):
            super().__init__(domains.Ball(1), seed=0)
            self.library, self.loss_range, self.lipschitz = Distances(np.array([[-1.0], [0.5]])), (0.0, 2.0), 1.0

        def schedule(self, start, size, rng):
            return (np.arange(start, start + size) % 3 == 0).astype(np.intp)

    best = Alternating().comparator(300)
    assert (best.point[0], best.certificate) == (-1.0, 0.0)
