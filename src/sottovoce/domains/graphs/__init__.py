"""Choices in a graph: paths, flows, spanning trees."""

from sottovoce.domains.graphs.flows import Flows
from sottovoce.domains.graphs.paths import Paths
from sottovoce.domains.graphs.spanning_trees import SpanningTrees

__all__ = ["Flows", "Paths", "SpanningTrees"]
