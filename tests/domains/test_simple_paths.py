"""Paths through graphs with cycles: against networkx, all simple paths of small graphs, and a QP solver."""

import itertools
import json
import math
import pickle

import networkx as nx
import numpy as np
import piqp
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sottovoce as sv
from sampling import every
from sottovoce.domains import Affine, Paths, Product, Rounded, SimplePaths, Simplex, check_domain
from sottovoce.domains.specification import build, fingerprint, same_answers, specify
from sottovoce.errors import DomainError
from sottovoce.projection import project


def random_network(seed, nodes=7, links=16):
    """Links in random order, with loops, parallel ones and some that are off the way; 0 leads to the last node."""
    rng = np.random.default_rng(seed)
    pairs = [(int(a), int(b)) for a, b in rng.integers(0, nodes, (links, 2))]
    return [*pairs, (0, 1), (1, nodes - 1)]


def all_simple_paths(edges, source, target):
    graph = nx.MultiDiGraph()
    for number, (a, b) in enumerate(edges):
        graph.add_edge(a, b, key=number)
    found = nx.all_simple_edge_paths(graph, source, target)
    return np.array([np.bincount([key for *_, key in path], minlength=len(edges)) for path in found], dtype=float)


def two_way_grid(side):
    return list(nx.grid_2d_graph(side, side).to_directed().edges)


SMALL = [(random_network(seed), 0, 6) for seed in range(12)]


@every(("edges", "source", "target"), SMALL)
def test_the_oracle_against_all_simple_paths(edges, source, target):
    domain, paths = SimplePaths(edges, source=source, target=target), all_simple_paths(edges, source, target)
    rng = np.random.default_rng(0)
    costs = [np.zeros(len(edges)), np.ones(len(edges)), *rng.integers(0, 3, (20, len(edges))).astype(float)]
    for cost in [*costs, *rng.random((20, len(edges))), *rng.random((5, len(edges))) * 1e307]:
        answer = domain.extreme_point(cost)
        assert (paths == answer).all(axis=1).any()
        assert cost @ answer == pytest.approx((paths @ cost).min(), rel=1e-12)
        if (cost == np.rint(cost)).all():
            cheapest = paths[paths @ cost == (paths @ cost).min()]
            assert answer.sum() == cheapest.sum(axis=1).min()  # of equals, the fewest edges


@given(seed=st.integers(0, 2**32 - 1))
def test_the_oracle_against_networkx(seed):
    rng = np.random.default_rng(seed)
    graph = nx.gnp_random_graph(25, 0.15, seed=seed % 2**31, directed=True)
    graph.add_edge(0, 24)
    for edge in graph.edges:
        graph.edges[edge]["cost"] = float(rng.choice([0.0, rng.random(), 5 * rng.random()]))
    domain = SimplePaths(graph, source=0, target=24)
    cost = np.array([graph.edges[edge]["cost"] for edge in graph.edges])
    assert cost @ domain.extreme_point(cost) == pytest.approx(nx.dijkstra_path_length(graph, 0, 24, weight="cost"))


@every(("edges", "source", "target"), SMALL)
def test_geometry_bounds_that_of_all_simple_paths(edges, source, target):
    domain, paths = SimplePaths(edges, source=source, target=target), all_simple_paths(edges, source, target)
    assert domain.affine_dimension >= np.linalg.matrix_rank(paths - paths[0])
    assert (domain.affine_dimension == 0) == (len(paths) == 1)
    apart = paths - paths[0]
    np.testing.assert_allclose(domain.tangent(apart), apart, atol=1e-12)
    assert domain.outer_radius >= np.linalg.norm(paths - domain.center, axis=1).max()
    assert domain.diameter >= np.linalg.norm(paths[:, None] - paths, axis=2).max()
    assert domain.contains(domain.center)
    check_domain(domain)


def test_dead_ends_of_two_way_streets_are_no_room_to_move():
    """a - b - c with a dead end at b: the edges into it and out again are on a walk, and on no path."""
    streets = [("a", "b"), ("b", "c"), ("b", "x"), ("x", "b"), ("x", "y"), ("y", "x")]
    assert SimplePaths(streets, source="a", target="c").affine_dimension == 0
    town = two_way_grid(3)
    whole = SimplePaths(town, source=(0, 0), target=(2, 2))
    with_end = SimplePaths([*town, ((1, 1), "x"), ("x", (1, 1))], source=(0, 0), target=(2, 2))
    assert with_end.affine_dimension == whole.affine_dimension


