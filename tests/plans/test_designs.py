"""Designs: unbiased from a few events, an exact number of them, and a model that is ridge regression.

Statistical tests compare means with expectations within 6 standard errors, or use a test at a level of 1e-9: a false
alarm has probability below 1e-8 for each entry, and seeds are fixed.
"""

import math

import numpy as np
import pytest
from scipy import stats

import sottovoce as sv
from sampling import every, sampled
from sottovoce.plans.designs import BallProbes, DesignBound, Designs, LinearModel, Probe, Schedule, VertexProbes
from sottovoce.plans.placement import Placement

GRID = 2.0**-30  # losses are summed as integers


def rounded(domain, integral=False):
    return Placement(domain, sv.domains.Rounded(domain), integral)


VERTEX_STAGES = {
    "choices": rounded(sv.domains.Hypersimplex(6, 2)),
    "choices, integral": rounded(sv.domains.Hypersimplex(6, 2), integral=True),
    "assignments, integral": rounded(sv.domains.Birkhoff(3), integral=True),
    "routes, integral": rounded(sv.domains.Paths.examples()[0], integral=True),
    "flat hull of points": rounded(sv.domains.ConvexHull.examples()[1]),  # its design is far from uniform
}
BALL_STAGES = {
    "ball": Placement(sv.domains.Ball(4)),
    "flat simplex": Placement(sv.domains.Simplex(4)),
    "choices, rounded": rounded(sv.domains.Hypersimplex(6, 2)),
}
SCHEDULE = Schedule(rate=0.25, horizon=10_000, probe_events=3)  # rounds of 12


class OneProbe:
    """A design whose draw is known beforehand."""

    def __init__(self, probe):
        self.probe = probe

    def draw(self, coins):
        return self.probe


def designs_on(placement, probes, schedule=SCHEDULE, prior=None, **options):
    """Designs that have seen nothing, or have learned `prior` = (level, theta) already."""
    designs = Designs(placement, probes, schedule, middle=0.5, spread=0.2, **options)
    if prior is not None:
        designs.model.learn(np.zeros(placement.working.dimension), prior[0], 1.0, 1.0, prior[0])
        designs.model.level, designs.model.theta = prior[0], prior[1].copy()
    return designs


def play(designs, coins, loss, blocks=(12,), point=None):
    """One round: the estimate from exact sums of loss(actions, events), and what was drawn."""
    point = designs.placement.working.center if point is None else point
    exploration = designs.begin(point, 0, sum(blocks), coins)
    draws = [exploration.draw(coins, sum(blocks[:place]), size) for place, size in enumerate(blocks)]
    parts = np.split(np.arange(sum(blocks)), np.cumsum(blocks)[:-1])
    sums = [
        draw.weights.sum(np.rint(loss(draw.actions, events) / GRID).astype(np.int64))
        for draw, events in zip(draws, parts, strict=True)
    ]
    total = sum(draw.weights.total() for draw in draws).astype(float)
    return exploration.estimate(GRID * sum(sums), total), draws


def in_working(placement, cost):
    return placement.domain.tangent(cost) if placement.rounded is None else placement.rounded.design.factor.T @ cost


