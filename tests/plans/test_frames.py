"""Frames: uniform directions, unbiased estimates, one number for each event, and the energy that they promise.

Statistical tests compare a mean over independent rounds with its expectation, entry by entry, within 6 standard errors:
a false alarm has probability below 1e-8 for each entry, and seeds are fixed.
"""

import math

import numpy as np
import pytest
from scipy import stats

import sottovoce as sv
from sampling import every
from sottovoce._sums import Probed
from sottovoce.plans.frames import Frames, haar_frame
from sottovoce.plans.placement import Placement
from sottovoce.plans.sphere import Spheres

ROUNDS = 1000
GRID = 2.0**-30  # losses are summed as integers


def rounded(domain, **options):
    return Placement(domain, sv.domains.Rounded(domain), **options)


STAGES = {
    "ball": Placement(sv.domains.Ball(4)),
    "flat simplex": Placement(sv.domains.Simplex(5)),
    "flat choices, rounded": rounded(sv.domains.Hypersimplex(6, 2)),
    "needle, rounded": rounded(sv.domains.Box([0.0, 0.0, -3.0], [0.1, 2.0, 5.0])),
}


@pytest.fixture(params=STAGES.values(), ids=STAGES)
def placement(request):
    return request.param


def frames_on(placement, directions, size, play="inside", share=0.5, middle=0.0):
    return Frames(placement, share * placement.working.inner_radius, directions, size, play, middle)


def draw_round(explorer, point, coins, blocks):
    """One round's exploration, and its events, drawn block by block."""
    exploration = explorer.begin(point, 0, sum(blocks), coins)
    draws = [exploration.draw(coins, sum(blocks[:place]), size) for place, size in enumerate(blocks)]
    return exploration, draws


def estimate(exploration, draws, losses):
    """What a round's exploration makes of the exact sums of its losses."""
    parts = np.split(np.rint(losses / GRID).astype(np.int64), np.cumsum([len(draw.actions) for draw in draws])[:-1])
    sums = GRID * sum(draw.weights.sum(part) for draw, part in zip(draws, parts, strict=True))
    return exploration.estimate(sums, sum(draw.weights.total() for draw in draws).astype(float))


def vertex_half_way(placement):
    """A point between the centre and a vertex of the working set."""
    working = placement.working
    return 0.5 * working.center + 0.5 * working.extreme_point(np.arange(1.0, working.dimension + 1))


def in_working(placement, gradient):
    """The gradient along the set, in working coordinates, of a function with this gradient in the set's own."""
    return (
        placement.domain.tangent(gradient)
        if placement.rounded is None
        else placement.rounded.design.factor.T @ gradient
    )


def mean_and_error(rows):
    rows = np.asarray(rows)
    return rows.mean(axis=0), rows.std(axis=0) / math.sqrt(len(rows)) + 1e-12


class TestDirections:
    @every("count", [1, 2, 3])
    def test_frames_are_orthonormal_in_the_direction_space(self, placement, count):
        frame = haar_frame(placement.working, count, np.random.default_rng(0))
        np.testing.assert_allclose(frame @ frame.T, np.eye(count), atol=1e-12)
        np.testing.assert_allclose(placement.working.tangent(frame), frame, atol=1e-12)

    def test_frames_have_the_moments_of_uniform_ones(self, placement):
        """E q_i = 0 and E q_i q_j' = [i = j] P/d, P the projection on the direction space."""
        working, coins = placement.working, np.random.default_rng(1)
        frames = np.array([haar_frame(working, 2, coins) for _ in range(ROUNDS)])
        mean, error = mean_and_error(frames)
        assert (np.abs(mean) <= 6 * error).all()
        expected = working.tangent(np.eye(working.dimension)) / working.affine_dimension
        for i, j in ((0, 0), (1, 1), (0, 1)):
            mean, error = mean_and_error(np.einsum("na,nb->nab", frames[:, i], frames[:, j]))
            assert (np.abs(mean - expected * (i == j)) <= 6 * error).all()

    @every("domain", [sv.domains.Ball(5), sv.domains.Simplex(6)])
    def test_frames_are_uniform(self, domain):
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

    @pytest.mark.parametrize("blocks", [(8,), (4, 4)], ids=str)
    def test_the_direction_of_every_single_event_is_uniform(self, placement, blocks):
        if placement.rounded is not None:
            placement = Placement(placement.rounded)  # the same set, but its actions show their directions
        explorer, coins = frames_on(placement, 2, sum(blocks)), np.random.default_rng(3)
        point = placement.working.center
        rounds = [draw_round(explorer, point, coins, blocks)[1] for _ in range(ROUNDS)]
        actions = np.array([np.concatenate([draw.actions for draw in draws]) for draws in rounds])
        directions = (actions - point) / explorer.radius
        np.testing.assert_allclose(np.linalg.norm(directions, axis=2), 1.0)
        expected = placement.working.tangent(np.eye(placement.working.dimension)) / placement.working.affine_dimension
        mean, error = mean_and_error(directions)
        assert (np.abs(mean) <= 6 * error).all()
        mean, error = mean_and_error(np.einsum("nta,ntb->ntab", directions, directions))
        assert (np.abs(mean - expected) <= 6 * error).all()


