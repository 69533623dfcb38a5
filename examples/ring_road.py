"""Paths that lead away from their target at first: `SimplePaths` learns to take the ring road."""

import itertools

import networkx as nx
import numpy as np

import sottovoce as sv

town = nx.grid_2d_graph(4, 4).to_directed()
streets, around = list(town.edges), [(1, 0), (0, 0), (0, 1), (0, 2), (0, 3), (1, 3)]
ring = set(itertools.pairwise(around))  # leads away from the target at first
failing = np.array([0.05 if street in ring else 0.6 for street in streets])

routes = sv.domains.SimplePaths(town, source=(1, 0), target=(1, 3))
options = {"loss_range": (0.0, 1.0), "privacy": sv.PureDP(1.0), "noise": sv.SimulatedNoise(1), "seed": 1}
optimizer = sv.PrivateBandit(routes, horizon=10_000, losses="linear", **options)
world = np.random.default_rng(2)
while optimizer.remaining:
    actions = optimizer.ask_round()
    failed = world.random(actions.x.shape) < failing
    optimizer.tell(actions.ids, (actions.x * failed).sum(axis=1) / 8)

print(optimizer.recommend().chosen)  # in the order of travel