@every(("edges", "source", "target"), SMALL)
def test_a_believable_cost_is_the_nearest_without_negative_cycles(edges, source, target):
    """By a QP solver: the nearest c + (prices at tails) - (prices at heads) with c >= 0, on the edges that matter."""
    domain = SimplePaths(edges, source=source, target=target)
    free = domain.tangent(np.eye(len(edges))).any(axis=1)
    used = np.array([edge for edge, on in zip(edges, free, strict=True) if on]).reshape(-1, 2)
    prices = np.array([[float(a == node) - float(b == node) for node in range(7)] for a, b in used]).reshape(-1, 7)
    m = len(used)
    for cost in np.random.default_rng(1).standard_normal((5, len(edges))):
        found = domain.believable(cost)
        assert (found >= 0.0).all()
        if m == 0:
            continue
        both = np.hstack((np.eye(m), prices))
        solver = piqp.DenseSolver()
        solver.settings.eps_abs = solver.settings.eps_rel = 1e-11
        low = np.concatenate((np.zeros(m), np.full(7, -1e3)))
        ridge = np.diag(np.concatenate((np.zeros(m), np.full(7, 1e-9))))
        solver.setup(both.T @ both + ridge, -both.T @ cost[free], x_l=low, x_u=np.full(m + 7, 1e3))
        assert solver.solve() == piqp.PIQP_SOLVED
        nearest = both @ solver.result.x
        # Both are written with prices of their own: what cycles cost is the same.
        circulations = np.linalg.svd(prices.T)[2][np.linalg.matrix_rank(prices) :]
        np.testing.assert_allclose(circulations @ found[free], circulations @ nearest, atol=1e-4)


@every(("edges", "source", "target"), SMALL)
def test_costs_without_negative_cycles_keep_their_best_path(edges, source, target):
    """Costs of at least 0 with prices on top of them: negative ones among them, and yet solved exactly."""
    domain, paths = SimplePaths(edges, source=source, target=target), all_simple_paths(edges, source, target)
    rng = np.random.default_rng(2)
    for _ in range(20):
        prices = rng.standard_normal(7)
        cost = rng.random(len(edges)) + np.array([prices[a] - prices[b] for a, b in edges])
        believed = domain.believable(cost)
        np.testing.assert_allclose(np.ptp(paths @ (believed - cost)), 0.0, atol=1e-6)
        assert (paths @ cost).min() == pytest.approx(cost @ domain.extreme_point(believed), abs=1e-6)


@every("scale", [0.0, 1e-300, 1e-160, 1e160, 1e300])
def test_costs_of_any_size_can_be_believed(scale):
    domain = SimplePaths(two_way_grid(4), source=(0, 0), target=(3, 3))
    cost = np.random.default_rng(0).standard_normal(domain.dimension)
    np.testing.assert_allclose(domain.believable(scale * cost), scale * domain.believable(cost), rtol=1e-6)


@given(seed=st.integers(0, 2**32 - 1))
def test_believing_never_leads_away_from_a_truth_that_is_not_negative(seed):
    """A projection on a convex set: measured along the directions in which paths differ."""
    edges, rng = two_way_grid(3), np.random.default_rng(seed)
    domain = SimplePaths(edges, source=(0, 0), target=(2, 2))
    truth = rng.random(len(edges)) * rng.integers(0, 2, len(edges))
    estimate = truth + rng.standard_normal(len(edges)) * rng.choice([0.1, 1.0, 10.0])
    before = np.linalg.norm(domain.tangent(estimate - truth))
    assert np.linalg.norm(domain.tangent(domain.believable(estimate) - truth)) <= before * (1 + 1e-6)


def test_negative_costs_are_refused_with_the_alternatives_and_without_their_value():
    domain = SimplePaths(two_way_grid(3), source=(0, 0), target=(2, 2))
    cost = np.ones(domain.dimension)
    cost[3] = -0.123456
    with pytest.raises(DomainError, match=r"edge 3.*NP-hard.*losses='linear'.*Paths.toward") as refused:
        domain.extreme_point(cost)
    assert "0.123456" not in str(refused.value)
    cost[3] = -1e-15  # rounding
    assert domain.extreme_point(cost).sum() == 4
    for ask in (lambda: project(domain, cost + 2.0), lambda: Rounded(domain), lambda: Affine(domain, -1.0)):
        with pytest.raises(DomainError, match="cost"):
            ask()
    with pytest.raises(DomainError, match="no inner radius is known"):
        _ = domain.inner_radius


