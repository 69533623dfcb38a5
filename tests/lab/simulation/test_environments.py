"""Facts that hold for every environment, those of problems too; a new one is tested as soon as it is exported."""

import inspect
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lab_losses import losses_of
from sampling import every, sampled
from sottovoce import domains, lab
from sottovoce.lab import Distances, Environment, FiniteEnvironment, MovingTarget, SegmentedEnvironment
from sottovoce.lab.problems import PROBLEMS

FAMILIES = [
    thing
    for name in lab.__all__
    if inspect.isclass(thing := getattr(lab, name))
    and issubclass(thing, Environment)
    and thing not in (Environment, FiniteEnvironment, SegmentedEnvironment)
]
OWN = {f"{family.__name__}-{i}": example for family in FAMILIES for i, example in enumerate(family.examples())}
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


def test_every_family_offers_examples():
    assert {"MovingTarget", "NoisyLinear"} <= {family.__name__ for family in FAMILIES}
    assert all(family.examples() for family in FAMILIES)


@every_environment
def test_equal_settings_give_equal_losses_and_another_seed_others_in_another_order_that_never_repeats(environment):
    domain, kinds = environment.domain, np.arange(128)
    again = eval(repr(environment), {**vars(domains), **vars(lab)})
    other = type(environment)(domain, seed=environment.seed + 1)
    point = feasible_points(domain, np.random.default_rng(0), 1)[0]
    np.testing.assert_array_equal(losses_of(again, 0, 300)(point), losses_of(environment, 0, 300)(point))
    assert not np.array_equal(environment.library.losses(point, kinds), other.library.losses(point, kinds))
    assert not np.array_equal(environment.kinds(0, 5000), other.kinds(0, 5000))
    assert not np.array_equal(environment.kinds(0, 8192) % 64, environment.kinds(8192, 8192) % 64)


@every_world
@few
@given(seed=seeds)
def test_losses_are_convex_and_no_steeper_than_stated_around_the_domain_and_in_range_within(environment, seed):
    rng = np.random.default_rng(seed)
    losses = losses_of(environment, int(rng.integers(0, 50_000)), 200)
    x, y = a_line(environment.domain, rng)
    share = rng.random()
    chord = (1 - share) * losses(x) + share * losses(y)
    assert (losses((1 - share) * x + share * y) <= chord + 1e-9).all()
    for end in (y, x + 1e-3 * (y - x)):
        change = np.abs(losses(end) - losses(x)).max()
        assert change <= environment.lipschitz * np.linalg.norm(end - x) * (1 + 1e-9) + 1e-9
    low, high = environment.loss_range
    inside = np.array([losses(point) for point in feasible_points(environment.domain, rng)])
    assert low - 1e-9 <= inside.min()
    assert inside.max() <= high + 1e-9


@every_world
def test_range_and_lipschitz_constant_are_not_far_too_large(environment):
    """That would be true, and would cost regret."""
    losses = losses_of(environment, 0, 5000)
    points = feasible_points(environment.domain, np.random.default_rng(3), 40)
    low, high = environment.loss_range
    assert np.ptp([losses(point) for point in points]) >= 0.4 * (high - low)
    steepest = 0.0
    for x, y in itertools.pairwise(points):
        if (length := 1e-3 * np.linalg.norm(y - x)) > 0:
            steepest = max(steepest, np.abs(losses(x + 1e-3 * (y - x)) - losses(x)).max() / length)
    assert steepest >= environment.lipschitz / 4


@every_world
def test_losses_do_not_depend_on_how_events_are_cut_and_leave_the_actions_alone(environment):
    rng = np.random.default_rng(1)
    total = 20_000  # more than two internal chunks
    points = feasible_points(environment.domain, rng)
    actions = points[rng.integers(0, len(points), total)]
    before = actions.copy()
    whole = environment.losses(0, actions)
    cuts = np.unique(np.concatenate([[0, 8192, 16384, total], rng.integers(0, total, 12)]))
    for start, end in rng.permutation(np.stack([cuts[:-1], cuts[1:]], axis=1)):
        np.testing.assert_array_equal(environment.losses(int(start), actions[start:end]), whole[start:end])
    np.testing.assert_array_equal(actions, before)
    with pytest.raises(ValueError, match="read-only"):
        environment.kinds(0, 10)[:] = 0


@every_world
@few
@given(seed=seeds)
def test_gradients_are_subgradients_of_the_weighted_sum(environment, seed):
    """Close by, on all sides, that makes them gradients wherever there is one: certificates rest on them."""
    library, rng = environment.library, np.random.default_rng(seed)
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
        events = losses_of(environment, 0, horizon)
        reached = events(best.point).mean()
        others = feasible_points(environment.domain, np.random.default_rng(horizon), 60)
        others = np.concatenate([others, 0.9 * best.point + 0.1 * others, 0.99 * best.point + 0.01 * others])
        assert min(events(other).mean() for other in others) >= reached - best.certificate - 1e-10, horizon


@every("environment", [*OWN.values(), *FIRST.values()])
def test_there_is_something_to_learn(environment):
    events = losses_of(environment, 0, 20_000)
    gain = events(environment.domain.center).mean() - events(environment.comparator(20_000).point).mean()
    low, high = environment.loss_range
    assert gain > 0.03 * (high - low)


@every_world
def test_cumulative_loss_is_the_sum_of_losses(environment):
    marks = [1, 2, 700, 8191, 8192, 8193, 16384, 20_000]
    for point in feasible_points(environment.domain, np.random.default_rng(0), 2)[:2]:
        running = np.cumsum(losses_of(environment, 0, marks[-1])(point))
        expected = running[np.array(marks) - 1]
        np.testing.assert_allclose(environment.cumulative_loss(point, marks), expected, rtol=1e-12)
        np.testing.assert_allclose(Environment.cumulative_loss(environment, point, marks), expected, rtol=1e-12)
        assert len(environment.cumulative_loss(point, [])) == 0


def test_the_certificate_of_a_poor_point_covers_what_it_misses():
    class Poor(Distances):
        def best(self, domain, weights):
            return domain.center

    environment = MovingTarget(domains.Ball(3))
    truly_best = environment.comparator(5000).point
    environment.library = Poor(environment.library.targets)
    poor = environment.comparator(5000)
    losses = losses_of(environment, 0, 5000)
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


@every(
    "make, words",
    [
        (lambda: MovingTarget("ball"), "domain"),
        (lambda: MovingTarget(domains.Ball(2), drift=0.5, jitter=0.5), "drift"),
        (lambda: MovingTarget(domains.Ball(2), period=0), "period"),
        (lambda: MovingTarget(domains.Ball(2), seed=-1), "seed"),
        (lambda: lab.NoisyLinear(domains.Ball(2), gap=0.6), "gap"),
        (lambda: MovingTarget(domains.Ball(2)).comparator(0), "horizon"),
        (lambda: MovingTarget(domains.Ball(2)).kinds(-1, 3), "start"),
    ],
)
def test_bad_settings_are_refused_by_name(make, words):
    with pytest.raises((TypeError, ValueError), match=words):
        make()
