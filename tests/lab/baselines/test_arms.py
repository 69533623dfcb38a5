"""Bandits with arms: lists of vertices, arms that leave when they must and never before, means of the newest phase."""

import itertools
import math

import dp_accounting
import numpy as np
import pytest
from watching import Chosen, watch_releases

import sottovoce as sv
from sampling import every
from sottovoce.errors import DomainError
from sottovoce.lab.baselines._vertices import vertices_of
from sottovoce.lab.baselines.asi_raman_talwar import AsiRamanTalwar, TsallisBatches, leader
from sottovoce.lab.baselines.base import Belief, Phase
from sottovoce.lab.baselines.dp_imed import GeometricPhases, OptimisticPhases, private_divergence
from sottovoce.lab.baselines.phased_elimination import DesignElimination
from sottovoce.lab.baselines.thompson_sampling import Features
from sottovoce.lab.baselines.zcdp_elimination import GaussianElimination
from sottovoce.lab.baselines.zcdp_thompson_sampling import NoisyPosterior
from sottovoce.plans.problem import Problem
from sottovoce.privacy import LossGrid

RANGE = (-1.0, 3.0)
PHASED = [kind for kind in sv.lab.baselines.BASELINES.values() if kind.private and hasattr(kind, "policy")]


def made(kind, domain, horizon=3_000, privacy=None, noise=None):
    noise = sv.SimulatedNoise(2) if noise is None else noise
    privacy = kind.promises[0](1.0) if privacy is None else privacy
    return kind(domain, horizon=horizon, loss_range=RANGE, privacy=privacy, seed=1, noise=noise)


def problem(domain, horizon=10**5, width=1.0):
    return Problem(domain, horizon, (0.0, width), sv.NoPrivacy(), losses="linear")


# ---------------------------------------------------------------------- vertices


def as_rows(rows):
    return {tuple(row) for row in np.asarray(rows).tolist()}


def test_vertices_of_known_sets_are_all_found():
    np.testing.assert_array_equal(sorted(as_rows(vertices_of(sv.domains.Simplex(5)))), np.eye(5)[::-1])
    chosen = [np.isin(np.arange(6), pair).astype(float) for pair in itertools.combinations(range(6), 2)]
    assert as_rows(vertices_of(sv.domains.Hypersimplex(6, 2))) == as_rows(chosen)
    permutations = [np.eye(4)[list(order)].ravel() for order in itertools.permutations(range(4))]
    assert as_rows(vertices_of(sv.domains.Birkhoff(4))) == as_rows(permutations)
    assert vertices_of(sv.domains.ConvexHull([[0.0, 0.5], [2.0, 0.0], [0.0, 3.0]])).shape == (3, 2)


def test_vertices_are_listed_once_each_on_every_example_that_has_few():
    listed = 0
    for kind in vars(sv.domains).values():
        for domain in kind.examples() if isinstance(kind, type) and issubclass(kind, sv.domains.Domain) else ():
            try:
                found = vertices_of(domain, 60) if domain.dimension < 9 else None
            except DomainError:
                continue
            if found is not None and not isinstance(domain, sv.domains.ConvexHull):
                listed += 1
                assert len(as_rows(found)) == len(found)
                coins = np.random.default_rng(0)
                for cost in coins.standard_normal((50, domain.dimension)):  # no answer is missing
                    assert tuple(np.rint(domain.extreme_point(cost)).tolist()) in as_rows(found)
    assert listed > 10


def test_sets_without_a_short_list_are_refused_with_the_reason():
    for kind in PHASED:
        for domain in (sv.domains.Ball(3), sv.domains.Hypersimplex(20, 5), sv.domains.Permutahedron([1.0, 2.0, 3.0])):
            if kind is sv.lab.baselines.ZCDPThompsonSampling:  # which asks the oracle
                continue
            with pytest.raises(DomainError, match="it needs a list of at most 1,000 vertices, and"):
                made(kind, domain)
        for privacy in (sv.ApproxDP(1.0, 1e-6), sv.ZCDP(1.0), sv.PureDP(1.0)):
            if not isinstance(privacy, kind.promises):
                with pytest.raises(TypeError, match=f"privacy must be {kind.promises[0].__name__} for {kind.name}"):
                    made(kind, sv.domains.Simplex(3), privacy=privacy)