@every(
    "options",
    [
        {"plan": "worst-case", "losses": "linear"},
        {"plan": "worst-case"},
        {"plan": "paper"},
        {"plan": "auto"},  # convex losses
        {"exploration": "designs", "losses": "linear"},
        {"exploration": "frames", "integral": True},
        {"losses": "linear", "play": "around"},
    ],
)
def test_plans_that_ask_for_any_cost_refuse_it_before_they_ask(options):
    domain = SimplePaths(two_way_grid(3), source=(0, 0), target=(2, 2))
    with pytest.raises(DomainError, match=r"non-negative costs only.*plan='auto' with losses='linear'.*Paths.toward"):
        sv.PrivateBandit(domain, horizon=1000, loss_range=(0, 1), privacy=sv.NoPrivacy(), **options)
    with pytest.raises(DomainError, match="non-negative costs only"):
        sv.plan(Product([domain, Simplex(3)]), horizon=1000, loss_range=(0, 1), privacy=sv.NoPrivacy(), **options)


def test_a_ready_plan_for_another_set_and_baselines_are_refused_too():
    options = {"horizon": 1000, "loss_range": (0, 1), "privacy": sv.NoPrivacy()}
    streets = two_way_grid(3)
    domain = SimplePaths(streets, source=(0, 0), target=(2, 2))
    toward = Paths.toward(streets, source=(0, 0), target=(2, 2))
    ready = sv.plan(toward, plan="worst-case", losses="linear", rehearse=False, **options)
    with pytest.raises(DomainError, match="non-negative costs only"):
        sv.PrivateBandit(domain, plan=ready, losses="linear", **options)
    for name in ("LinUCB", "FKM", "UniformRandom", "GarberKretzu"):
        with pytest.raises(DomainError, match=r"Paths\.toward"):
            getattr(sv.lab.baselines, name)(domain, horizon=1000, loss_range=(0, 1))


@every(
    "name, lie, words",
    [
        ("believable", lambda self, cost: np.asarray(cost), "believable must return costs that are not negative"),
        ("believable", lambda self, cost: np.ones(24), "must not change which point is best"),
        ("contains", lambda self, x, tolerance=1e-6: False, "contains says"),
        ("diameter", 1.0, "outer_radius or diameter"),
        ("affine_dimension", 2, "span more"),
        ("tangent", lambda self, rows: 0.5 * np.asarray(rows), "tangent does not leave"),
        (
            "extreme_point",
            lambda self, cost: all_simple_paths(two_way_grid(3), (0, 0), (2, 2))[int(1e3 * cost[0]) % 12],
            "does not minimise",
        ),
    ],
)
def test_a_set_of_this_kind_that_lies_is_caught(name, lie, words):
    check_domain(SimplePaths(two_way_grid(3), source=(0, 0), target=(2, 2)))
    domain = SimplePaths(two_way_grid(3), source=(0, 0), target=(2, 2))
    liar = type("Liar", (SimplePaths,), {name: lie})
    with pytest.raises(DomainError, match=words):
        check_domain(_as(liar, domain))


def _as(family, domain):
    copy = family.__new__(family)
    vars(copy).update(vars(domain))
    return copy


def test_it_is_stored_and_copied():
    domain = SimplePaths(two_way_grid(3), source=(0, 0), target=(2, 2))
    for one in (domain, Product([domain, Simplex(3)])):
        again = build(json.loads(json.dumps(specify(one))))
        assert repr(again) == repr(one)
        assert same_answers(fingerprint(again), fingerprint(one))
    copy = pickle.loads(pickle.dumps(domain))
    assert copy.affine_dimension == domain.affine_dimension
    np.testing.assert_array_equal(copy.extreme_point(np.arange(24.0)), domain.extreme_point(np.arange(24.0)))


def test_mixtures_are_told_apart_drawn_and_taken_apart_where_they_go_around_no_cycle():
    streets = two_way_grid(3)
    domain, rng = SimplePaths(streets, source=(0, 0), target=(2, 2)), np.random.default_rng(0)
    paths = all_simple_paths(streets, (0, 0), (2, 2))
    short = paths[paths.sum(axis=1) == 4]
    x = rng.dirichlet(np.ones(len(short))) @ short
    assert domain.contains(x)
    assert not domain.contains(x + 1e-3)
    assert not domain.contains(np.full(24, 0.5))
    drawn = domain.round(x, rng, size=20_000)
    assert {row.tobytes() for row in drawn} <= {row.tobytes() for row in paths}
    assert np.abs(drawn.mean(axis=0) - x).max() <= math.sqrt(math.log(2e9) / (2 * 20_000))
    rows, weights = domain.decompose(x)
    np.testing.assert_allclose(weights @ rows, x, atol=1e-5)
    for path in paths:
        assert domain.contains(path)
        np.testing.assert_array_equal(domain.round(path, rng), path)
    around = paths.mean(axis=0)
    for ask in (domain.contains, domain.decompose, lambda mixed: domain.round(mixed, rng)):
        with pytest.raises(DomainError, match="goes around no cycle"):
            ask(around)


