"""Designs: unbiased from a few events, an exact number of them, and a model that is ridge regression.

Statistical tests compare means with expectations within 6 standard errors, or use a test at a level of 1e-9: a false
alarm has probability below 1e-8 for each entry, and seeds are fixed.
"""

import math

import numpy as np
import pytest
from scipy import stats

import sottovoce as sv
from exploring import agree, drawn, estimated, half_way, in_working, rounded
from sampling import every, sampled
from sottovoce.plans.designs import DesignOptions, Designs, LinearModel, energy

STAGES = {
    "choices": rounded(sv.domains.Hypersimplex(6, 2)),
    "choices, integral": rounded(sv.domains.Hypersimplex(6, 2), integral=True),
    "assignments, integral": rounded(sv.domains.Birkhoff(3), integral=True),
    "routes, integral": rounded(sv.domains.Paths.examples()[0], integral=True),
    "flat hull of points": rounded(sv.domains.ConvexHull.examples()[1]),  # its design is far from uniform
}
CHOICES, INTEGRAL = STAGES["choices"], STAGES["choices, integral"]
OPTIONS = DesignOptions(rate=0.25, probe_events=3)  # rounds of 12


def designs_on(placement, options=OPTIONS, prior=None, probe=None, **more):
    """Designs that have seen nothing, or have learned `prior` = (level, theta) already; every draw is the `probe`."""
    designs = Designs(placement, options, 10_000, middle=0.5, spread=0.2, **more)
    if prior is not None:
        designs.model.learn(np.zeros(placement.working.dimension), prior[0], 1.0, 1.0, prior[0])
        designs.model.level, designs.model.theta = prior[0], prior[1].copy()
    if probe is not None:
        designs.draw_probe = lambda coins: probe
    return designs


def play(designs, coins, loss, blocks=(12,), point=None):
    """One round: the estimate from exact sums of loss(actions, events), and what was drawn."""
    point = designs.placement.working.center if point is None else point
    exploration, draws = drawn(designs, point, coins, blocks)
    losses = loss(np.concatenate([draw.actions for draw in draws]), np.arange(sum(blocks)))
    return estimated(exploration, draws, losses), draws


class TestUnbiased:
    @every("known", [False, True])
    @every("placement", STAGES.values())
    def test_exactly_over_the_design(self, placement, known):
        """The mean over the design, taken in full: whatever b and theta' are, and without sampling error."""
        rng, design = np.random.default_rng(0), placement.rounded.design
        cost, prior = rng.standard_normal(placement.domain.dimension), None
        if known:
            prior = (rng.standard_normal(), rng.standard_normal(placement.working.dimension))
        total = 0.0
        for vertex, weight in zip(design.vertices, design.weights, strict=True):
            designs = designs_on(placement, prior=prior, probe=vertex)
            total += weight * play(designs, rng, lambda x, events: x @ cost + 0.7, (5, 1, 6))[0]
        np.testing.assert_allclose(total, 12 * in_working(placement, cost), atol=1e-6)

    @every("placement", STAGES.values())
    def test_probes_follow_the_design(self, placement):
        designs, coins, design = designs_on(placement), np.random.default_rng(1), placement.rounded.design
        probes = [designs.draw_probe(coins) for _ in range(2000)]
        names = {vertex.tobytes(): number for number, vertex in enumerate(design.vertices)}
        counts = np.bincount([names[probe.tobytes()] for probe in probes], minlength=len(names))
        assert stats.chisquare(counts, 2000 * design.weights).pvalue > 1e-9
        assert designs.can_draw(probes[0])
        assert not designs.can_draw(probes[0] + 0.1)

    def test_losses_that_change_from_event_to_event(self):
        """An exploring place is uniform in its stride, so every event of the round counts the same."""
        placement, coins, rows = INTEGRAL, np.random.default_rng(3), []
        costs = np.linspace(0.0, 1.0, placement.domain.dimension) * np.linspace(0.0, 2.0, 12)[:, None]
        prior, point = (0.6, coins.standard_normal(placement.working.dimension) / 4), half_way(placement)
        for _ in range(2000):
            designs = designs_on(placement, prior=prior)
            rows.append(play(designs, coins, lambda x, events: (x * costs[events]).sum(axis=1), (12,), point)[0])
        expected = in_working(placement, costs.sum(axis=0))
        assert agree(rows, expected).max() < 0.15 * np.linalg.norm(expected)

    def test_a_control_variate_that_is_right_leaves_nothing_to_chance(self):
        cost = np.linspace(0.0, 1.0, 6)
        truth = in_working(CHOICES, cost)
        designs = designs_on(CHOICES, prior=(float(cost @ CHOICES.rounded.design.mean), truth))
        estimate, _ = play(designs, np.random.default_rng(4), lambda x, events: x @ cost)
        np.testing.assert_allclose(estimate, 12 * truth, atol=1e-6)


