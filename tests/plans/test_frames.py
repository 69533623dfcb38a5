"""Frames: uniform directions, unbiased estimates, and one number for each event.

Statistical tests compare a mean over independent rounds with its expectation, entry by entry, within 6 standard errors:
a false alarm has probability below 1e-8 for each entry, and seeds are fixed.
"""

import numpy as np
import pytest
from scipy import stats

import sottovoce as sv
from exploring import agree, drawn, estimated, half_way, in_working, rounded
from sampling import every
from sottovoce._sums import Probed
from sottovoce.plans.frames import Frames, haar_frame
from sottovoce.plans.placement import Placement
from sottovoce.plans.sphere import Spheres

ROUNDS = 600
STAGES = {
    "ball": Placement(sv.domains.Ball(4)),
    "flat simplex": Placement(sv.domains.Simplex(5)),
    "flat choices, rounded": rounded(sv.domains.Hypersimplex(6, 2)),
    "needle, rounded": rounded(sv.domains.Box([0.0, 0.0, -3.0], [0.1, 2.0, 5.0])),
}
BALL = STAGES["ball"]
each_stage = every("placement", STAGES.values())


def frames_on(placement, directions, size, play="inside", share=0.5, middle=0.0):
    return Frames(placement, share * placement.working.inner_radius, size, play, middle, directions=directions)


@every("domain", [sv.domains.Ball(5), sv.domains.Simplex(6)])
def test_frames_are_uniform(domain):
    """What of a fixed unit vector falls into m uniform directions of d is Beta(m/2, (d-m)/2), squared.

    And it falls forwards as often as backwards. Kolmogorov-Smirnov and sign tests, each at a level of 1e-9.
    """
    coins, count = np.random.default_rng(2), 2
    frames = np.array([haar_frame(domain, count, coins) for _ in range(ROUNDS)])
    for vector in domain.tangent(np.eye(domain.dimension)[:3]):
        inner = frames @ (vector / np.linalg.norm(vector))
        law = stats.beta(count / 2, (domain.affine_dimension - count) / 2)
        assert stats.kstest((inner**2).sum(axis=1), law.cdf).pvalue > 1e-9
        for column in inner.T:
            assert stats.binomtest(int((column > 0).sum()), ROUNDS).pvalue > 1e-9


@each_stage
@every("blocks", [(8,), (4, 4)])
def test_the_direction_of_every_single_event_is_uniform(placement, blocks):
    if placement.rounded is not None:
        placement = Placement(placement.rounded)  # the same set, but its actions show their directions
    explorer, coins, working = frames_on(placement, 2, sum(blocks)), np.random.default_rng(3), placement.working
    rounds = [drawn(explorer, working.center, coins, blocks)[1] for _ in range(ROUNDS)]
    actions = np.array([np.concatenate([draw.actions for draw in draws]) for draws in rounds])
    directions = (actions - working.center) / explorer.radius
    np.testing.assert_allclose(np.linalg.norm(directions, axis=2), 1.0)
    agree(directions, 0.0)
    agree(
        np.einsum("nta,ntb->ntab", directions, directions),
        working.tangent(np.eye(working.dimension)) / working.affine_dimension,
    )


class TestUnbiased:
    """The mean of the estimate is the gradient of the round's smoothed losses, summed over its events."""

    @each_stage
    @every(("blocks", "play"), [((12,), "inside"), ((4, 8), "around"), ((4, 3), "inside"), ((4, 1), "around")])
    def test_linear_losses_that_change_from_event_to_event(self, placement, blocks, play):
        coins, size, n = np.random.default_rng(4), sum(blocks), placement.domain.dimension
        explorer = frames_on(placement, 2, size, play, middle=1.0)
        costs, levels = np.linspace(-1.0, 2.0, n) + coins.standard_normal((size, n)), np.linspace(0.9, 1.1, size)
        point, rows = half_way(placement), []
        played = placement.original(explorer.sphere.inside(point))
        for _ in range(ROUNDS):
            exploration, draws = drawn(explorer, point, coins, blocks)
            offsets = np.concatenate([draw.actions for draw in draws]) - played
            rows.append(estimated(exploration, draws, levels + np.einsum("ij,ij->i", costs, offsets)))
        expected = in_working(placement, costs.sum(axis=0))
        error = agree(rows, expected)
        assert error.max() < 0.1 * np.linalg.norm(expected)  # sharp enough to see a factor n/d, or a lost pair

    @each_stage
    @every("play", ["inside", "around"])
    def test_quadratic_losses(self, placement, play):
        """Smoothing 1/2 x'Ax adds a constant, so the gradient stays Ax at the point that is played."""
        coins, n = np.random.default_rng(5), placement.domain.dimension
        root = coins.standard_normal((n, n))
        matrix, explorer = root @ root.T, frames_on(placement, 2, 12, play)
        point, rows = half_way(placement), []
        played = placement.original(explorer.sphere.inside(point))
        for _ in range(ROUNDS):
            exploration, draws = drawn(explorer, point, coins, (4, 8))
            x = np.concatenate([draw.actions for draw in draws])
            losses = (np.einsum("ij,jk,ik->i", x, matrix, x) - played @ matrix @ played) / 2
            rows.append(estimated(exploration, draws, losses) / 12)
        agree(rows, in_working(placement, matrix @ played))

    @every("blocks, position", [((8,), "rounded"), ((8, 4), "plain"), ((20,), "plain")])
    def test_vertices_played_in_place_of_points(self, blocks, position):
        """Linear losses see no difference in the mean; blocks are shorter than a pass, as long, and longer."""
        domain = sv.domains.Hypersimplex(5, 2)
        placement = rounded(domain, integral=True) if position == "rounded" else Placement(domain, integral=True)
        coins, cost = np.random.default_rng(6), np.linspace(-1.0, 2.0, 5)
        explorer = frames_on(placement, 4, sum(blocks), share=0.9, middle=1.0)
        rows = []
        for _ in range(ROUNDS):
            exploration, draws = drawn(explorer, half_way(placement), coins, blocks)
            actions = np.concatenate([draw.actions for draw in draws])
            assert set(np.unique(actions)) <= {0.0, 1.0}
            rows.append(estimated(exploration, draws, actions @ cost) / sum(blocks))
        expected = in_working(placement, cost)
        assert agree(rows, expected).max() < 0.2 * np.linalg.norm(expected)

    @each_stage
    def test_a_whole_frame_sees_linear_losses_exactly(self, placement):
        """m = d orthonormal directions, each both ways as often: nothing is left to chance."""
        d, coins = placement.working.affine_dimension, np.random.default_rng(7)
        explorer, cost = frames_on(placement, d, 4 * d), coins.standard_normal(placement.domain.dimension)
        exploration, draws = drawn(explorer, half_way(placement), coins, (4 * d,))
        gradient = estimated(exploration, draws, draws[0].actions @ cost + 3.0)
        np.testing.assert_allclose(gradient, 4 * d * in_working(placement, cost), atol=1e-6)