def test_what_is_no_network_is_refused_in_words():
    for graph, ends, words in (
        ([("a", "b"), ("b", "a")], ("a", "a"), "two nodes"),
        ([("a", "b"), ("b", "a")], ("a", "c"), "target must be a node"),
        ([("a", "b"), ("c", "b")], ("a", "c"), "no path from 'a' to 'c'"),
        (nx.Graph([("a", "b")]), ("a", "b"), "to_directed"),
    ):
        with pytest.raises(DomainError, match=words):
            SimplePaths(graph, source=ends[0], target=ends[1])
    with pytest.raises(DomainError, match="a single point"):
        sv.PrivateBandit(
            SimplePaths([("a", "b"), ("b", "c"), ("b", "a")], source="a", target="c"),
            horizon=10,
            loss_range=(0, 1),
            privacy=sv.NoPrivacy(),
            losses="linear",
        )


def test_a_town_of_forty_thousand_links():
    streets = two_way_grid(100)
    domain = SimplePaths(streets, source=(0, 0), target=(99, 99))
    rng = np.random.default_rng(0)
    path = domain.extreme_point(domain.believable(1.5 + rng.standard_normal(len(streets))))
    assert domain.contains(path)
    costs, prices = rng.random(len(streets)), rng.standard_normal((100, 100))
    priced = costs + [prices[a] - prices[b] for a, b in streets]  # many are negative, and no cycle is
    found = domain.extreme_point(domain.believable(priced))
    assert costs @ found == pytest.approx(costs @ domain.extreme_point(costs), abs=1e-6)
    assert domain.affine_dimension == len(streets) - 4 - 100**2 + 1


def played(optimizer, costs, scale, rng):
    """Play to the end in rounds, each street failing by chance; return the mean loss of every event."""
    means = []
    while optimizer.remaining:
        actions = optimizer.ask_round()
        failed = rng.random(actions.x.shape) < costs
        optimizer.tell(actions.ids, (actions.x * failed).sum(axis=1) / scale)
        means.append(actions.x @ costs / scale)
    return np.concatenate(means)


def test_the_best_way_through_a_two_way_town_is_learned():
    """The best path leads away from the target at first: `Paths.toward` by equal lengths does not have it."""
    town = nx.grid_2d_graph(4, 4).to_directed()
    streets, ends = list(town.edges), {"source": (1, 0), "target": (1, 3)}
    around = [(1, 0), (0, 0), (0, 1), (0, 2), (0, 3), (1, 3)]
    quick = set(itertools.pairwise(around))
    costs = np.array([0.05 if street in quick else 0.6 for street in streets])
    for street, cost in zip(streets, costs, strict=True):
        town.edges[street]["cost"] = cost
    best = nx.dijkstra_path_length(town, ends["source"], ends["target"], weight="cost") / 8
    toward = Paths.toward(streets, **ends)
    assert toward.extreme_point(costs[toward.kept]) @ costs[toward.kept] / 8 > 4 * best

    options = {"horizon": 10_000, "loss_range": (0.0, 1.0), "losses": "linear", "privacy": sv.PureDP(1.0), "seed": 1}
    optimizer = sv.PrivateBandit(SimplePaths(streets, **ends), **options, noise=sv.SimulatedNoise(1))
    assert "non-negative costs" in str(optimizer.plan)
    means = played(optimizer, costs, 8, np.random.default_rng(2))
    home = optimizer.recommend().x
    assert [streets[i] for i in np.flatnonzero(home)] == [s for s in streets if s in quick]
    assert (means[-2000:] - best).mean() < 0.1 * (means[:1000] - best).mean()


def test_a_study_of_a_two_way_town_is_kept_resumed_and_verified(tmp_path):
    streets = two_way_grid(3)
    costs = np.random.default_rng(0).random(len(streets))
    where = {"url": f"sqlite:///{tmp_path}/study.db", "name": "a"}
    options = {"horizon": 3000, "loss_range": (0.0, 1.0), "losses": "linear", "privacy": sv.NoPrivacy(), "seed": 1}
    with sv.Study.open(**where, domain=SimplePaths(streets, source=(0, 0), target=(2, 2)), **options) as study:
        for _ in range(3):
            actions = study.ask_round()
            study.tell(actions.ids, actions.x @ costs / 8)
        waiting = study.ask(5)
    with sv.Study.open(**where) as study:
        study.tell(waiting.ids, waiting.x @ costs / 8)
        for _ in range(3):
            actions = study.ask_round()
            assert all(study.domain.contains(row) for row in actions.x[:20])
            study.tell(actions.ids, actions.x @ costs / 8)
        found = study.verify()
        assert found.ok, found
        assert study.domain.contains(study.recommend().x)