class TestRounds:
    @every("blocks", [(12,), (5, 4, 3), (1,) * 12])
    @every("placement", STAGES.values())
    def test_an_exact_number_explores_each_in_its_stride_and_they_alone_report(self, placement, blocks):
        coins = np.random.default_rng(5)
        probe = designs_on(placement).draw_probe(coins)
        designs = designs_on(placement, probe=probe)
        for _ in range(10):
            _, draws = play(designs, coins, lambda x, events: np.zeros(len(x)), blocks)
            wants = np.concatenate([draw.wants_loss for draw in draws])
            assert wants.reshape(3, 4).sum(axis=1).tolist() == [1, 1, 1]
            for draw in draws:
                for event, wanted in zip(np.eye(len(draw.actions), dtype=np.int64), draw.wants_loss, strict=True):
                    assert draw.weights.sum(event).tolist() == [int(wanted)]  # the others are in no number
            assert (np.concatenate([draw.actions for draw in draws])[wants] == probe).all()

    def test_places_are_uniform(self):
        designs, coins = designs_on(CHOICES), np.random.default_rng(6)
        begun = [designs.begin(CHOICES.working.center, 0, 12, coins)._places for _ in range(2000)]
        for stride in np.array(begun).T:
            assert stats.chisquare(np.bincount(stride % 4, minlength=4)).pvalue > 1e-9

    @every("placement", STAGES.values())
    def test_the_others_play_the_point(self, placement):
        """Itself, or vertices of which it is the mean."""
        coins, point, played = np.random.default_rng(7), half_way(placement), []
        designs = designs_on(placement)
        for _ in range(300):
            exploration = designs.begin(point, 0, 12, coins)
            for start, size in ((0, 7), (7, 5)):
                draw = exploration.draw(coins, start, size)
                played.append(draw.actions[~draw.wants_loss])
        actions = np.concatenate(played)
        if placement.integral:
            assert set(np.unique(actions)) == {0.0, 1.0}
        agree(actions, placement.original(point), spare=1e-6)

    @every("size", [1, 5, 11])
    def test_a_short_last_round_explores_only_within_itself(self, size):
        exploration = designs_on(CHOICES).begin(CHOICES.working.center, 9_000, size, np.random.default_rng(8))
        draw = exploration.draw(np.random.default_rng(8), 0, size)
        assert draw.wants_loss.sum() in (size // 4, size // 4 + 1)


@every("decay", [0.0, 1 / 3])
@every(("rate", "horizon"), [(0.05, 10**5), (0.01, 10**6), (0.25, 10**4)])
def test_the_rate_is_the_average_over_the_horizon_and_falls_as_it_says(rate, horizon, decay):
    designs, passed, strides = Designs(CHOICES, DesignOptions(rate, 5, decay), horizon, middle=0.5, spread=0.2), 0, []
    while passed < horizon:
        strides.append(designs.stride(passed))
        passed += designs.round_size(passed)
    assert len(strides) / sum(strides) == pytest.approx(rate, rel=0.05)
    assert decay or len(set(strides)) == 1
    if rate == 0.01:
        assert designs.stride(640_000) / designs.stride(10_000) == pytest.approx(64**decay, rel=0.03)


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
def test_the_energy_is_what_the_bound_has(name, noise, probe_events):
    """(d/rate)(V + y G^2 + s^2/y) per event, V the variance of a loss, G the spread of means about b."""
    placement, coins, rounds = STAGES[name], np.random.default_rng(11), 3000
    design, options = placement.rounded.design, DesignOptions(0.25, probe_events)
    cost = coins.standard_normal(placement.domain.dimension) / 4
    spread = math.sqrt(design.weights @ (design.vertices @ cost - 0.1) ** 2)
    prior, energies, size = (0.1, np.zeros(placement.working.dimension)), [], 4 * probe_events
    for _ in range(rounds):
        designs = designs_on(placement, options, prior)
        shift = coins.laplace(0.0, noise / math.sqrt(2)) if noise else 0.0
        jitter = 0.3 * coins.standard_normal(size)
        exploration = designs.begin(placement.working.center, 0, size, coins)
        draw = exploration.draw(coins, 0, size)
        total = float(((draw.actions @ cost + jitter) * draw.wants_loss).sum()) + shift
        gradient = exploration.estimate(np.array([total]), draw.weights.total().astype(float))
        energies.append(gradient @ gradient / size)
    expected = energy(placement.working.affine_dimension, options, deviation=0.3, spread=spread, noise=noise)
    agree(energies, expected, spare=1e-3 * expected / 6)  # exact, up to the design's own error
