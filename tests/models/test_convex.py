"""What is believed about convex losses: best points, how wrong the model is, change, and what recovery needs."""

import math

import numpy as np
import piqp
import pytest

import sottovoce as sv
from sampling import every
from sottovoce.models import Measurements, ModelSettings, Numbers, RadialBelief
from sottovoce.models.changes import MISFITS
from sottovoce.models.gaussian import ByCoefficients
from sottovoce.models.shape import Shape
from sottovoce.models.slope_scales import SlopeScales

GRID = [(0, 1), (0, 2), (1, 3), (2, 3), (1, 4), (2, 4), (3, 5), (4, 5), (0, 5)]


LAPLACE = math.sqrt(2.0)  # deviation of the noise of a sum at epsilon = 1


def known(horizon=200_000, noise=LAPLACE, **options):
    """Settings as a plan would make them, for losses in [0, 1]."""
    plain = {"probes": 8, "least": 4, "growth": 0.08, "cap": 0.02, "posterior_scale": 1.0} | options
    return ModelSettings(horizon, 1.0, 0.5, noise, (1 / 1024, 1 / 16, 1 / 4), **plain)


def distance(target):
    return lambda points: 0.5 * np.linalg.norm(points - target, axis=1)


def quadratic(target):
    return lambda points: 0.2 + 0.3 * ((points - target) ** 2).sum(axis=1)


def play(belief, world, seed, events=None, passed=0, watch=lambda belief, probes, events: None):
    """Play to the end of the horizon: `world(t)` has the mean losses; a loss deviates from them by 0.1."""
    coins, luck, settings = np.random.default_rng([seed, 1]), np.random.default_rng([seed, 2]), belief.settings
    end = passed + (settings.horizon if events is None else events)
    while passed < end:
        count = belief.pace.events(settings, passed)
        probes = belief.draw(settings.probes, passed, 0, coins)
        watch(belief, probes, count)
        size = (settings.probes,)
        noise = (
            luck.normal(0, 0.1 / math.sqrt(count), size) + luck.laplace(0, settings.noise / math.sqrt(2), size) / count
        )
        means = world(passed)(probes) + noise
        passed += count * settings.probes
        belief.learn(Numbers(probes, means, np.full(size, float(count)), passed))
    return belief


def challengers(belief, probes):
    """Probes but those at the centre, against which they are held."""
    return probes[(probes != belief.shape.center).any(axis=1)]


@every("domain", [sv.domains.Paths(GRID, source=0, target=5), sv.domains.Hypersimplex(6, 2), sv.domains.Birkhoff(3)])
def test_the_best_point_is_what_a_solver_of_quadratic_programs_finds(domain):
    belief = RadialBelief(domain, known())
    shape = belief.shape
    vertices = np.unique(
        [domain.extreme_point(d) for d in np.random.default_rng(0).normal(size=(300, domain.dimension))], axis=0
    )
    places = shape.place(vertices)
    for coefficients in np.random.default_rng(1).normal(size=(5, domain.dimension + 2)) * 0.1:
        coefficients[-1] = abs(coefficients[-1]) + 0.05
        found = belief.best_for(coefficients)
        # min <a, z> + q |z|^2/k over z = sum of weights times vertices
        solver = piqp.DenseSolver()
        gram = 2 * coefficients[-1] / shape.size * places @ places.T + 1e-10 * np.eye(len(places))
        count = len(places)
        bounds = np.ones((1, count)), np.ones(1), None, None, None, np.zeros(count), np.ones(count)
        solver.setup(gram, places @ coefficients[1:-1], *bounds)
        solver.solve()
        features = belief.features(np.array([found, solver.result.x @ vertices]))
        here, there = features @ coefficients
        assert here == pytest.approx(there, abs=1e-4)


@every("count", [6, 40])
def test_a_quadratic_is_recovered(count):
    """Where measurements are fewer than coefficients, up to what they leave open; exactly where they are not."""
    belief, coins = RadialBelief(sv.domains.Ball(5), known(noise=0.0)), np.random.default_rng(0)
    points = coins.normal(size=(count, 5)) / 3
    target = np.array([0.3, -0.2, 0.1, 0.0, 0.2])
    belief.learn(Numbers(points, quadratic(target)(points), np.full(count, 1e9), count))
    fit = belief.fit((0, 0, 0))
    assert isinstance(fit, ByCoefficients)
    expected, _ = fit.predict(belief.features(points))
    assert expected + 0.5 == pytest.approx(quadratic(target)(points), abs=1e-4)
    if count == 40:
        assert belief.leader == pytest.approx(target, abs=1e-3)


def test_losses_of_another_form_are_found_to_be_so():
    """Without noise, a distance is no quadratic; a quadratic is one."""
    target, settings = np.full(4, 0.3), known(noise=0.0, horizon=20_000)

    def misfit(world, seed):
        return play(RadialBelief(sv.domains.Ball(4), settings), lambda t: world(target), seed).setting[0]

    assert misfit(distance, 0) != 0
    assert MISFITS[min(misfit(quadratic, seed) for seed in range(3))] == 0.0