class TestUnbiased:
    @every("known", [False, True])
    @every("placement", VERTEX_STAGES.values())
    def test_vertex_probes_exactly(self, placement, known):
        """The mean over the design, taken in full: whatever b and theta' are, and without sampling error."""
        rng, design = np.random.default_rng(0), placement.rounded.design
        cost, prior = rng.standard_normal(placement.domain.dimension), None
        if known:
            prior = (rng.standard_normal(), rng.standard_normal(placement.working.dimension))
        total = 0.0
        for vertex, weight in zip(design.vertices, design.weights, strict=True):
            offset = placement.rounded.from_original(vertex)
            designs = designs_on(placement, OneProbe(Probe(vertex, offset, offset)), prior=prior)
            total += weight * play(designs, rng, lambda x, events: x @ cost + 0.7, (5, 1, 6))[0]
        np.testing.assert_allclose(total, 12 * in_working(placement, cost), atol=1e-6)

    @every("placement", VERTEX_STAGES.values())
    def test_vertex_probes_follow_the_design(self, placement):
        probes, coins, design = VertexProbes(placement), np.random.default_rng(1), placement.rounded.design
        drawn = [probes.draw(coins) for _ in range(2000)]
        names = {vertex.tobytes(): number for number, vertex in enumerate(design.vertices)}
        counts = np.bincount([names[probe.action.tobytes()] for probe in drawn], minlength=len(names))
        assert stats.chisquare(counts, 2000 * design.weights).pvalue > 1e-9
        for probe in drawn[:20]:
            np.testing.assert_allclose(placement.original(probe.offset), probe.action, atol=1e-9)
            np.testing.assert_array_equal(probe.offset, probe.weight)  # S = I

    @every("placement", BALL_STAGES.values())
    def test_ball_probes_are_inside_and_whitened(self, placement):
        """E[v - c] = 0 and E[S^+ (v - c)(v - c)'] = P: all that being unbiased needs."""
        probes, coins, working = BallProbes(placement), np.random.default_rng(2), placement.working
        drawn = [probes.draw(coins) for _ in range(4000)]
        assert all(placement.domain.contains(probe.action, tolerance=1e-9) for probe in drawn[:100])
        np.testing.assert_allclose([np.linalg.norm(probe.offset) for probe in drawn], working.inner_radius)
        for rows, expected in (
            (np.array([probe.offset for probe in drawn]), 0.0),
            (
                np.array([np.outer(probe.weight, probe.offset) for probe in drawn]),
                working.tangent(np.eye(working.dimension)),
            ),
        ):
            error = rows.std(axis=0) / math.sqrt(len(rows)) + 1e-12
            assert (np.abs(rows.mean(axis=0) - expected) <= 6 * error).all()

    @every(
        "placement, kind",
        [(BALL_STAGES["flat simplex"], BallProbes), (VERTEX_STAGES["choices, integral"], VertexProbes)],
    )
    def test_losses_that_change_from_event_to_event(self, placement, kind):
        """An exploring place is uniform in its stride, so every event of the round counts the same."""
        coins, rounds = np.random.default_rng(3), 3000
        costs = np.linspace(0.0, 1.0, placement.domain.dimension) * np.linspace(0.0, 2.0, 12)[:, None]
        prior = (0.6, coins.standard_normal(placement.working.dimension) / 4)
        probes, rows = kind(placement), []
        for _ in range(rounds):
            designs = designs_on(placement, probes, prior=prior)
            rows.append(play(designs, coins, lambda x, events: np.einsum("ij,ij->i", x, costs[events]))[0])
        error = np.std(rows, axis=0) / math.sqrt(rounds) + 1e-12
        expected = in_working(placement, costs.sum(axis=0))
        assert (np.abs(np.mean(rows, axis=0) - expected) <= 6 * error).all()
        assert error.max() < 0.15 * np.linalg.norm(expected)

    def test_a_control_variate_that_is_right_leaves_nothing_to_chance(self):
        placement = VERTEX_STAGES["choices"]
        cost = np.linspace(0.0, 1.0, 6)
        truth = in_working(placement, cost)
        designs = designs_on(
            placement, VertexProbes(placement), prior=(float(cost @ placement.rounded.design.mean), truth)
        )
        estimate, _ = play(designs, np.random.default_rng(4), lambda x, events: x @ cost)
        np.testing.assert_allclose(estimate, 12 * truth, atol=1e-6)


