"""Plans: how decisions are drawn, how long rounds are, what is bounded. One file for each way of exploring.

Adding one is a file and a line in the table below; an unknown name is an error at the door. One that says nothing of
its bound has none, and is taken where it is asked for by name.
"""

from sottovoce._checks import choice
from sottovoce._sums import Itemised, Probed, Weighted
from sottovoce.plans.designs import DESIGNS
from sottovoce.plans.draft import ProbeDraft
from sottovoce.plans.explorer import Draw, Exploration, Explorer
from sottovoce.plans.frames import FRAMES
from sottovoce.plans.items import ITEMS
from sottovoce.plans.kind import ExplorationKind
from sottovoce.plans.placement import Placement
from sottovoce.plans.posterior import POSTERIOR
from sottovoce.plans.sphere import SPHERE

__all__ = [
    "EXPLORATIONS",
    "Draw",
    "Exploration",
    "ExplorationKind",
    "Explorer",
    "Itemised",
    "Placement",
    "ProbeDraft",
    "Probed",
    "Weighted",
    "exploration_named",
]

EXPLORATIONS: dict[str, ExplorationKind] = {one.name: one for one in (POSTERIOR, ITEMS, DESIGNS, FRAMES, SPHERE)}
"""Every way of exploring there is, by name."""


def exploration_named(name: str) -> ExplorationKind:
    """Return the way of exploring of a name, or say which there are.

    Parameters
    ----------
    name
        Of a way of exploring in `EXPLORATIONS`.

    Examples
    --------
    >>> exploration_named("frames")
    ExplorationKind('frames')
    """
    return EXPLORATIONS[choice("exploration", name, tuple(EXPLORATIONS))]
