"""Projections: oracle calls and time of each method, cold and warm, against conditional gradient.

`python -m benchmarks projection`. Ten seeded instances of each kind; the targets were fixed before any count was seen.

Instances. Spanning trees of random connected graphs of average degree 4; the permutahedron of 1, ..., 50; paths on a
10 x 10 grid, right and down; choices of 20 of 200. The centre c is the mean of the vertices in random directions, the
radius R the largest distance of one of them from c, and the diameter D the largest distance of two vertices met.

Targets. "unit": c + g, with g standard normal. "learner": c + R g/|g|, what an online learner projects, since the best
constant step makes its running sum of gradients about as long as the set is wide. The second is harder, and on a set
that is wide in numbers an absolute gap of 1e-6 is then a small one (permutahedron: 1e-10 of R^2). Whose targets the
reference counts belong to is not known.
"""

import math
import statistics
import time

import networkx as nx
import numpy as np

from benchmarks.harness import show
from sottovoce.domains import Hypersimplex, Paths, Permutahedron, SpanningTrees
from sottovoce.projection import Quadratic, conditional_gradient, project

SEEDS = range(10)
TARGETS = ("unit", "learner")
METHODS = ("min-norm-point",)
WARM_ROUNDS = 10


def trees(edges):
    """A random tree, and random edges on top of it, so that the graph is connected for every seed."""

    def make(seed):
        rng = np.random.default_rng(seed)
        nodes = edges // 2
        graph = nx.Graph((i, int(rng.integers(i))) for i in range(1, nodes))
        while graph.number_of_edges() < edges:
            a, b = rng.choice(nodes, 2, replace=False)
            graph.add_edge(int(a), int(b))
        return SpanningTrees(graph)

    return make


def grid_paths(side):
    graph = nx.grid_2d_graph(side, side, create_using=nx.DiGraph)
    graph.remove_edges_from([(a, b) for a, b in graph.edges if a > b])
    return Paths(graph, source=(0, 0), target=(side - 1, side - 1))


# Calls that Wolfe's method was once measured to take, on instances of these kinds whose targets are not on record.
KINDS = {
    "trees, 100 edges": (trees(100), 42),
    "trees, 300 edges": (trees(300), 136),
    "trees, 500 edges": (trees(500), 236),
    "permutahedron of 50": (lambda seed: Permutahedron(50), 29),
    "paths, 10 x 10 grid": (lambda seed: grid_paths(10), 26),
    "20 of 200": (lambda seed: Hypersimplex(200, 20), 53),
}


class Instance:
    """A set, a target, and moves of 1% of the target's distance from the centre."""

    def __init__(self, domain, seed, targets):
        rng = np.random.default_rng(seed)
        n = domain.dimension
        vertices = np.array([domain.extreme_point(cost) for cost in rng.standard_normal((min(2 * n, 500), n))])
        center = vertices.mean(axis=0)
        radius = np.linalg.norm(vertices - center, axis=1).max()
        offset = rng.standard_normal(n)
        if targets == "learner":
            offset *= radius / np.linalg.norm(offset)
        moves = rng.standard_normal((WARM_ROUNDS, n))
        moves *= 0.01 * np.linalg.norm(offset) / np.linalg.norm(moves, axis=1)[:, None]
        self.domain, self.diameter = domain, max(self.across(domain, vertex, center) for vertex in vertices[:50])
        self.target, self.moved = center + offset, center + offset + np.cumsum(moves, axis=0)

    @staticmethod
    def across(domain, vertex, center):
        """Go to the vertex farthest out on the other side, a few times over."""
        other = domain.extreme_point(vertex - center)
        for _ in range(5):
            vertex, other = other, domain.extreme_point(other - vertex)
        return math.dist(vertex, other)

    def cold(self, method, gap, max_calls=100_000):
        started = time.perf_counter()
        if method == "min-norm-point":
            result = project(self.domain, self.target, gap=gap, max_calls=max_calls)
        else:
            objective, start = Quadratic(self.target), self.domain.extreme_point(-self.target)
            oracle = self.domain.extreme_point
            result = conditional_gradient(oracle, objective, start, gap=gap, max_calls=max_calls, rule=method)
        return result, 1e3 * (time.perf_counter() - started)

    def warm(self, gap, start):
        """Return the mean calls of a round, each started from the last one."""
        calls = 0
        for target in self.moved:
            start = project(self.domain, target, gap=gap, warm=start, max_calls=100_000)
            assert start.converged
            calls += start.calls
        return calls / len(self.moved)


def cold_row(name, targets):
    make, reference = KINDS[name]
    cells = []
    for method in METHODS:
        results, times = zip(*(Instance(make(seed), seed, targets).cold(method, 1e-6) for seed in SEEDS), strict=True)
        assert all(result.converged for result in results)
        calls = statistics.fmean([result.calls for result in results])
        cells += [f"{calls:.0f}", f"{calls / reference:.2f}", f"{statistics.median(times):.1f}"]
    return name, targets, reference, *cells