# ---------------------------------------------------------------------- phases, and their privacy


@every("kind", PHASED)
@every("most", [(0.5, 1), (2.0, 3)])
def test_the_scale_of_a_sum(kind, most):
    """One loss, one number, one noise: epsilon = contributions x B/scale, as dp-accounting says as well."""
    source, privacy = Chosen(np.zeros(10**5, dtype=np.int64)), kind.promises[0](most[0], contributions=most[1])
    learner = made(kind, sv.domains.Simplex(4), privacy=privacy, noise=source)
    steps = LossGrid(*RANGE, bits=learner.plan.bits).steps
    assert source.noise == learner.privacy.noise
    if kind.promises == (sv.ZCDP,):  # rho = (contributions x B)^2/(2 scale^2)
        assert source.noise.family == "gaussian"
        assert (most[1] * steps / source.noise.scale) ** 2 / 2 == pytest.approx(most[0], rel=2e-3)
        return
    assert source.noise.family == "laplace"
    accountant = dp_accounting.pld.PLDAccountant(value_discretization_interval=1e-4)
    accountant.compose(dp_accounting.LaplaceDpEvent(source.noise.scale / (privacy.contributions * steps)))
    assert accountant.get_epsilon(1e-10) == pytest.approx(privacy.epsilon, rel=2e-3)


def transcript(kind, losses, numbers):
    """All actions, and all that is released, for chosen losses and chosen noise."""
    released = []
    learner = made(kind, sv.domains.Hypersimplex(4, 2), horizon=len(losses), noise=Chosen(numbers))
    watch_releases(learner, lambda _, values: released.append(values))
    actions = []
    while learner.remaining:
        asked = learner.ask_round(most=5_000)
        learner.tell(asked.ids, losses[asked.ids])
        actions.append(asked.x)
    return np.concatenate(actions), np.concatenate(released), learner