BLOCKS = [(12,), (6, 6), (6, 1), (9,), (5,)]  # whole, in two, odd, odd and short of a pass
BOTH_PLAYS = [((12,), "inside"), ((4, 8), "around"), ((4, 3), "inside"), ((4, 1), "around")]


class TestUnbiased:
    """The mean of the estimate is the gradient of the round's smoothed losses, summed over its events."""

    @every(("blocks", "play"), BOTH_PLAYS)
    def test_linear_losses_that_change_from_event_to_event(self, placement, blocks, play):
        coins, size = np.random.default_rng(4), sum(blocks)
        explorer = frames_on(placement, 2, size, play, middle=1.0)
        costs = np.linspace(-1.0, 2.0, placement.domain.dimension) + coins.standard_normal(
            (size, placement.domain.dimension)
        )
        levels = np.linspace(0.9, 1.1, size)
        point, rows = vertex_half_way(placement), []
        played = placement.original(explorer._sphere.inside(point))
        for _ in range(ROUNDS):
            exploration, draws = draw_round(explorer, point, coins, blocks)
            offsets = np.concatenate([draw.actions for draw in draws]) - played
            rows.append(estimate(exploration, draws, levels + np.einsum("ij,ij->i", costs, offsets)))
        mean, error = mean_and_error(rows)
        expected = in_working(placement, costs.sum(axis=0))
        assert (np.abs(mean - expected) <= 6 * error).all()
        assert error.max() < 0.1 * np.linalg.norm(expected)  # sharp enough to see a factor n/d, or a lost pair

    @every(("blocks", "play"), BOTH_PLAYS[:3])
    def test_quadratic_losses(self, placement, blocks, play):
        """Smoothing 1/2 x'Ax adds a constant, so the gradient stays Ax at the point that is played."""
        coins, n = np.random.default_rng(5), placement.domain.dimension
        root = coins.standard_normal((n, n))
        matrix = root @ root.T
        explorer = frames_on(placement, 2, sum(blocks), play)
        point, rows = vertex_half_way(placement), []
        played = placement.original(explorer._sphere.inside(point))
        for _ in range(ROUNDS):
            exploration, draws = draw_round(explorer, point, coins, blocks)
            x = np.concatenate([draw.actions for draw in draws])
            losses = (np.einsum("ij,jk,ik->i", x, matrix, x) - played @ matrix @ played) / 2
            rows.append(estimate(exploration, draws, losses) / sum(blocks))
        mean, error = mean_and_error(rows)
        assert (np.abs(mean - in_working(placement, matrix @ played)) <= 6 * error).all()

    @every("blocks, position", [((8,), "rounded"), ((8, 4), "plain"), ((20,), "plain")])
    def test_vertices_played_in_place_of_points(self, blocks, position):
        """Linear losses see no difference in the mean; blocks are shorter than a pass, as long, and longer."""
        domain = sv.domains.Hypersimplex(5, 2)
        placement = Placement(domain, sv.domains.Rounded(domain) if position == "rounded" else None, integral=True)
        coins, cost = np.random.default_rng(6), np.linspace(-1.0, 2.0, 5)
        explorer = frames_on(placement, 4, sum(blocks), share=0.9, middle=1.0)
        point, rows = vertex_half_way(placement), []
        for _ in range(ROUNDS):
            exploration, draws = draw_round(explorer, point, coins, blocks)
            actions = np.concatenate([draw.actions for draw in draws])
            assert set(np.unique(actions)) <= {0.0, 1.0}
            rows.append(estimate(exploration, draws, actions @ cost) / sum(blocks))
        mean, error = mean_and_error(rows)
        expected = in_working(placement, cost)
        assert (np.abs(mean - expected) <= 6 * error).all()
        assert error.max() < 0.2 * np.linalg.norm(expected)

    def test_a_whole_frame_sees_linear_losses_exactly(self, placement):
        """m = d orthonormal directions, each both ways as often: nothing is left to chance."""
        d, coins = placement.working.affine_dimension, np.random.default_rng(7)
        explorer, cost = frames_on(placement, d, 4 * d), coins.standard_normal(placement.domain.dimension)
        exploration, draws = draw_round(explorer, vertex_half_way(placement), coins, (4 * d,))
        gradient = estimate(exploration, draws, draws[0].actions @ cost + 3.0)
        np.testing.assert_allclose(gradient, 4 * d * in_working(placement, cost), atol=1e-6)