def cold():
    show(
        "projection_cold",
        "Cold, to a gap of 1e-6: mean calls, their ratio to the reference (aim: at most 1.3), median milliseconds",
        ["", "targets", "reference", "min-norm point", "ratio", "ms"],
        [cold_row(name, targets) for targets in TARGETS for name in KINDS],
    )


def warm_row(name, targets, certified):
    cells = []
    for method in METHODS:
        cold, warm = [], []
        for seed in SEEDS:
            instance = Instance(KINDS[name][0](seed), seed, targets)
            gap = (0.01 * instance.diameter) ** 2 if certified else 1e-6
            result, _ = instance.cold(method, gap)
            cold.append(result.calls)
            warm.append(instance.warm(gap, result))
        cells += [
            f"{statistics.fmean(cold):.1f}",
            f"{statistics.fmean(warm):.1f}",
            f"{statistics.fmean(warm) / statistics.fmean(cold):.2f}",
        ]
    return name, targets, "0.01 D" if certified else "gap 1e-6", *cells


def warm():
    show(
        "projection_warm",
        f"Warm, calls a round over {WARM_ROUNDS} moves of 1% (aim: at most a quarter of cold on trees and paths)",
        ["", "targets", "certified", "min-norm point: cold", "warm", "ratio"],
        [warm_row(name, targets, certified) for certified in (True, False) for targets in TARGETS for name in KINDS],
    )


def against_row(name, targets, distance):
    """All methods to one certified distance; conditional gradient gives up at 20 000 calls."""
    calls, short = {method: [] for method in (*METHODS, "line-search", "open-loop")}, set()
    for seed in SEEDS[:3]:
        instance = Instance(KINDS[name][0](seed), seed, targets)
        for method, found in calls.items():
            result, _ = instance.cold(method, (distance * instance.diameter) ** 2, max_calls=20_000)
            found.append(result.calls)
            if not result.converged:
                short.add(method)
    cells = [f"{'over ' if method in short else ''}{statistics.fmean(found):.0f}" for method, found in calls.items()]
    ratios = [statistics.fmean(calls["line-search"]) / statistics.fmean(calls[method]) for method in METHODS]
    return name, targets, f"{distance:g} D", *cells, *(f"{ratio:.0f}" for ratio in ratios)


def against():
    show(
        "projection_against",
        "Oracle calls to a certified distance, against conditional gradient (aim: 10 times fewer), three seeds",
        [
            "",
            "targets",
            "certified",
            "min-norm point",
            "line search",
            "2/(k + 2)",
            "times fewer",
        ],
        [against_row(name, targets, distance) for distance in (0.01, 0.003) for targets in TARGETS for name in KINDS],
    )


LARGE = {
    "trees, 2000 edges": (lambda: trees(2000)(0), (1e-4, 1e-6)),
    "trees, 5000 edges": (lambda: trees(5000)(0), (1e-4,)),
    "paths, 30 x 30 grid": (lambda: grid_paths(30), (1e-4, 1e-6)),
    "paths, 100 x 100 grid": (lambda: grid_paths(100), (1e-4,)),
    "50 of 20 000": (lambda: Hypersimplex(20_000, 50), (1e-4, 1e-6)),
    "2000 of 20 000": (lambda: Hypersimplex(20_000, 2000), (1e-4,)),
}


def large_rows(name):
    make, gaps = LARGE[name]
    instance = Instance(make(), 0, "learner")
    for gap in gaps:
        result, took = instance.cold("auto", gap * instance.diameter**2, max_calls=3000)
        assert result.converged
        yield name, instance.domain.dimension, f"{gap:.0e}", result.calls, f"{took / 1e3:.2f}"


def large():
    show(
        "projection_large",
        "Large sets, to a gap relative to the squared diameter",
        ["", "n", "gap", "calls", "seconds"],
        [row for name in LARGE for row in large_rows(name)],
    )


def overhead():
    """One round of a bandit in small dimension: warm, the target hardly moved."""
    rows = []
    for domain in (Hypersimplex(10, 3), Hypersimplex(20, 5), Permutahedron(10), Permutahedron(50)):
        instance = Instance(domain, 0, "learner")
        gap = (0.01 * instance.diameter) ** 2
        result, _ = instance.cold("auto", gap)
        repeats, calls = 3000, 0
        started = time.perf_counter()
        for step in range(repeats):
            target = instance.target + 1e-3 * math.sin(step) * (instance.moved[0] - instance.target)
            result = project(domain, target, warm=result, gap=gap)
            calls += result.calls
        took = (time.perf_counter() - started) / repeats
        rows.append((repr(domain), f"{calls / repeats:.2f}", f"{1e6 * took:.0f}", by_formula(domain, instance.target)))
    show("projection_overhead", "A warm round in small dimension", ["", "calls", "microseconds", "by formula"], rows)


def by_formula(domain, target, repeats=3000):
    """Return the microseconds of the set's own formula, if it has one."""
    if domain.nearest(target) is None:
        return "none"
    started = time.perf_counter()
    for _ in range(repeats):
        domain.nearest(target)
    return f"{1e6 * (time.perf_counter() - started) / repeats:.0f}"


def main():
    cold()
    warm()
    against()
    large()
    overhead()


if __name__ == "__main__":
    main()
