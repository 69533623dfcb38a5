"""Spanning tree: a backbone chosen on a real network, by noisy measured cost."""

from typing import ClassVar, Self

import numpy as np

from sottovoce._checks import number
from sottovoce.domains import SpanningTrees
from sottovoce.lab.problems._networks import load_network
from sottovoce.lab.problems.base import DecisionProblem
from sottovoce.lab.simulation.finite import FiniteEnvironment
from sottovoce.lab.simulation.worlds import scaled_linear

KINDS = 1024  # different events: enough that the average noise is small
CAP = 3.0  # a disturbance counts up to this many times its mean


class Disturbances(FiniteEnvironment):
    """One customer after the other, each disturbed for some time by every link of the backbone.

    The disturbance by a link is exponential, capped at three times its scale. Its scale is the length of the link times
    a quality of the link's own, log-normal, that nobody knows beforehand. The loss of a tree is the sum over its links,
    shifted and scaled to fill [0, 1]; it is linear, so its Lipschitz constant is the longest tangent part of a cost.
    """

    def __init__(self, trees: SpanningTrees, *, network: str, spread: float = 0.6, seed: int = 0) -> None:
        super().__init__(trees, seed)
        self.network = network
        self.spread = 0.0 if spread == 0 else number("spread", spread, above=0.0, at_most=2.0)
        rng, lengths = self._design_rng(), np.array(load_network(network).lengths)
        self.scales = lengths / lengths.mean() * rng.lognormal(0.0, self.spread, len(lengths))
        minutes = self.scales * np.minimum(rng.exponential(size=(KINDS, len(lengths))), CAP)
        self.library, self.lipschitz = scaled_linear(trees, minutes)


class Backbone(DecisionProblem):
    """Choose the links of a backbone, a spanning tree of a real network, by what it costs the people who use it.

    Losses are linear in the tree and lie in [0, 1]; every action is a tree. `Disturbances` states how they are made.

    Parameters
    ----------
    network : str
        `nobel-germany` (embedded), or another network of SNDlib; see `networks.load_network`.
    spread : float
        How much links differ in quality (standard deviation of its logarithm), at most 2; 0 leaves only their lengths.
    seed : int
        Fixes the qualities, all costs and their order.

    Examples
    --------
    >>> import sottovoce as sv
    >>> problem = sv.lab.problems.Backbone()
    >>> problem.domain
    SpanningTrees(17 nodes, 26 edges)
    >>> best = problem.environment.comparator(10_000).point
    >>> len(problem.domain.chosen(best))
    16
    """

    name: ClassVar[str] = "spanning-tree"
    title: ClassVar[str] = "Choose a backbone that joins all places"
    story: ClassVar[str] = (
        "An operator leases just enough links to join all cities: a spanning tree. How good a link is shows only in "
        "use. Each customer reports one number, the minutes of disturbance, to which every link of the backbone adds; "
        "that number says what the customer did and when."
    )
    losses, integral = "linear", True

    def __init__(self, *, network: str = "nobel-germany", spread: float = 0.6, seed: int = 0) -> None:
        known = load_network(network)
        self.places, trees = known.places, SpanningTrees(known.links)
        if trees.affine_dimension < 1:
            raise ValueError(f"network must have more than one spanning tree, and {network!r} has not")
        self.environment = Disturbances(trees, network=network, spread=spread, seed=seed)

    @classmethod
    def examples(cls) -> list[Self]:
        """Return the default, and one where only lengths matter."""
        return [cls(), cls(spread=0.0, seed=2)]