class TestNumbers:
    @every("blocks", BLOCKS)
    def test_each_event_is_in_exactly_one_number(self, placement, blocks):
        explorer, coins = frames_on(placement, 3, sum(blocks)), np.random.default_rng(8)
        exploration, draws = draw_round(explorer, placement.working.center, coins, blocks)
        assert exploration.numbers == 3
        for draw in draws:
            assert isinstance(draw.weights, Probed)
            assert draw.wants_loss is None
            assert (np.abs(draw.weights.sign) == 1).all()
            for event in np.eye(len(draw.actions), dtype=np.int64):
                assert np.abs(draw.weights.sum(event)).sum() == 1

    @every("blocks", BLOCKS)
    def test_forwards_as_often_as_backwards(self, blocks):
        """An odd event out is at most one; every direction gets its share, a pair more or less."""
        explorer, coins = frames_on(STAGES["ball"], 3, sum(blocks)), np.random.default_rng(9)
        for _ in range(50):
            _, draws = draw_round(explorer, np.zeros(4), coins, blocks)
            signs = sum(draw.weights.total() for draw in draws)
            assert np.abs(signs).sum() == sum(blocks) % 2
            events = np.bincount(np.concatenate([draw.weights.index for draw in draws]), minlength=3)
            assert np.ptp(events) <= 2

    def test_which_side_comes_first_is_a_fair_coin_and_no_direction_is_preferred(self):
        """Both at a level of 1e-9."""
        explorer, coins = frames_on(STAGES["ball"], 3, 2), np.random.default_rng(10)
        firsts = [draw_round(explorer, np.zeros(4), coins, (1,))[1][0].weights for _ in range(ROUNDS)]
        ups = sum(int(weights.sign[0] > 0) for weights in firsts)
        assert stats.binomtest(ups, ROUNDS).pvalue > 1e-9
        assert stats.chisquare(np.bincount([weights.index[0] for weights in firsts], minlength=3)).pvalue > 1e-9

    def test_play_stays_inside(self, placement):
        explorer, coins = frames_on(placement, 3, 40, share=1.0), np.random.default_rng(11)
        corner = placement.working.extreme_point(np.arange(1.0, placement.working.dimension + 1))
        for action in draw_round(explorer, corner, coins, (40,))[1][0].actions:
            assert placement.domain.contains(action, tolerance=1e-9)

    def test_what_does_not_fit_is_refused(self):
        with pytest.raises(ValueError, match="directions must be at least 1 and at most 4"):
            Frames(Placement(sv.domains.Simplex(5)), 0.01, 5, 8)
        with pytest.raises(ValueError, match="radius must be at most"):
            Frames(Placement(sv.domains.Simplex(5)), 0.9, 2, 8)


