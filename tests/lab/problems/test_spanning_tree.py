"""Spanning tree: costs by hand, and the best tree against networkx."""

import networkx as nx
import numpy as np
import pytest

import sottovoce as sv
from sampling import every
from sottovoce.lab.problems import Backbone


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
    chosen = nx.Graph([edge for edge, used in zip(problem.domain.edges, best.point, strict=True) if used])
    assert nx.is_tree(chosen)
    assert set(chosen) == set(problem.network.nodes)


def test_losses_are_scaled_sums_of_capped_disturbances():
    problem = Backbone(seed=3)
    library, scales = problem.environment.library, problem.environment.scales
    lengths = np.array(problem.network.lengths)
    minutes = library.costs * (problem.environment.minutes[0] / library.costs[:, 0].mean())
    assert minutes.max(axis=0) == pytest.approx(3.0 * scales)  # of 1024 draws, 5% reach the cap
    # The mean of an exponential capped at 3 is 1 - exp(-3); the standard error here is 0.84/sqrt(1024 x 26) = 0.005.
    assert (minutes / scales).mean() == pytest.approx(1 - np.exp(-3), abs=0.03)
    assert np.log(scales / lengths).std() == pytest.approx(0.6, abs=0.35)
    tree = problem.domain.extreme_point(lengths)
    losses = library.losses(tree, np.arange(len(library)))
    gaps = np.diff(library.costs @ tree)
    assert np.diff(losses) == pytest.approx(gaps)


def test_without_spread_only_lengths_matter():
    environment = Backbone(spread=0.0).environment
    lengths = np.array(Backbone(spread=0.0).network.lengths)
    assert environment.scales == pytest.approx(lengths / lengths.mean())


def test_actions_are_trees():
    problem = Backbone()
    optimizer = problem.optimizer(horizon=2000, privacy=sv.PureDP(1.0), seed=1, noise=sv.SimulatedNoise(1))
    for action in optimizer.ask(size=200).x:
        chosen = [edge for edge, used in zip(problem.domain.edges, action, strict=True) if used]
        assert set(action) <= {0.0, 1.0}
        assert nx.is_tree(nx.Graph(chosen))
        assert len(chosen) == len(problem.network.nodes) - 1


@every("settings", [{"spread": -0.1}, {"spread": 2.5}, {"network": "nowhere"}])
def test_bad_settings_are_refused_by_name(settings):
    with pytest.raises(ValueError, match=next(iter(settings))):
        Backbone(**settings)
