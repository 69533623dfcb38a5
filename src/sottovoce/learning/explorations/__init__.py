"""The ways of exploring, as plans know them. One file each: its options, its plans, its bound, and how it is built.

Adding one is a file and a line in the table below; an unknown name is an error at the door.
"""

from sottovoce._checks import choice
from sottovoce.learning.explorations.designs import DESIGNS
from sottovoce.learning.explorations.frames import FRAMES
from sottovoce.learning.explorations.kind import ExplorationKind
from sottovoce.learning.explorations.posterior import POSTERIOR
from sottovoce.learning.explorations.sphere import SPHERE

__all__ = ["EXPLORATIONS", "ExplorationKind", "exploration_named"]

EXPLORATIONS: dict[str, ExplorationKind] = {one.name: one for one in (POSTERIOR, DESIGNS, FRAMES, SPHERE)}
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
