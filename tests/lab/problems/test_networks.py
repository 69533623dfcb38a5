"""Networks: the embedded one is SNDlib's, others load, and routes are shortest."""

import sys
from importlib.resources import files

import networkx as nx
import numpy as np
import pytest

import sottovoce as sv
from sampling import sampled
from sottovoce.lab.problems._networks import SNDLIB, Network, _from_node_link, load_network

topohub = pytest.importorskip("topohub")


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_the_embedded_network_is_that_of_the_package_and_the_list_of_names_is_complete():
    assert load_network("nobel-germany") == _from_node_link(topohub.get("sndlib/nobel-germany"))
    held = {file.name.removesuffix(".json") for file in files("topohub").joinpath("data/sndlib").iterdir()}
    assert {name for name in held if not name.startswith("__")} == set(SNDLIB)


@pytest.mark.parametrize("name", sampled(SNDLIB, 3))
def test_every_network_loads_and_its_distances_and_routes_are_shortest(name):
    network = load_network(name)
    graph, names = nx.Graph(), list(network.places)
    for (a, b), length in zip(network.links, network.lengths, strict=True):
        graph.add_edge(a, b, weight=min(length, graph.get_edge_data(a, b, {"weight": length})["weight"]))
    assert set(graph) == set(names)
    far, before = network.shortest()
    expected = dict(nx.all_pairs_dijkstra_path_length(graph))
    for i, source in enumerate(names):
        for j, target in enumerate(names):
            assert far[i, j] == pytest.approx(expected[source][target])
            if i != j:
                last = names[before[i, j]]
                assert far[i, j] == pytest.approx(far[i, before[i, j]] + graph[last][target]["weight"])


def test_ways_come_nearer_to_the_target_and_none_is_left_out():
    network = load_network("polska")
    far = dict(zip(network.places, network.shortest()[0][list(network.places).index("Rzeszow")], strict=True))
    ways = network.towards("Szczecin", "Rzeszow")
    assert all(far[tail] > far[head] for tail, head in ways)
    graph = nx.DiGraph([(a, b) if far[a] > far[b] else (b, a) for a, b in network.links])
    assert len(ways) == graph.subgraph({"Szczecin", *nx.descendants(graph, "Szczecin")}).number_of_edges()


def test_loads_add_up_over_shortest_routes():
    line = Network({"a": (0, 0), "b": (1, 0), "c": (2, 0)}, (("a", "b"), ("b", "c")), (1.0, 1.0))
    loads = line.loads(np.arange(9.0).reshape(1, 3, 3))
    # From a to b go 1 (a to b) and 2 (a to c); from c to b go 7 and 6.
    assert (loads["a", "b"], loads["c", "b"]) == ([3.0], [13.0])


def test_a_wrong_name_lists_the_right_ones():
    with pytest.raises(ValueError, match=r"network must be .*abilene.*zib54.*'germany'"):
        load_network("germany")
    with pytest.raises(ValueError, match=r"source must be one of .*Hannover.*'Paris'"):
        sv.lab.problems.Routing(source="Paris")


def test_germany_needs_no_package_of_networks(monkeypatch):
    monkeypatch.setitem(sys.modules, "topohub", None)
    load_network.cache_clear()
    assert len(load_network("nobel-germany").places) == 17