def test_probes_and_leader_keep_within_the_radius_that_the_model_is_trusted_in():
    far = []

    def watch(belief, probes, events):
        radius = belief._radius(events)
        if math.isfinite(radius):
            distances = belief.shape.distance(challengers(belief, probes), belief.leader)
            farthest = max(radius, math.sqrt(2) * belief._scales.first)  # nothing locks in unseen
            assert distances.max() <= farthest * (1 + 1e-9)
            assert belief.shape.distance(belief.leader, belief.known.leader) <= radius * (1 + 1e-9)
            far.append(distances.max() / radius)

    target = np.full(10, 0.7)
    play(
        RadialBelief(sv.domains.Box(-np.ones(10), np.ones(10)), known(horizon=50_000)),
        lambda t: lambda x: np.abs(x - target).mean(axis=1) / 2,
        0,
        watch=watch,
    )
    assert max(far) > 0.99  # and it binds


def test_a_still_world_is_not_forgotten_and_a_switch_is_noticed_once():
    """Four seeds: no alarm in still worlds, and at least three of four switches noticed exactly once."""
    one, other = np.full(5, 0.3), np.full(5, -0.3)

    def resets(end):
        made = [RadialBelief(sv.domains.Ball(5), known(horizon=50_000)) for _ in range(4)]
        return [play(b, lambda t: distance(one if t < end else other), seed).resets for seed, b in enumerate(made)]

    assert sum(resets(50_000)) == 0
    assert sum(count == 1 for count in resets(25_000)) >= 3


def test_an_earlier_run_counts_until_all_is_forgotten():
    target, points = np.full(3, 0.3), np.random.default_rng(0).normal(size=(40, 3)) / 3
    measurements = Measurements.empty(3).add(Numbers(points, quadratic(target)(points) - 0.5, np.full(40, 1e4), 0))
    earlier = measurements.tried(np.full(40, 1e6), measurements.counts)
    belief = RadialBelief(sv.domains.Ball(3), known(noise=0.0), earlier=earlier)
    assert np.linalg.norm(belief.fit((0, 0, 0)).mean) > np.linalg.norm(
        RadialBelief(sv.domains.Ball(3), known()).fit((0, 0, 0)).mean
    )
    assert belief.leader == pytest.approx(target, abs=0.05)


def test_a_large_simplex_is_even_and_coordinates_of_different_reach_have_scales_of_their_own():
    """Rare vertices differ by chance: a scale of their own would be noise, and no formula would apply."""
    shape = RadialBelief(sv.domains.Simplex(1000), known()).shape
    assert shape.even
    point, warm = shape.nearest(np.zeros(1000))
    assert warm is None
    assert point == pytest.approx(np.full(1000, 1e-3))
    long = RadialBelief(sv.domains.Box([-1.0, -3.0], [1.0, 3.0]), known()).shape
    assert not long.even
    assert long.scale == pytest.approx([1.0, 3.0])


# ------------------------------------------------------------------ how steep losses are

BOX = sv.domains.Box(-np.ones(6), np.ones(6))


