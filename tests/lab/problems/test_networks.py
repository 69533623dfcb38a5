"""Networks: the embedded one is SNDlib's, others load, and directed ones have no cycle."""

import sys

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sottovoce as sv
from sampling import every, sampled
from sottovoce.lab.problems._networks import SNDLIB, Network, _from_node_link, load_network

topohub = pytest.importorskip("topohub")


def as_networkx(network):
    graph = nx.Graph()
    graph.add_nodes_from(range(len(network.nodes)))
    graph.add_weighted_edges_from((a, b, length) for (a, b), length in zip(network.links, network.lengths, strict=True))
    return graph


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_the_embedded_network_is_that_of_the_package():
    assert load_network("nobel-germany") == _from_node_link("nobel-germany", topohub.get("sndlib/nobel-germany"))


def test_the_list_of_names_is_complete():
    from importlib.resources import files

    held = {file.name.removesuffix(".json") for file in files("topohub").joinpath("data/sndlib").iterdir()}
    assert {name for name in held if not name.startswith("__")} == set(SNDLIB)


@pytest.mark.parametrize("name", sampled(SNDLIB, 3))
def test_every_network_loads_connected_and_routes_end_without_cycles(name):
    network = load_network(name)
    assert nx.is_connected(as_networkx(network))
    apart = network.distances()
    source, target = np.unravel_index(apart.argmax(), apart.shape)
    arcs, links = network.towards(int(source), int(target))
    graph = nx.DiGraph(list(arcs))
    assert nx.is_directed_acyclic_graph(graph)
    on_the_way = nx.descendants(graph, source) & nx.ancestors(graph, target) | {source, target}
    assert on_the_way == set(graph.nodes)
    assert all({*arc} == {*network.links[link]} for arc, link in zip(arcs, links, strict=True))
    position = {node: i for i, node in enumerate(nx.topological_sort(graph))}
    assert len({*links}) == len(links)
    assert all(tail in {source, *(head for _, head in arcs[:i])} for i, (tail, _) in enumerate(arcs))
    assert position[source] == 0


@given(rows=st.integers(2, 5), columns=st.integers(2, 5), data=st.data())
def test_distances_and_routes_are_shortest(rows, columns, data):
    grid = nx.convert_node_labels_to_integers(nx.grid_2d_graph(rows, columns))
    lengths = data.draw(st.lists(st.floats(0.1, 9.0), min_size=len(grid.edges), max_size=len(grid.edges)))
    places = tuple((float(one), 0.0) for one in grid)
    network = Network("mine", tuple(map(str, grid)), places, tuple(grid.edges), tuple(lengths))
    graph = as_networkx(network)
    expected = dict(nx.all_pairs_dijkstra_path_length(graph))
    apart = network.distances()
    for (source, target), route in network.routes().items():
        assert apart[source, target] == pytest.approx(expected[source][target])
        assert nx.path_weight(graph, route, "weight") == pytest.approx(expected[source][target])


def test_arcs_come_nearer_to_the_target_and_none_is_left_out():
    network = load_network("polska")
    source, target = network.number("source", "Szczecin"), network.number("target", "Rzeszow")
    far = network.distances()[target]
    arcs, links = network.towards(source, target)
    assert all(far[tail] > far[head] for tail, head in arcs)
    graph = nx.DiGraph([(a, b) if far[a] > far[b] else (b, a) for a, b in network.links])
    assert len(links) == graph.subgraph({source, *nx.descendants(graph, source)}).number_of_edges()


def test_ties_are_broken_so_that_no_link_is_lost():
    triangle = Network("t", ("a", "b", "c"), ((0, 0), (1, 0), (0, 1)), ((0, 1), (1, 2), (0, 2)), (1.0, 1.0, 1.0))
    assert triangle.towards(2, 0).arcs == ((2, 1), (2, 0), (1, 0))


def test_loads_add_up_over_shortest_routes():
    line = Network("line", ("a", "b", "c"), ((0, 0), (1, 0), (2, 0)), ((0, 1), (1, 2)), (1.0, 1.0))
    traffic = np.arange(9.0).reshape(1, 3, 3)
    # From a to b go 1 (a to b) and 2 (a to c); from c to b go 7 and 6.
    np.testing.assert_array_equal(line.loads(((0, 1), (2, 1)), traffic), [[3.0, 13.0]])


def test_a_wrong_name_lists_the_right_ones():
    with pytest.raises(ValueError, match=r"network must be .*abilene.*zib54.*'germany'"):
        load_network("germany")
    with pytest.raises(ValueError, match=r"source must be a node of nobel-germany \(Hannover.*'Paris'"):
        sv.lab.problems.Routing(source="Paris")


def test_without_topohub_the_error_says_what_to_install_and_germany_still_works(monkeypatch):
    monkeypatch.setitem(sys.modules, "topohub", None)
    load_network.cache_clear()
    with pytest.raises(ImportError, match=r"pip install '\.\[lab\]'"):
        load_network("abilene")
    assert load_network("nobel-germany").name == "nobel-germany"


@every(
    "changes, message",
    [
        ({"nodes": ("a", "a", "c")}, "name of its own"),
        ({"positions": ((0, 0),)}, "position"),
        ({"lengths": (1.0,)}, "length"),
        ({"lengths": (1.0, 0.0)}, "length"),
        ({"links": ((0, 1), (0, 1))}, "connected"),
    ],
)
def test_bad_networks_are_refused(changes, message):
    good = {
        "name": "x",
        "nodes": ("a", "b", "c"),
        "positions": ((0, 0), (1, 0), (2, 0)),
        "links": ((0, 1), (1, 2)),
        "lengths": (1.0, 2.0),
    }
    assert Network(**good).distances()[0, 2] == 3.0
    with pytest.raises(ValueError, match=message):
        Network(**{**good, **changes})
