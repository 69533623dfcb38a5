"""Street networks led toward a target: against networkx's distances, and all simple paths of small networks."""

import json
import math

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampling import every
from sottovoce.domains import Paths, check_domain
from sottovoce.domains.specification import build, specify
from sottovoce.errors import DomainError


def network(seed, kind, lengths="few"):
    """A small random network with ties, zeros, loops and parallel edges where the kind allows them."""
    rng = np.random.default_rng(seed)
    graph = kind()
    graph.add_nodes_from(range(7))
    for _ in range(int(rng.integers(8, 18))):
        graph.add_edge(int(rng.integers(7)), int(rng.integers(7)))
    choices = {"few": [1.0, 2.0, 3.0], "zeros": [0.0, 0.0, 1.0], "any": rng.random(50)}[lengths]
    for edge in graph.edges:
        graph.edges[edge]["length"] = float(rng.choice(choices))
    return graph


def ranks(graph, target):
    """(distance, links) of every node that can get to the target, by networkx, links counted as tiny lengths."""
    back = graph.reverse() if graph.is_directed() else graph
    far = nx.single_source_dijkstra_path_length(back, target, weight="length")
    links = {target: 0}
    for node in sorted(far, key=far.get):
        links.setdefault(node, math.inf)
    for _ in far:  # Bellman and Ford on the links that lie on shortest ways
        for edge in graph.edges:
            for a, b in [edge[:2]] if graph.is_directed() else [edge[:2], edge[1::-1]]:
                on_the_way = b in far and math.isclose(far[a], far[b] + graph.edges[edge]["length"], abs_tol=1e-12)
                if on_the_way:
                    links[a] = min(links[a], links[b] + 1)
    return {node: (round(far[node], 9), links[node]) for node in far}


def ways(graph):
    """Every link as (number of its edge, tail, head)."""
    for number, edge in enumerate(graph.edges):
        yield number, edge[0], edge[1]
        if not graph.is_directed():
            yield number, edge[1], edge[0]


def by_hand(graph, source, target):
    """The links that every path of falling rank from source to target is made of, by walking them all."""
    rank = ranks(graph, target)
    down = [way for way in ways(graph) if way[2] in rank and rank[way[2]] < rank[way[1]]]
    reached, waiting = {source}, [source]
    for node in waiting:
        for _, a, b in down:
            if a == node and b not in reached:
                reached.add(b)
                waiting.append(b)
    return sorted(way for way in down if way[1] in reached)


@every("kind", [nx.DiGraph, nx.MultiDiGraph, nx.Graph, nx.MultiGraph])
@every("lengths", ["few", "zeros", "any"])
def test_kept_are_the_links_that_lead_nearer(kind, lengths):
    seen = 0
    for seed in range(25):
        graph = network(seed, kind, lengths)
        directed = nx.DiGraph(graph) if graph.is_directed() else graph.to_directed()
        if not nx.has_path(directed, 0, 6):
            with pytest.raises(DomainError, match="no path from 0 to 6"):
                Paths.toward(graph, source=0, target=6, lengths="length")
            continue
        domain = Paths.toward(graph, source=0, target=6, lengths="length")
        found = [(int(kept), *edge) for kept, edge in zip(domain.kept, domain.edges, strict=True)]
        assert found == by_hand(graph, 0, 6)
        seen += 1
    assert seen > 10


@given(seed=st.integers(0, 2**32 - 1), lengths=st.sampled_from(["few", "zeros", "any"]))
def test_a_shortest_path_is_among_them_and_every_link_is_on_one_of_the_paths(seed, lengths):
    graph = network(seed, nx.MultiDiGraph, lengths)
    graph.add_edge(0, 6, length=50.0)
    domain = Paths.toward(graph, source=0, target=6, lengths="length")
    own = np.array([graph.edges[list(graph.edges)[number]]["length"] for number in domain.kept])
    shortest = domain.extreme_point(own)
    assert own @ shortest == pytest.approx(nx.dijkstra_path_length(graph, 0, 6, weight="length"))
    for link in range(domain.dimension):
        assert domain.extreme_point(-np.eye(domain.dimension)[link] * 100)[link] == 1.0


def test_what_is_lost_are_paths_that_lead_away_for_a_while():
    """A ring road that first leads away from the target is not in the set, however cheap; the others are."""
    ring = nx.DiGraph([("s", "a"), ("a", "t"), ("s", "r"), ("r", "q"), ("q", "t"), ("s", "b"), ("b", "t"), ("r", "t")])
    lengths = {("s", "r"): 5.0, ("r", "q"): 5.0, ("q", "t"): 1.0, ("r", "t"): 5.0}
    domain = Paths.toward(ring, source="s", target="t", lengths=[lengths.get(edge, 1.0) for edge in ring.edges])
    assert set(domain.edges) == {("s", "a"), ("a", "t"), ("s", "b"), ("b", "t")}


def test_streets_that_go_both_ways_are_kept_in_one_direction():
    town = nx.grid_2d_graph(4, 4)
    domain = Paths.toward(town, source=(0, 0), target=(3, 3))
    assert domain.dimension == len(town.edges)  # all of it: every street leads toward the target one way
    assert all(sum(a) < sum(b) for a, b in domain.edges)
    both = Paths.toward(town.to_directed(), source=(0, 0), target=(3, 3))
    assert set(both.edges) == set(domain.edges)
    originals = list(town.to_directed().edges)
    assert [originals[number] for number in both.kept] == list(both.edges)