@every("kind", PHASED)
def test_one_loss_moves_one_number_by_no_more_than_its_range(kind):
    """Executable proof: shifting one noise by at most `steps` undoes the change of a loss, in all that is ever seen."""
    horizon = 300 if kind is AsiRamanTalwar else 3_000  # which has a round for every other event
    coins = np.random.default_rng(5)
    losses = coins.uniform(*RANGE, size=horizon)
    numbers = coins.integers(-(2**12), 2**12, size=horizon)
    actions, released, learner = transcript(kind, losses, numbers)
    assert len(released) > 4
    steps = LossGrid(*RANGE, bits=learner.plan.bits).steps
    seen = 0
    for changed in (0, 7, horizon // 4):
        other = losses.copy()
        other[changed] = RANGE[1] if losses[changed] < 1.0 else RANGE[0]
        quiet = transcript(kind, other, numbers)[1][: len(released)]
        (moved,) = np.nonzero(quiet[: len(released)] != released[: len(quiet)])
        if not len(moved):
            continue  # in a phase that is never released
        seen += 1
        shift = int(quiet[moved[0]] - released[moved[0]])
        assert 0 < abs(shift) <= steps
        shifted = numbers.copy()
        shifted[moved[0]] -= shift
        again, same, _ = transcript(kind, other, shifted)
        np.testing.assert_array_equal(again, actions)
        np.testing.assert_array_equal(same, released)
    assert seen >= 2


@every("kind", PHASED)
def test_what_is_asked_while_a_phase_waits_is_not_read_and_the_phase_goes_on(kind):
    learner = made(kind, sv.domains.Simplex(3), horizon=60_000)
    phase = learner.ask_round()
    assert phase.wants_loss.all()
    meanwhile = learner.ask(1_000)
    assert not meanwhile.wants_loss.any()
    assert as_rows(meanwhile.x) <= as_rows(np.eye(3))
    learner.tell(phase.ids, np.where(phase.x[:, 0] > 0.5, RANGE[0], RANGE[1]))
    rest = learner.ask_round()  # of the round that was begun meanwhile
    assert not rest.wants_loss.any()
    assert learner.round > 1
    following = learner.ask_round()
    if kind.name == "zcdp-elimination":  # whose first phase was enough
        np.testing.assert_array_equal(following.x, np.tile([1.0, 0.0, 0.0], (60_000 - len(phase) - 1_024, 1)))
    else:
        assert following.wants_loss.all()


# ---------------------------------------------------------------------- DP-IMED and DP-KLUCB


@pytest.mark.parametrize("epsilon", [0.05, 0.7, 30.0])
def test_the_private_divergence_is_the_least_over_all_means_between(epsilon):
    for x, y in ((0.1, 0.3), (0.02, 0.97), (0.5, 0.51), (0.0, 0.2), (0.6, 0.4)):
        z = np.linspace(max(x, 1e-12), y, 200_001)
        found = private_divergence(np.array([x]), np.array([y]), epsilon)[0]
        least = (epsilon * (z - x) + z * np.log(z / y) + (1 - z) * np.log((1 - z) / (1 - y))).min() if x < y else 0.0
        assert found == pytest.approx(least, abs=1e-8)


@pytest.mark.parametrize("kind", [sv.lab.baselines.DPIMED, sv.lab.baselines.DPKLUCB])
def test_the_best_arm_is_played_most_and_pulls_grow_by_a_tenth(kind):
    learner = kind(
        sv.domains.Simplex(4), horizon=20_000, loss_range=(-1.0, 1.0), privacy=sv.PureDP(0.5), seed=1,
        noise=sv.SimulatedNoise(1),
    )  # fmt: skip
    means, coins, pulls = np.array([0.6, 0.2, 0.7, 0.5]), np.random.default_rng(1), np.zeros(4)
    while learner.remaining:
        actions = learner.ask_round()
        played = actions.x.argmax(axis=1)
        if pulls.all():
            arm, grown = int(played[0]), len(actions)
            assert grown == min(math.ceil(1.1 * pulls[arm]) - pulls[arm], 20_000 - pulls.sum())
        pulls += np.bincount(played, minlength=4)
        learner.tell(actions.ids, np.where(coins.random(len(actions)) < means[played], 1.0, -1.0))
    assert pulls[1] > 18_000


def test_an_index_is_the_largest_mean_that_what_was_seen_allows():
    phases = OptimisticPhases(problem(sv.domains.Simplex(3)), scale=2.0)  # epsilon 1/2
    known = phases.learn(phases.start(), np.array([0.5, 0.1, 0.9])).known._replace(pulls=np.array([50, 10, 40]))
    known = known._replace(sums=np.array([30.0, 2.0, 39.0]))
    index, level = phases.index(known), math.log(100) / known.pulls
    seen = np.clip(known.sums / known.pulls, 0, 1)
    inside = index < 1 - 1e-9
    np.testing.assert_allclose(private_divergence(seen, index, 0.5)[inside], level[inside], rtol=1e-6)
    least = GeometricPhases(problem(sv.domains.Simplex(3)), scale=2.0).index(known)
    assert least[2] == -math.log(40)  # of the best mean


# ---------------------------------------------------------------------- phased elimination


def in_phase(algorithm, number):
    """The belief before phase `number`, as long as nothing is dropped."""
    return algorithm._belief(number, np.arange(len(algorithm.vertices)))


@every("domain", [sv.domains.Simplex(5), sv.domains.Hypersimplex(6, 2), sv.domains.Birkhoff(3)])
def test_no_vertex_is_seen_less_clearly_than_a_g_optimal_design_allows(domain):
    """Kiefer and Wolfowitz: x' V^-1 x is at most r/q^i; r is the dimension of the features, by their rank."""
    vertices = vertices_of(domain)
    algorithm = DesignElimination(problem(domain), scale=1.0)
    rank = np.linalg.matrix_rank(np.column_stack([np.ones(len(vertices)), vertices]))
    for number in (5, 8):
        phase, left = in_phase(algorithm, number)
        played = np.column_stack([np.ones(len(phase.actions)), phase.actions])
        every = np.column_stack([np.ones(len(vertices)), vertices])
        inverse = np.linalg.pinv((played.T * phase.counts) @ played)
        worst = np.einsum("ij,jk,ik->i", every, inverse, every).max()
        assert worst <= 1.01 * rank / algorithm.growth**number
        assert left.rows.shape == (len(vertices), rank)
        assert phase.size <= algorithm.growth**number + rank * (rank + 1) / 2


def test_estimates_are_least_squares_and_exact_without_errors():
    vertices = vertices_of(sv.domains.Birkhoff(3))
    algorithm = DesignElimination(problem(sv.domains.Birkhoff(3)), scale=1.0)
    coins = np.random.default_rng(0)
    means = 0.3 + vertices @ coins.uniform(-0.05, 0.1, size=9)
    phase, left = in_phase(algorithm, 7)
    truth = dict(zip(map(tuple, vertices.tolist()), means, strict=True))
    exact = np.array([truth[tuple(one)] for one in phase.actions.tolist()])
    estimates, _ = algorithm.estimate(left, phase.counts, phase.counts * exact)
    np.testing.assert_allclose(estimates, means - 0.5, atol=1e-9)
    noisy = phase.counts * exact + coins.normal(0, 5, size=len(exact))
    rows = np.column_stack([np.ones(len(exact)), phase.actions])
    scaled = np.sqrt(phase.counts)
    theta = np.linalg.lstsq(scaled[:, None] * rows, scaled * (noisy / phase.counts - 0.5), rcond=None)[0]
    estimates, _ = algorithm.estimate(left, phase.counts, noisy)
    np.testing.assert_allclose(estimates, np.column_stack([np.ones(6), vertices]) @ theta, atol=1e-9)


@every("domain", [sv.domains.Simplex(5), sv.domains.Birkhoff(3)])
def test_phases_under_zcdp_are_as_long_as_their_error_needs(domain):
    for scale in (0.0, 3.0, 300.0):
        algorithm = GaussianElimination(problem(domain, 10**9, 2.0), scale)
        for number in (1, 4, 7):
            phase, left = in_phase(algorithm, number)
            _, errors = algorithm.estimate(left, phase.counts, np.zeros(len(phase.counts)))
            assert 0.2 <= errors.max() / (2.0 / 2**number) <= 1.01
    assert (algorithm._tail(np.array([[3.0, -4.0]]), 2.0) == 10.0).all()  # 5 deviations times sqrt(2 L)


def test_the_leader_of_noisy_batches_is_the_regularised_one():
    """Against a minimiser that knows nothing of the formula; and a batch that seems too good is skipped."""
    totals = np.array([3.0, -1.0, 0.5, 9.0])
    for step in (0.05, 0.7, 5.0):
        found = leader(totals, step)
        assert found.sum() == pytest.approx(1.0, abs=1e-9)
        rest = np.random.default_rng(0).dirichlet(np.ones(4), 2_000)
        worth = step * rest @ totals - 2 * np.sqrt(rest).sum(axis=1)
        assert step * found @ totals - 2 * np.sqrt(found).sum() <= worth.min()
    batches = TsallisBatches(problem(sv.domains.Simplex(4), width=2.0), scale=4.0, seed=1)
    assert (batches.batch, batches.moment) == (3, pytest.approx(math.sqrt(1 + 2 / 1.5**2)))
    known = batches.start().known._replace(number=100)
    small, large = (batches.learn(Belief(None, known), np.array([sum_])).known.totals for sum_ in (3.0, 30.0))
    assert small[known.arm] == pytest.approx(0.5 / 0.25)
    assert (large == 0).all()


def test_noise_widens_what_is_drawn_from():
    """The covariance is v^2 A^-1 + sigma^2 A^-1 (sum of phi phi') A^-1, by many draws."""
    features = Features(sv.domains.Simplex(3))
    rows = features(np.eye(3))
    spreads = []
    for deviation in (0.0, 40.0):
        posterior = NoisyPosterior(problem(sv.domains.Simplex(3)), deviation, seed=1)
        known = posterior.learn(
            Belief(Phase(np.eye(3), np.full(3, 20)), posterior.start().known), np.full(3, 10.0)
        ).known
        inverse = np.linalg.inv(np.eye(4) + 20 * rows.T @ rows)
        wanted = inverse / 4 + deviation**2 * inverse @ rows.T @ rows @ inverse
        mean, spread = posterior.posterior(known)
        np.testing.assert_allclose(spread, wanted, atol=1e-9)
        np.testing.assert_allclose(mean, 0.0, atol=1e-9)
        spreads.append(np.trace(spread))
    assert spreads[1] > 10 * spreads[0]
