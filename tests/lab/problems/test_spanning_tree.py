"""Spanning tree: costs by hand, and the best tree against networkx."""

import networkx as nx
import numpy as np
import pytest

from sampling import every
from sottovoce.lab.problems import Backbone
from sottovoce.lab.problems._networks import load_network

LENGTHS = np.array(load_network("nobel-germany").lengths)


@every("number, horizon", [(0, 1), (1, 50), (0, 20_000)])
def test_the_best_tree_is_that_of_networkx(number, horizon):
    problem = Backbone.examples()[number]
    environment = problem.environment
    costs = environment.library.costs[environment.kinds(0, horizon)].mean(axis=0)
    graph = nx.Graph()
    graph.add_weighted_edges_from((*edge, cost) for edge, cost in zip(problem.domain.edges, costs, strict=True))
    expected = nx.minimum_spanning_tree(graph).size(weight="weight")
    best = environment.comparator(horizon)
    assert costs @ best.point == pytest.approx(expected)
    chosen = nx.Graph(problem.domain.chosen(best.point))
    assert nx.is_tree(chosen)
    assert set(chosen) == set(problem.places)


def test_losses_are_scaled_sums_of_capped_disturbances():
    environment = Backbone(seed=3).environment
    library, scales = environment.library, environment.scales
    minutes = library.costs * (3.0 * scales / library.costs.max(axis=0))  # of 1024 draws, 5% reach the cap
    assert np.ptp(minutes / library.costs) == pytest.approx(0.0, abs=1e-9 * (minutes / library.costs).max())
    # The mean of an exponential capped at 3 is 1 - exp(-3); the standard error here is 0.84/sqrt(1024 x 26) = 0.005.
    assert (minutes / scales).mean() == pytest.approx(1 - np.exp(-3), abs=0.03)
    assert np.log(scales / LENGTHS).std() == pytest.approx(0.6, abs=0.35)
    assert Backbone(spread=0.0).environment.scales == pytest.approx(LENGTHS / LENGTHS.mean())