def test_nodes_at_equal_distance_are_not_joined_but_for_fewer_links():
    triangle = [("s", "a"), ("s", "b"), ("a", "b"), ("b", "a"), ("a", "t"), ("b", "t")]
    assert Paths.toward(triangle, source="s", target="t").kept.tolist() == [0, 1, 4, 5]
    # a and b are both 2 away, b by one link and a by two
    longer = [("s", "a"), ("s", "b"), ("a", "b"), ("b", "a"), ("a", "c"), ("c", "t"), ("b", "t")]
    found = Paths.toward(longer, source="s", target="t", lengths=[1, 1, 9, 9, 1, 1, 2])
    assert found.edges == (("s", "a"), ("s", "b"), ("a", "b"), ("a", "c"), ("c", "t"), ("b", "t"))


def test_distances_that_differ_by_rounding_are_equal():
    """0.1 + 0.2 + 0.3 and 0.3 + 0.2 + 0.1 are not the same number, and yet the same distance."""
    assert 0.1 + 0.2 + 0.3 != 0.3 + 0.2 + 0.1
    one = [("s", "a"), ("a", "a1"), ("a1", "a2"), ("a2", "t")]
    other = [("s", "b"), ("b", "b1"), ("b1", "b2"), ("b2", "t")]
    lengths = [1.0, 0.1, 0.2, 0.3, 1.0, 0.3, 0.2, 0.1, 0.5, 0.5]
    domain = Paths.toward([*one, *other, ("a", "b"), ("b", "a")], source="s", target="t", lengths=lengths)
    assert domain.kept.tolist() == list(range(8))


@every("scale", [1e-320, 1e-200, 1e200])
def test_lengths_of_any_scale(scale):
    graph = [(0, 1), (1, 0), (1, 2), (0, 3), (3, 2), (2, 3), (4, 2), (2, 4), (4, 0), (0, 4)]
    plain = [1.0, 1.0, 2.0, 2.0, 1.0, 1.0, 1e5, 1e5, 1e5, 1e5]
    domain = Paths.toward(graph, source=0, target=2, lengths=np.multiply(plain, scale))
    assert domain.kept.tolist() == Paths.toward(graph, source=0, target=2, lengths=plain).kept.tolist()


def test_it_is_an_ordinary_set_of_paths_that_can_be_stored():
    town = nx.MultiGraph(nx.grid_2d_graph(3, 3))
    town.add_edge((0, 0), (0, 1), key="bridge")
    domain = Paths.toward(town, source=(0, 0), target=(2, 2))
    check_domain(domain)
    assert type(domain) is Paths
    again = build(json.loads(json.dumps(specify(domain))))
    assert again.edges == domain.edges
    np.testing.assert_array_equal(again.kept, domain.kept)
    assert [list(town.edges(keys=True))[number][2] for number in domain.kept].count("bridge") == 1
    with pytest.raises(ValueError, match="read-only"):
        domain.kept[0] = 3


def test_a_plain_set_of_paths_keeps_all_of_its_edges():
    assert Paths([("a", "b"), ("a", "c"), ("b", "c")], source="a", target="c").kept.tolist() == [0, 1, 2]
    for bad in ([0, 1], [0, 1, 1], [0, 1, -2], [0.5, 1.0, 2.0], "abc"):
        with pytest.raises((ValueError, TypeError), match="kept"):
            Paths([("a", "b"), ("a", "c"), ("b", "c")], source="a", target="c", kept=bad)


@every(
    ("options", "error", "words"),
    [
        ({"source": "z"}, DomainError, "source must be a node of the graph"),
        ({"target": "z"}, DomainError, "target must be a node of the graph"),
        ({"source": "b"}, DomainError, "two nodes, got 'b' for both"),
        ({"target": "d"}, DomainError, "no path from 'a' to 'd'"),
        ({"lengths": [1.0]}, ValueError, "one number for each of the 4 edges"),
        ({"lengths": [1.0, -1.0, 1.0, 1.0]}, ValueError, "at least 0, got -1.0 for edge 1"),
        ({"lengths": [1.0, 1.0, np.nan, 1.0]}, ValueError, "got nan for edge 2"),
        ({"lengths": [1.0, 1.0, np.inf, 1.0]}, ValueError, "got inf for edge 2"),
        ({"lengths": [1.7e308] * 4}, ValueError, "add up to a finite number"),
        ({"lengths": "length"}, TypeError, "plain array of edges"),
        ({"graph": 7}, TypeError, "graph must be a networkx graph"),
        ({"graph": []}, DomainError, "at least one edge"),
        ({"graph": nx.Graph([("a", "b")]), "lengths": "km"}, ValueError, r"edge \('a', 'b'\) has none"),
    ],
)
def test_what_cannot_be_led_anywhere_is_refused_in_words(options, error, words):
    usual = {"graph": [("a", "c"), ("c", "b"), ("b", "a"), ("d", "a")], "source": "a", "target": "b"}
    with pytest.raises(error, match=words):
        Paths.toward(**{**usual, **options})


def test_a_town_of_forty_thousand_links():
    town = nx.grid_2d_graph(100, 100).to_directed()
    domain = Paths.toward(town, source=(0, 0), target=(99, 99))
    assert domain.dimension == 2 * 99 * 100
    assert domain.extreme_point(np.ones(domain.dimension)).sum() == 198
