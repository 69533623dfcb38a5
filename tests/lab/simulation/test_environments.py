"""Facts that hold for every environment; a new one is tested as soon as the package exports it."""

import inspect

import numpy as np
import pytest

from sampling import every
from sottovoce import domains
from sottovoce.lab import simulation
from sottovoce.lab.simulation import Comparator, Distances, Environment, FiniteEnvironment, MovingTarget, Switching

FAMILIES = [
    thing
    for name in simulation.__all__
    if inspect.isclass(thing := getattr(simulation, name))
    and issubclass(thing, Environment)
    and not inspect.isabstract(thing)
    and thing is not FiniteEnvironment
]
every_environment = every("environment", [example for family in FAMILIES for example in family.examples()])


def feasible_points(domain, count, seed=0):
    """Mixtures of a few extreme points: some of them near the boundary, some extreme."""
    rng = np.random.default_rng(seed)
    vertices = np.stack([domain.extreme_point(rng.standard_normal(domain.dimension)) for _ in range(20)])
    weights = rng.dirichlet(np.full(20, 0.1), size=count)
    return np.concatenate([weights @ vertices, vertices, domain.center[None]])


def test_every_family_offers_examples():
    assert {"MovingTarget", "NoisyLinear", "Switching"} <= {family.__name__ for family in FAMILIES}
    assert all(family.examples() for family in FAMILIES)
    assert len({family.name for family in FAMILIES}) == len(FAMILIES)


@every_environment
def test_losses_do_not_depend_on_how_events_are_cut(environment):
    rng = np.random.default_rng(1)
    total = 20_000  # more than two internal chunks
    actions = feasible_points(environment.domain, total)[:total]
    whole = environment.events(0, total).losses(actions)
    cuts = np.concatenate([[0], np.sort(rng.choice(total, size=15, replace=False)), [8192, 16384, total]])
    cuts.sort()
    for start, end in rng.permuted(np.stack([cuts[:-1], cuts[1:]], axis=1), axis=0):
        start, end = min(start, end), max(start, end)
        np.testing.assert_array_equal(
            environment.events(start, end - start).losses(actions[start:end]), whole[start:end]
        )


@every_environment
def test_one_point_for_all_events_is_that_point_in_every_row(environment):
    for point in feasible_points(environment.domain, 3):
        events = environment.events(100, 500)
        repeated = np.tile(point, (500, 1))
        np.testing.assert_allclose(events.losses(point), events.losses(repeated), rtol=0, atol=1e-12)


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
    point, kinds = feasible_points(environment.domain, 1)[0], np.arange(128)
    assert not np.array_equal(environment.library.losses(point, kinds), other.library.losses(point, kinds))
    assert not np.array_equal(environment.kinds(0, 5000), other.kinds(0, 5000))
    first, second = environment.kinds(0, 8192) % 64, environment.kinds(8192, 8192) % 64
    assert not np.array_equal(first, second)


@every_environment
def test_losses_stay_in_their_range_over_the_domain(environment):
    low, high = environment.loss_range
    for point in feasible_points(environment.domain, 50):
        losses = environment.events(0, 3000).losses(point)
        assert low - 1e-12 <= losses.min()
        assert losses.max() <= high + 1e-12


@every_environment
def test_losses_are_convex_along_segments(environment):
    points = feasible_points(environment.domain, 40)
    rng = np.random.default_rng(2)
    events = environment.events(50, 400)
    for _ in range(30):
        x, y = points[rng.choice(len(points), size=2, replace=False)]
        share = rng.random()
        between = events.losses((1 - share) * x + share * y)
        assert (between <= (1 - share) * events.losses(x) + share * events.losses(y) + 1e-12).all()


@every_environment
def test_losses_change_no_faster_than_the_lipschitz_constant(environment):
    points = feasible_points(environment.domain, 40)
    rng = np.random.default_rng(3)
    events = environment.events(50, 400)
    for _ in range(60):
        x, y = points[rng.choice(len(points), size=2, replace=False)]
        change = np.abs(events.losses(x) - events.losses(y))
        assert change.max() <= environment.lipschitz * np.linalg.norm(x - y) + 1e-12


@every_environment
def test_the_lipschitz_constant_is_reached(environment):
    """A constant far too large would be true, and would cost regret."""
    points = feasible_points(environment.domain, 100)
    events = environment.events(0, 3000)
    here = environment.domain.center
    steepest = max(
        np.abs(events.losses(x) - events.losses(here)).max() / np.linalg.norm(x - here)
        for x in points
        if np.linalg.norm(x - here) > 1e-9
    )
    assert steepest >= environment.lipschitz / 3


@every_environment
def test_the_comparator_is_feasible_and_nothing_beats_it_by_more_than_its_certificate(environment):
    for horizon in (1, 2, 3, 100, 9000):
        best = environment.comparator(horizon)
        assert environment.domain.contains(best.point, 1e-6), horizon
        events = environment.events(0, horizon)
        reached = events.losses(best.point).mean()
        others = feasible_points(environment.domain, 100, seed=horizon)
        others = np.concatenate([others, 0.9 * best.point + 0.1 * others, 0.999 * best.point + 0.001 * others])
        assert min(events.losses(other).mean() for other in others) >= reached - best.certificate - 1e-12, horizon
        assert 0.0 <= best.certificate <= 1e-3 * environment.domain.diameter, horizon


@every_environment
def test_there_is_something_to_learn(environment):
    events = environment.events(0, 20_000)
    gain = events.losses(environment.domain.center).mean() - events.losses(environment.comparator(20_000).point).mean()
    low, high = environment.loss_range
    assert gain > 0.03 * (high - low)


@every_environment
def test_cumulative_loss_is_the_sum_of_losses(environment):
    marks = [1, 2, 700, 8191, 8192, 8193, 16384, 20_000]
    for point in feasible_points(environment.domain, 2)[:2]:
        running = np.cumsum(environment.events(0, marks[-1]).losses(point))
        expected = running[np.array(marks) - 1]
        np.testing.assert_allclose(environment.cumulative_loss(point, marks), expected, rtol=1e-12)
        np.testing.assert_allclose(Environment.cumulative_loss(environment, point, marks), expected, rtol=1e-12)
        assert len(environment.cumulative_loss(point, [])) == 0


@every_environment
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
