"""Open rounds, which the losses of actions come home to."""

from array import array
from itertools import repeat
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from sottovoce._arrays import Floats, Integers
from sottovoce.exploration import Decisions, Draw, Exploration, Probed, Weighted
from sottovoce.learning.bandit.actions import Action, speaking
from sottovoce.learning.bandit.estimates import CompleteRound, Grid, ReleasedRound
from sottovoce.learning.bandit.open_losses import UNWANTED, Slots

if TYPE_CHECKING:
    from sottovoce.learning.bandit.epoch import Epoch

__all__ = ["Block", "OpenRound"]


class _Totals(NamedTuple):
    """What a round's finished blocks add up to, and which they are; replaced as a whole, so no block is in twice."""

    products: Integers  # private, un-noised
    weights: Integers
    events: int
    blocks: frozenset[int]  # the first id of each


class OpenRound:
    """A round from its first action until its release: its point, and the integer sums of what was told so far.

    The sums are un-noised. They live here until the round is released, and go nowhere else.

    Parameters
    ----------
    epoch, point, exploration
        What it belongs to, the point that it plays, and how it explores.
    size
        Its events.
    last
        Whether it is the last one of its epoch, which is never released.
    first, number
        The id of its first event; how many rounds there were before it.
    """

    __slots__ = (
        "_totals",
        "before",
        "epoch",
        "exploration",
        "first",
        "full_at",
        "last",
        "number",
        "opened",
        "point",
        "released",
        "size",
    )

    def __init__(
        self,
        epoch: "Epoch",
        point: Floats,
        exploration: Exploration,
        size: int,
        last: bool,
        *,
        first: int = 0,
        number: int = 0,
    ) -> None:
        self.last = last
        self.epoch = epoch
        self.point = point
        self.exploration = exploration
        self.size = size
        self.first, self.number = first, number
        self.opened = 0  # events that were drawn
        self.full_at: int | None = None  # what was asked after the call that asked its last event
        self.before: int | None = None  # rounds that the mechanism had seen when this one was first to be released
        self.released: ReleasedRound | None = None  # what there is of it with noise, once there is
        zeros: Integers = np.zeros(exploration.numbers, dtype=np.int64)
        self._totals = _Totals(zeros, zeros.copy(), 0, frozenset())

    @property
    def end(self) -> int:
        """The id after its last."""
        return self.first + self.size

    @property
    def outstanding(self) -> int:
        """Events of blocks that are not finished, or not drawn."""
        return self.size - self._totals.events

    def absorb(self, block: int, losses: Integers, weights: Weighted | Probed) -> None:
        """Add the losses of the block that begins with event `block`, with their weights, to the sums: once."""
        so_far = self._totals
        if block in so_far.blocks:
            return
        self._totals = _Totals(
            so_far.products + weights.sum(losses),
            so_far.weights + weights.total(),
            so_far.events + len(losses),
            so_far.blocks | {block},
        )
        so_far.products[:] = 0  # sums of private values are not left lying about

    def complete(self) -> CompleteRound:
        """What a complete round adds up to."""
        return CompleteRound(self.exploration, self._totals.products, self._totals.weights)

    def erase(self) -> None:
        """Overwrite the private sums of a released round."""
        self._totals.products[:] = 0

    def __repr__(self) -> str:
        return f"OpenRound(size={self.size}, opened={self.opened}, outstanding={self.outstanding})"


class Block(Slots):
    """Consecutive events of one round, with the integers of their losses.

    A round is cut into blocks so that memory does not grow with it. Events whose loss is not wanted have none to fill.
    """

    __slots__ = ("asked", "quantise", "ready", "round", "slots", "stop", "wants_loss", "weights")
    _derived: ClassVar[tuple[str, ...]] = ("_losses", "_states", "quantise", "ready")

    def __init__(self, round: OpenRound, first: int, draw: Draw, grid: Grid) -> None:
        self.slots = array("q", [0]) * len(draw.actions)  # plain arrays: far quicker than numpy one at a time
        super().__init__(first, draw.actions, grid)
        self.round: OpenRound = round
        self.weights: Weighted | Probed | None = draw.weights
        self.wants_loss = np.ones(self.size, dtype=bool) if draw.wants_loss is None else draw.wants_loss
        self.asked = 0
        self.stop = 0  # where asking one by one has to look around
        self.ready: list[Action] = []  # what asking one by one hands out, once it does
        self._states[~self.wants_loss] = UNWANTED
        self.settle()

    def _derive(self) -> None:
        super()._derive()
        self.quantise = self.grid.quantiser()
        self._losses: Integers = np.frombuffer(self.slots, dtype=np.int64)

    def make_ready(self) -> None:
        """Make the actions that asking one by one hands out: all at once, which takes half the time."""
        if not self.ready:
            rows = self.actions.shared() if isinstance(self.actions, Decisions) else self.actions
            plain = zip(range(self.first, self.end), rows, self.wants_loss.tolist(), strict=True)
            self.ready = list(map(tuple.__new__, repeat(speaking(self.round.epoch.stage.domain)), plain))

    def take(self, count: int) -> slice:
        """Hand out the next `count` events."""
        start, self.asked = self.asked, self.asked + count
        return slice(start, self.asked)

    def _finish(self) -> None:
        """Hand the losses over to the round, once, and keep nothing but which ids were told."""
        if self.weights is not None:
            self.round.absorb(self.first, self._losses, self.weights)  # 0 where no loss is wanted
        self._losses[:] = 0
        self.weights = None

    def __repr__(self) -> str:
        return f"Block(first={self.first}, size={self.size}, asked={self.asked}, outstanding={self.outstanding})"

    def __setstate__(self, state: dict[str, object]) -> None:
        super().__setstate__(state)
        self.ready = []
        self.make_ready()