class TestNumbers:
    @every("blocks", [(12,), (6, 6), (6, 1), (9,), (5,)])  # whole, in two, odd, odd and short of a pass
    def test_each_event_is_in_exactly_one_number_forwards_as_often_as_backwards(self, blocks):
        """An odd event out is at most one; every direction gets its share, a pair more or less."""
        explorer, coins = frames_on(BALL, 3, sum(blocks)), np.random.default_rng(8)
        for _ in range(50):
            exploration, draws = drawn(explorer, np.zeros(4), coins, blocks)
            assert exploration.numbers == 3
            for draw in draws:
                assert isinstance(draw.weights, Probed)
                assert draw.wants_loss is None
                for event in np.eye(len(draw.actions), dtype=np.int64):
                    assert np.abs(draw.weights.sum(event)).sum() == 1
            assert np.abs(sum(draw.weights.total() for draw in draws)).sum() == sum(blocks) % 2
            events = np.bincount(np.concatenate([draw.weights.index for draw in draws]), minlength=3)
            assert np.ptp(events) <= 2

    def test_which_side_comes_first_is_a_fair_coin_and_no_direction_is_preferred(self):
        """Both at a level of 1e-9."""
        explorer, coins = frames_on(BALL, 3, 2), np.random.default_rng(10)
        firsts = [drawn(explorer, np.zeros(4), coins, (1,))[1][0].weights for _ in range(ROUNDS)]
        ups = sum(int(weights.sign[0] > 0) for weights in firsts)
        assert stats.binomtest(ups, ROUNDS).pvalue > 1e-9
        assert stats.chisquare(np.bincount([weights.index[0] for weights in firsts], minlength=3)).pvalue > 1e-9

    @each_stage
    def test_play_stays_inside(self, placement):
        explorer, coins = frames_on(placement, 3, 40, share=1.0), np.random.default_rng(11)
        corner = placement.working.extreme_point(np.arange(1.0, placement.working.dimension + 1))
        for action in drawn(explorer, corner, coins, (40,))[1][0].actions:
            assert placement.domain.contains(action, tolerance=1e-9)

    def test_what_does_not_fit_is_refused(self):
        with pytest.raises(ValueError, match="directions must be at least 1 and at most 4"):
            Frames(STAGES["flat simplex"], 0.01, 8, directions=5)
        with pytest.raises(ValueError, match="radius must be at most"):
            Frames(STAGES["flat simplex"], 0.9, 8, directions=2)


class TestPairs:
    def test_they_cancel_what_losses_have_in_common(self):
        """A level that all losses share leaves no trace; an event without a partner is measured from the middle."""
        explorer, coins = frames_on(BALL, 2, 12), np.random.default_rng(12)
        exploration, draws = drawn(explorer, np.zeros(4), coins, (5, 7))
        losses = coins.random(12)
        found = [estimated(exploration, draws, losses + level) for level in (0.0, 1000.0)]
        np.testing.assert_allclose(*found, atol=1e-6)
        explorer = frames_on(BALL, 2, 9, middle=0.5)
        exploration, draws = drawn(explorer, np.zeros(4), coins, (9,))
        np.testing.assert_allclose(estimated(exploration, draws, np.full(9, 0.5)), 0.0, atol=1e-6)
        assert np.linalg.norm(estimated(exploration, draws, np.full(9, 1.0))) == pytest.approx(
            0.5 * explorer.sphere.scale
        )

    def test_they_cancel_what_drifts_slowly(self):
        """Losses that rise by 1/12 each event: a pair differs by a twelfth of the range, an event by up to half."""
        coins, drift, frames = np.random.default_rng(13), np.linspace(0.0, 1.0, 12), frames_on(BALL, 2, 12, middle=0.5)
        quantised = {"quantise": lambda u: np.rint(u * 2**20).astype(np.int64), "step": 2.0**-20}
        energies = []
        for explorer in (frames, Spheres(BALL, frames.radius, 12, middle=0.5, **quantised)):
            rounds = (drawn(explorer, np.zeros(4), coins, (12,)) for _ in range(500))
            energies.append(np.mean([np.sum(estimated(*one, drift) ** 2) for one in rounds]))
        assert energies[0] < energies[1] / 10
