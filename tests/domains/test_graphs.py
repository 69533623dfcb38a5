"""Reading graphs: the graph's own order is kept, and what cannot be read is named."""

import networkx as nx
import numpy as np

from sampling import every
from sottovoce.domains import Paths
from sottovoce.domains._solvers.graph import acyclic_part, read_graph


def test_edges_keep_the_order_of_the_graph_and_nodes_their_names():
    graph = nx.MultiDiGraph([("x", "y"), ("y", "z"), ("x", "y"), ("x", "z")])
    read = read_graph(graph, directed=True)
    assert read.edges == tuple(edge[:2] for edge in graph.edges)
    assert read.nodes == ("x", "y", "z")


@every("edges", [[(3, 5), (5, 9)], np.array([[3, 5], [5, 9]]), (["a", "b"], ["b", "c"])])
def test_arrays_and_lists_of_pairs_are_graphs_too(edges):
    read = read_graph(edges, directed=True)
    assert (len(read.nodes), read.tails.tolist(), read.heads.tolist()) == (3, [0, 1], [1, 2])


def test_topological_numbers_go_up_along_every_useful_edge():
    rng = np.random.default_rng(0)
    for _ in range(20):
        order = rng.permutation(12)
        pairs = [(order[i], order[j]) for i in range(12) for j in range(i + 1, 12) if rng.random() < 0.25 or j == i + 1]
        rng.shuffle(pairs)
        read = read_graph(np.array(pairs), directed=True)
        part = acyclic_part(read, read.number("source", order[2]), read.number("target", order[9]))
        assert (part.tails < part.heads).all()
        assert (np.diff(part.tails) >= 0).all()
        graph = nx.DiGraph(pairs)
        useful = (nx.descendants(graph, order[2]) | {order[2]}) & (nx.ancestors(graph, order[9]) | {order[9]})
        assert {i for i, pair in enumerate(pairs) if useful >= set(pair)} == set(part.edges.tolist())


def test_cycles_off_the_way_do_no_harm():
    paths = Paths([(0, 1), (5, 6), (6, 5), (1, 5), (1, 2), (6, 0), (2, 2)][:5], source=0, target=2)
    np.testing.assert_array_equal(paths.extreme_point(np.ones(5)), [1, 0, 0, 0, 1])