def small(horizon):
    """Settings of a small horizon, as a plan would make them at epsilon 1."""
    return known(horizon=horizon, least=min(16, horizon // 80), growth=0.2, cap=0.05)


@pytest.mark.parametrize("horizon", [1000, 10_000])
def test_first_probes_are_near_the_centre_and_nearer_the_shorter_the_horizon(horizon):
    belief = RadialBelief(BOX, small(horizon))
    first = belief._scales.first
    assert first < 0.35  # where 1 is a vertex
    probes = challengers(belief, belief.draw(8, 0, 0, np.random.default_rng(0)))
    assert len(probes) == 7  # one is the centre
    far = belief.shape.distance(probes, belief.leader)
    assert (far >= first * (1 - 1e-6)).all()
    assert far.max() < 0.5
    assert first < SlopeScales(Shape(BOX), small(10 * horizon)).first


def test_few_numbers_are_shrunk_and_many_are_not():
    """A slope that noise alone suggests moves the leader by less than the largest scale would; a plain one fully."""
    target, coins = np.array([0.5, 0.0, -0.3, 0.2, 0.0, 0.1]), np.random.default_rng(0)
    points = coins.uniform(-1, 1, (48, 6))
    share = {}
    for events in (5, 100_000):
        belief = RadialBelief(BOX, small(100_000))
        noise = coins.laplace(0, 1 / events, 48)
        belief.learn(Numbers(points, quadratic(target)(points) / 4 + noise, np.full(48, float(events)), 48 * events))
        bold = belief.fit(belief.setting).mean[1:-1]
        share[events] = np.linalg.norm(belief.coefficients()[1:-1]) / np.linalg.norm(bold)
    assert share[5] < 0.5
    assert share[100_000] == pytest.approx(1.0, abs=0.02)


@pytest.mark.parametrize(("horizon", "most"), [(1000, 1.05), (10_000, 0.95)])
def test_no_more_is_lost_than_by_never_learning(horizon, most):
    """A shallow bowl, whose best point gains .04 of the range: the mean of 12 runs."""
    shares = []
    for seed in range(12):
        target = 0.3 * np.random.default_rng(seed).choice([-1.0, 1.0], 6)
        world = lambda x, target=target: 0.3 + 0.45 * ((x - target) ** 2).mean(axis=1)  # noqa: E731
        shares.append(lost_on(BOX, world, horizon, seed) / 0.0405)
    assert np.mean(shares) <= most


def test_next_to_nothing_is_tried_where_nothing_can_be_learned():
    """The largest deviation of ten coordinates, least near the centre: probes as far as longer runs have cost 2.4."""
    box, shares = sv.domains.Box(-np.ones(10), np.ones(10)), []
    for seed in range(6):
        target = 0.05 * np.random.default_rng(seed).choice([-1.0, 1.0], 10)
        shares.append(lost_on(box, lambda x, t=target: 0.3 + 0.5 * np.abs(x - t).max(axis=1), 1000, seed) / 0.025)
    assert np.mean(shares) <= 1.25


def test_what_plainly_loses_against_the_centre_is_played_nearer():
    """And where it gains as plainly, no decision of a round is spent on the centre."""
    near, centers = [], []
    for loss in (0.4, 0.6):
        belief, coins = RadialBelief(BOX, small(10_000)), np.random.default_rng(0)
        probes = belief.draw(8, 0, 0, coins)
        means = np.where((probes == belief.shape.center).all(axis=1), 0.5, loss)
        belief.learn(Numbers(probes, means, np.full(8, 200.0), 1600))
        others = challengers(belief, belief.draw(8, 1600, 0, coins))
        near.append(belief.shape.distance(others, belief.leader).min())
        centers.append(8 - len(others))
    assert centers == [0, 2]
    assert near[1] < 0.5 * near[0]


def lost_on(domain, world, horizon, seed):
    """Play a world whose least mean loss is .3, and return the regret per event."""
    lost = []
    play(
        RadialBelief(domain, small(horizon)),
        lambda t: world,
        seed,
        watch=lambda belief, probes, events: lost.append((events, world(probes) - 0.3)),
    )
    return sum(events * more.sum() for events, more in lost) / sum(8 * events for events, _ in lost)


def rounded(target):
    return lambda points: 0.5 * np.sqrt(0.04 + ((points - target) ** 2).sum(axis=1))


def pinball(target):
    return lambda points: np.abs(points - target).mean(axis=1) / 2


@pytest.mark.parametrize(("kind", "widest"), [(distance, 2.0), (pinball, 2.0), (rounded, 10.0)])
def test_what_is_said_of_the_recommendation_holds(kind, widest):
    """Losses that the model does not fit: the bound on the shortfall and the stated loss hold in 10 of 12 runs.

    With a kink at the best point or without, and with no wider a bound than that takes, in the median.
    """
    told, stated = 0, []
    for seed in range(12):
        target = np.random.default_rng(seed).uniform(-0.4, 0.4, 6)
        world = kind(target)
        belief = RadialBelief(BOX if kind is pinball else sv.domains.Ball(6), small(20_000))
        play(belief, lambda t, world=world: world, seed)
        sure, loss = belief.certainty(belief.leader, 50), float(world(belief.leader[None])[0])
        stated.append(sure.shortfall[1] / (loss - float(world(target[None])[0])))
        told += abs(sure.loss - loss) <= 1.96 * sure.deviation
    assert np.sum(np.array(stated) >= 1) >= 10
    assert np.median(stated) <= widest
    assert told >= 10


def test_what_the_model_has_missed_is_lost_as_far_as_the_set_goes():
    """Losses that bend near a border: there is something to gain inside if they rise towards it, and nothing if not."""
    domain, gained = sv.domains.Box(-np.ones(2), np.ones(2)), []
    points = np.random.default_rng(0).uniform(-1, 1, (400, 2))
    for bend in (-0.6, -0.06, 0.6):
        belief = RadialBelief(domain, known(noise=0.0))
        means = 0.1 * points[:, 0] + bend * np.minimum(0.0, points[:, 0] + 0.7)
        belief.learn(Numbers(points, 0.5 + means, np.full(400, 1e6), 400))
        gained.append(belief._missed(np.array([-1.0, 0.0]), -0.1 - 0.3 * bend, near=0.3, away=0.1))
    assert gained[0] > 0.005
    assert max(gained[1:]) < 1e-4


def test_what_the_model_may_err_by_around_the_decision_is_in_the_bound(monkeypatch):
    belief = play(
        RadialBelief(sv.domains.Ball(4), known(noise=0.0, horizon=20_000)), lambda t: distance(np.full(4, 0.3)), 0
    )
    assert MISFITS[belief.setting[0]] > 0
    decision = belief.leader
    stated = belief.certainty(decision, 50).shortfall[1]
    monkeypatch.setattr("sottovoce.models.convex.MISFITS", tuple(0.0 for _ in MISFITS))
    assert belief.certainty(decision, 50).shortfall[1] < 0.98 * stated