@pytest.mark.parametrize("placement", [*VERTEX_STAGES.values()], ids=VERTEX_STAGES)
class TestRounds:
    BLOCKS = ((12,), (5, 4, 3), (1,) * 12)

    @every("blocks", BLOCKS)
    def test_an_exact_number_explores_one_in_each_stride_and_only_these_report(self, placement, blocks):
        coins, probe = np.random.default_rng(5), VertexProbes(placement).draw(np.random.default_rng(5))
        designs = designs_on(placement, OneProbe(probe))
        for _ in range(20):
            _, draws = play(designs, coins, lambda x, events: np.zeros(len(x)), blocks)
            wants = np.concatenate([draw.wants_loss for draw in draws])
            assert wants.reshape(3, 4).sum(axis=1).tolist() == [1, 1, 1]
            signs = np.concatenate([draw.weights.sign for draw in draws])
            assert (signs == wants).all()  # an event that explores is in the one number, the others are in none
            for draw in draws:
                for event, wanted in zip(np.eye(len(draw.actions), dtype=np.int64), draw.wants_loss, strict=True):
                    assert draw.weights.sum(event).tolist() == [int(wanted)]
            assert (np.concatenate([draw.actions for draw in draws])[wants] == probe.action).all()

    def test_places_are_uniform(self, placement):
        designs, coins = designs_on(placement, VertexProbes(placement)), np.random.default_rng(6)
        begun = [designs.begin(placement.working.center, 0, 12, coins)._places for _ in range(2000)]
        for stride in np.array(begun).T:
            assert stats.chisquare(np.bincount(stride % 4, minlength=4)).pvalue > 1e-9

    def test_the_others_play_the_point(self, placement):
        """Itself, or vertices of which it is the mean."""
        coins, working = np.random.default_rng(7), placement.working
        point = 0.5 * working.center + 0.5 * working.extreme_point(np.arange(1.0, working.dimension + 1))
        designs, played = designs_on(placement, VertexProbes(placement)), []
        for _ in range(300):
            _, draws = play(designs, coins, lambda x, events: np.zeros(len(x)), (7, 5), point)
            played += [draw.actions[~draw.wants_loss] for draw in draws]
        actions, expected = np.concatenate(played), placement.original(point)
        if not placement.integral:
            np.testing.assert_allclose(actions, np.tile(expected, (len(actions), 1)), atol=1e-12)
            return
        assert set(np.unique(actions)) == {0.0, 1.0}
        error = actions.std(axis=0) / math.sqrt(len(actions)) + 1e-6
        assert (np.abs(actions.mean(axis=0) - expected) <= 6 * error).all()

    def test_a_short_last_round_explores_only_within_itself(self, placement):
        designs, coins = designs_on(placement, VertexProbes(placement)), np.random.default_rng(8)
        for size in (1, 5, 11):
            exploration = designs.begin(placement.working.center, 9_000, size, coins)
            assert exploration.draw(coins, 0, size).wants_loss.sum() in (size // 4, size // 4 + 1)


class TestReuse:
    """Exploiting events report as well, one number for each vertex that they play."""

    STAGES = (VERTEX_STAGES["choices"], VERTEX_STAGES["choices, integral"], BALL_STAGES["ball"])

    @staticmethod
    def designs(placement, prior=None, **options):
        probes = BallProbes(placement) if placement.rounded is None else VertexProbes(placement)
        return designs_on(placement, probes, prior=prior, reuse=True, **options)

    @staticmethod
    def point(placement):
        working = placement.working
        return 0.5 * working.center + 0.5 * working.extreme_point(np.arange(1.0, working.dimension + 1))

    @every("placement", STAGES)
    def test_each_event_is_in_exactly_one_number_with_those_that_play_the_same(self, placement):
        designs, coins = self.designs(placement), np.random.default_rng(12)
        exploration = designs.begin(self.point(placement), 0, 12, coins)
        for start, size in ((0, 5), (5, 4), (9, 3)):
            draw = exploration.draw(coins, start, size)
            assert draw.wants_loss is None
            assert (draw.weights.sign == 1).all()
            assert ((draw.weights.index >= 0) & (draw.weights.index < exploration.numbers)).all()
            for index in np.unique(draw.weights.index):
                assert np.ptp(draw.actions[draw.weights.index == index], axis=0).max() == 0.0
        assert len(exploration._places) == 3

    def test_the_point_is_the_mean_of_what_exploiting_events_play(self):
        placement, coins, played = VERTEX_STAGES["choices, integral"], np.random.default_rng(13), []
        designs = self.designs(placement)
        for _ in range(300):
            draw = designs.begin(self.point(placement), 0, 12, coins).draw(coins, 0, 12)
            played.append(draw.actions[draw.weights.index > 0])
        actions = np.concatenate(played)
        error = actions.std(axis=0) / math.sqrt(len(actions)) + 1e-6
        assert (np.abs(actions.mean(axis=0) - placement.original(self.point(placement))) <= 6 * error).all()

    @every("placement", STAGES[1:])
    def test_the_estimate_stays_unbiased(self, placement):
        """It is that of the probe alone; what else is read serves later rounds."""
        coins, rows, rounds = np.random.default_rng(14), [], 2000
        cost = np.linspace(0.0, 1.0, placement.domain.dimension)
        prior = (0.6, coins.standard_normal(placement.working.dimension) / 4)
        for _ in range(rounds):
            designs = self.designs(placement, prior)
            rows.append(play(designs, coins, lambda x, events: x @ cost, (12,), self.point(placement))[0])
        error = np.std(rows, axis=0) / math.sqrt(rounds) + 1e-12
        assert (np.abs(np.mean(rows, axis=0) - 12 * in_working(placement, cost)) <= 6 * error).all()

    def test_what_is_reused_makes_the_model_better(self):
        placement, errors = VERTEX_STAGES["choices, integral"], {}
        cost = np.linspace(0.0, 1.0, 6)
        truth = np.append(in_working(placement, cost), cost @ placement.rounded.design.mean)
        for reuse in (False, True):
            coins = np.random.default_rng(15)
            designs = designs_on(placement, VertexProbes(placement), loss_variance=0.25, reuse=reuse)
            for _ in range(30):
                noisy = lambda x, events: x @ cost + 0.5 * coins.standard_normal(len(x))  # noqa: B023, E731
                play(designs, coins, noisy, (12,), self.point(placement))
            errors[reuse] = np.linalg.norm(np.append(designs.model.theta, designs.model.level) - truth)
        assert errors[True] < errors[False]


class TestSchedule:
    @staticmethod
    def rounds(schedule):
        passed, rounds = 0, []
        while passed < schedule.horizon:
            rounds.append(schedule.round_of(passed))
            passed += rounds[-1][0] * rounds[-1][1]
        return rounds

    @every("decay", [0.0, 1 / 3])
    @every(("rate", "horizon"), [(0.05, 10**5), (0.01, 10**6), (0.25, 10**4)])
    def test_the_rate_is_the_average_over_the_horizon(self, rate, horizon, decay):
        rounds = self.rounds(Schedule(rate, horizon, 5, decay))
        explored = sum(events for events, _ in rounds)
        assert explored / sum(events * stride for events, stride in rounds) == pytest.approx(rate, rel=0.05)

    def test_a_decaying_rate_falls_as_it_says(self):
        schedule = Schedule(0.01, 10**6, 5, decay=1 / 3)
        (_, early), (_, late) = schedule.round_of(10_000), schedule.round_of(640_000)
        assert late / early == pytest.approx(64 ** (1 / 3), rel=0.03)

    def test_what_is_no_schedule_is_refused(self):
        assert set(self.rounds(Schedule(0.02, 10**5, 7))) == {(7, 50)}  # without decay all rounds are alike
        for rate, events, words in (
            *((rate, 5, "rate") for rate in (0.0, -0.1, 1.1, np.nan)),
            (0.1, 0, "probe_events"),
        ):
            with pytest.raises(ValueError, match=f"{words} must be"):
                Schedule(rate, 1000, events)
        placement = VERTEX_STAGES["choices"]
        with pytest.raises(ValueError, match="spread must be"):
            Designs(placement, VertexProbes(placement), SCHEDULE, middle=0.5, spread=0.0)


def test_the_model_is_ridge_regression():
    """Solved again as one system: rows weighted by their variances, and a prior."""
    rng, d, spread, middle, leverage = np.random.default_rng(9), 4, 0.3, 0.5, 2.0
    offsets, means = rng.standard_normal((30, d)), rng.standard_normal(30)
    variances = rng.uniform(0.1, 2.0, 30)
    model = LinearModel(d, spread)
    for count in range(1, 31):
        model.learn(offsets[count - 1], means[count - 1], variances[count - 1], leverage, middle)
        rows = np.column_stack([offsets[:count], np.ones(count)]) * np.sqrt(1 / variances[:count])[:, None]
        values = means[:count] * np.sqrt(1 / variances[:count])
        prior = np.diag(np.append(np.full(d, math.sqrt(leverage)), 1.0)) / spread
        beliefs = prior @ np.append(np.zeros(d), middle)
        solved = np.linalg.lstsq(np.vstack([rows, prior]), np.append(values, beliefs), rcond=None)[0]
        np.testing.assert_allclose(np.append(model.theta, model.level), solved, rtol=1e-7, atol=1e-9)
    assert model.predict(offsets[0]) == pytest.approx(solved[-1] + solved[:-1] @ offsets[0])


@pytest.mark.parametrize(("noise", "probe_events"), sampled([(0.0, 2), (0.0, 10), (1.5, 10)], 2))
@pytest.mark.parametrize("name", sampled(["choices, integral", "assignments, integral"], 1))
def test_the_energy_is_within_the_bound(name, noise, probe_events):
    """(d/rate)(V + y G^2 + s^2/y) per event, V the variance of a loss, G the spread of means about b."""
    placement, coins, rounds = VERTEX_STAGES[name], np.random.default_rng(11), 3000
    design, schedule = placement.rounded.design, Schedule(0.25, 10_000, probe_events)
    cost = coins.standard_normal(placement.domain.dimension) / 4
    means = design.vertices @ cost
    spread = math.sqrt(design.weights @ (means - 0.1) ** 2)
    prior, energies, size = (0.1, np.zeros(placement.working.dimension)), [], 4 * probe_events
    for _ in range(rounds):
        designs = designs_on(placement, VertexProbes(placement), schedule, prior)
        shift = coins.laplace(0.0, noise / math.sqrt(2)) if noise else 0.0
        jitter = 0.3 * coins.standard_normal(size)
        exploration = designs.begin(placement.working.center, 0, size, coins)
        draw = exploration.draw(coins, 0, size)
        total = float(((draw.actions @ cost + jitter) * draw.wants_loss).sum()) + shift
        gradient = exploration.estimate(np.array([total]), draw.weights.total().astype(float))
        energies.append(gradient @ gradient / size)
    given = {"events": 10_000, "rate": 0.25, "probe_events": probe_events, "outer_radius": 1.0, "loss_deviation": 0.3}
    given |= {"dimension": placement.working.affine_dimension, "spread": spread, "number_noise": noise}
    bound = DesignBound(**given, width=1.0, step_multiplier=1.0, point_error=0.0)
    error = np.std(energies) / math.sqrt(rounds)
    assert abs(np.mean(energies) - bound.energy) <= 6 * error + 1e-3 * bound.energy  # exact, up to the design's own
