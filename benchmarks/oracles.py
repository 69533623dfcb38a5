"""Linear oracles against those of other libraries: shortest path, spanning tree, assignment.

`python -m benchmarks oracles`, or `python -m benchmarks.oracles --save table.md --only path`.

Every contender gets its own kind of input, built before the clock starts, and the same costs; the call that answers is
timed. Libraries that keep costs inside their graph are spared the writing of new ones, in their favour.

A row of the table is a function, registered with `@row("title")`, that returns contenders by name, ours first. A call
takes no arguments and returns the value of its answer, on which all contenders must agree. Where BLAS counts, run with
OMP_NUM_THREADS=1: on few cores its threads slow down small matrices.
"""

import argparse
import itertools
import math
import sys
from pathlib import Path

import networkx as nx
import numpy as np
import rustworkx as rx
from scipy.optimize import linear_sum_assignment, linprog
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra, minimum_spanning_tree

import sottovoce as sv
from benchmarks.harness import show, side_by_side
from benchmarks.solvers import BareHighs, Successive, moving_costs

ROWS = {}


def row(title):
    def register(function):
        ROWS[title] = function
        return function

    return register


@row("shortest path, DAG of 10^4 nodes")
def shortest_path():
    graph = nx.grid_2d_graph(100, 100, create_using=nx.DiGraph)
    graph.remove_edges_from([(a, b) for a, b in graph.edges if a > b])
    return _across(graph, sv.domains.Paths)


def _across(graph, family):
    """From corner to corner of a square."""
    side = math.isqrt(len(graph))
    first, last = (0, 0), (side - 1, side - 1)
    domain = family(graph, source=first, target=last)
    # Positive, so that Dijkstra may take part; never 0, which csgraph reads as "no edge".
    cost = np.random.default_rng(0).uniform(0.1, 1.0, domain.dimension)
    number = {node: i for i, node in enumerate(graph)}
    ends = np.array([(number[a], number[b]) for a, b in graph.edges])
    matrix = csr_array((cost, ends.T), shape=(side**2, side**2))
    rusty = _rustworkx(rx.PyDiGraph(), side**2, ends, cost)
    nx.set_edge_attributes(graph, dict(zip(graph.edges, cost.tolist(), strict=True)), "weight")

    def by_rustworkx():
        path = rx.dijkstra_shortest_paths(rusty, 0, target=side**2 - 1, weight_fn=float)[side**2 - 1]
        return sum(rusty.get_edge_data(a, b) for a, b in itertools.pairwise(path))

    return {
        "sottovoce": lambda: np.einsum("i,i", cost, domain.extreme_point(cost)),
        "scipy dijkstra": lambda: dijkstra(matrix, indices=0, return_predecessors=True)[0][-1],
        "rustworkx dijkstra": by_rustworkx,
        "networkx dijkstra": lambda: nx.dijkstra_path_length(graph, first, last),
    }


@row("spanning tree, 10^4 edges")
def spanning_tree():
    nodes, edges = 2000, 10_000
    graph = next(g for seed in itertools.count() if nx.is_connected(g := nx.gnm_random_graph(nodes, edges, seed=seed)))
    domain = sv.domains.SpanningTrees(graph)
    cost = np.random.default_rng(0).uniform(0.1, 1.0, edges)
    ends = np.array(graph.edges)
    matrix = csr_array((cost, ends.T), shape=(nodes, nodes))
    rusty = _rustworkx(rx.PyGraph(), nodes, ends, cost)
    nx.set_edge_attributes(graph, dict(zip(graph.edges, cost.tolist(), strict=True)), "weight")
    return {
        "sottovoce": lambda: np.einsum("i,i", cost, domain.extreme_point(cost)),
        "scipy minimum_spanning_tree": lambda: minimum_spanning_tree(matrix).sum(),
        "rustworkx": lambda: sum(edge[2] for edge in rx.minimum_spanning_edges(rusty, weight_fn=float)),
        "networkx": lambda: sum(edge[2]["weight"] for edge in nx.minimum_spanning_edges(graph)),
    }


@row("assignment, 200 x 200")
def assignment():
    domain = sv.domains.Birkhoff(200)
    table = np.random.default_rng(0).standard_normal((200, 200))
    cost = table.ravel()
    return {
        "sottovoce": lambda: np.einsum("i,i", cost, domain.extreme_point(cost)),
        "scipy linear_sum_assignment": lambda: table[linear_sum_assignment(table)].sum(),
    }


@row("LP of 200 variables x 100 constraints, after the first call, costs moving by 1%")
def near_programs():
    return _linear_programs(0.01, "highspy, warm", "highspy, warm, primal simplex")


@row("LP of 200 variables x 100 constraints, after the first call, unrelated costs")
def far_programs():
    return _linear_programs(100.0, "highspy, warm", "highspy, warm, primal simplex")


@row("LP of 200 variables x 100 constraints, against a cold start every time")  # it would leave others a cold cache
def cold_programs():
    return _linear_programs(0.01, "scipy linprog")


def _linear_programs(change, *others):
    rng = np.random.default_rng(0)
    matrix, limits = rng.standard_normal((100, 200)), 3 + rng.random(100)
    solvers = {
        "sottovoce": sv.domains.Polytope(matrix, limits, bounds=(-1, 1)).extreme_point,
        "highspy, warm": BareHighs(matrix, limits, -1.0, 1.0),
        "highspy, warm, primal simplex": BareHighs(matrix, limits, -1.0, 1.0, simplex_strategy=4),
        "scipy linprog": lambda cost: linprog(cost, matrix, limits, bounds=(-1, 1)).x,
    }
    return {name: Successive(solvers[name], moving_costs(200, change)) for name in ("sottovoce", *others)}


def _rustworkx(graph, nodes, ends, cost):
    graph.add_nodes_from(range(nodes))
    graph.add_edges_from([(a, b, c) for (a, b), c in zip(ends.tolist(), cost.tolist(), strict=True)])
    return graph


def measured(title, repeats):
    """Return rows (oracle, contender, milliseconds, times ours) for one line of the table."""
    contenders = ROWS[title]()
    values = {name: float(call()) for name, call in contenders.items()}
    if np.ptp(list(values.values())) > 1e-6 * (1 + abs(values["sottovoce"])):
        raise AssertionError(f"contenders disagree on {title}: {values}")
    times = side_by_side(contenders, repeats)
    return [(title, name, f"{1e3 * t:.3f}", f"{t / times['sottovoce']:.2f}") for name, t in times.items()]


def main(arguments=()):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=50)
    parser.add_argument("--only", default="", help="rows whose title contains this")
    parser.add_argument("--save", type=Path, help="write the table, in Markdown, to this file as well")
    options = parser.parse_args(arguments)
    columns = ["oracle", "contender", "ms", "times ours"]
    rows = [line for title in ROWS if options.only in title for line in measured(title, options.repeats)]
    show("oracles", "One call of a linear oracle (aim: as fast as the best of the others)", columns, rows)
    if options.save:
        lines = [columns, ["---", "---", "---:", "---:"], *rows]
        options.save.write_text("".join(f"| {' | '.join(line)} |\n" for line in lines))


if __name__ == "__main__":
    main(sys.argv[1:])