class TestEnergy:
    def test_pairs_cancel_what_losses_have_in_common(self):
        """A level that all losses share leaves no trace; the sphere's independent directions carry all of it."""
        explorer, coins = frames_on(STAGES["ball"], 2, 12), np.random.default_rng(12)
        exploration, draws = draw_round(explorer, np.zeros(4), coins, (5, 7))
        losses = coins.random(12)
        np.testing.assert_allclose(
            estimate(exploration, draws, losses), estimate(exploration, draws, losses + 1000.0), atol=1e-6
        )

    def test_an_event_without_a_partner_is_measured_from_the_middle(self):
        explorer, coins = frames_on(STAGES["ball"], 2, 9, middle=0.5), np.random.default_rng(16)
        exploration, draws = draw_round(explorer, np.zeros(4), coins, (9,))
        np.testing.assert_allclose(estimate(exploration, draws, np.full(9, 0.5)), 0.0, atol=1e-6)
        assert np.linalg.norm(estimate(exploration, draws, np.full(9, 1.0))) == pytest.approx(0.5 * explorer.scale)

    def test_pairs_cancel_what_drifts_slowly(self):
        """Losses that rise by 1/12 each event: a pair differs by a twelfth of the range, an event by up to half."""
        placement, coins, drift = STAGES["ball"], np.random.default_rng(13), np.linspace(0.0, 1.0, 12)
        frames = frames_on(placement, 2, 12, middle=0.5)
        spheres = Spheres(
            placement, frames.radius, 12, lambda u: np.rint(u * 2**20).astype(np.int64), 2.0**-20, middle=0.5
        )
        energies = {}
        for explorer in (frames, spheres):
            rounds = (draw_round(explorer, np.zeros(4), coins, (12,)) for _ in range(500))
            energies[explorer] = np.mean([np.sum(estimate(*one, drift) ** 2) for one in rounds])
        assert energies[frames] < energies[spheres] / 10

    @every("size, directions, noise", [(2, 4, 0.0), (9, 2, 0.0), (16, 1, 2.0), (16, 4, 2.0)])
    @every("domain", [sv.domains.Ball(4), sv.domains.Simplex(5)])
    def test_the_energy_is_within_the_bound(self, domain, size, directions, noise):
        """Losses 0 and 1, by lot, with odds that are linear in the action: as noisy and as steep as they come."""
        placement, coins = Placement(domain), np.random.default_rng(14)
        d, explorer = domain.affine_dimension, frames_on(placement, directions, size, share=0.8, middle=0.5)
        cost = domain.tangent(np.eye(domain.dimension)[0])
        cost *= 0.5 / explorer.radius / np.linalg.norm(cost)  # the odds reach 0 and 1 at the farthest actions
        energies, halves = [], []
        for _ in range(ROUNDS):
            exploration, draws = draw_round(explorer, domain.center, coins, (size,))
            losses = (coins.random(size) < 0.5 + (draws[0].actions - domain.center) @ cost).astype(np.int64)
            even = losses[: size // 2 * 2].reshape(-1, 2)
            lone = (losses[size // 2 * 2 :] - 0.5) ** 2  # the baseline takes the place of the partner
            halves.append((((even[:, 0] - even[:, 1]) ** 2).sum() + lone.sum()) / size)
            sums = draws[0].weights.sum(losses) + coins.laplace(0.0, noise / math.sqrt(2) + 1e-300, directions)
            energies.append(np.sum(exploration.estimate(sums, draws[0].weights.total().astype(float)) ** 2))
        a, lipschitz = explorer.scale, np.linalg.norm(cost)
        bound = (
            size * a**2 * np.mean(halves)
            + d / directions * min(d, d / (d - 1)) * (size * lipschitz) ** 2
            + directions * (a * noise) ** 2
        )
        assert np.mean(energies) <= bound + 6 * np.std(energies) / math.sqrt(ROUNDS)
        assert np.mean(energies) >= bound / 3  # and the bound is not far away
