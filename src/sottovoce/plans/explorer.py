"""What every way of exploring offers: actions for a round, then a gradient from the round's released sums.

What follows from the released sums (_sums.py) is linear in the losses, so the sum of the weights, which is public,
undoes any offset of the loss grid. An explorer knows nothing of privacy: it is handed sums, and does not ask whether
they carry noise.
"""

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from sottovoce._arrays import Floats, Integers
from sottovoce._records import Record as Record
from sottovoce._sums import Itemised, Probed, Weighted
from sottovoce.models.belief import Belief
from sottovoce.models.measurements import written
from sottovoce.models.pace import ModelSettings
from sottovoce.models.sufficient_statistics import Prior
from sottovoce.plans.decisions import Decisions
from sottovoce.plans.placement import Placement


class Draw(NamedTuple):
    """Consecutive events of a round: where each acts, whether its loss is wanted, and what it is summed into."""

    actions: Any  # (size, n), or Decisions if the exploration is `compact`
    wants_loss: NDArray[np.bool_] | None  # None: all of them
    weights: "Weighted | Probed | Itemised"


class Exploration(ABC):
    """One round's exploration: public choices, made before any of its losses is seen.

    Parameters
    ----------
    explorer
        What began it.
    point
        What it lies around.
    record
        What it has chosen: whoever has that has the same round.
    """

    numbers: int
    """How many integers the round's losses are summed into."""

    squares: int = 0
    """The steps of the losses' grid, where as many integers again are sums of their squares; else 0."""

    compact: bool = False
    """Whether `draw` returns actions as `Decisions`, which take next to no room."""

    stride: int = 1
    """Events that are dealt out together: draws begin at multiples of it."""

    def __init__(self, explorer: Any, point: Floats, record: Record) -> None:
        self._explorer, self._point, self._record = explorer, point, record

    @abstractmethod
    def draw(self, coins: np.random.Generator, start: int, size: int) -> Draw:
        """Return events of the round: the same, whenever it is asked for the same ones with the same coins.

        Parameters
        ----------
        coins
            Public ones, for these events alone.
        start
            The place of the first in the round: a multiple of `stride`.
        size
            How many.
        """

    def estimate(self, sums: Floats, weights: Floats) -> Floats:
        """Return the gradient of the round's total loss from sum_t w_t f_t and sum_t w_t.

        Parameters
        ----------
        sums
            What was released: the sum of weight times loss.
        weights
            The sum of the weights.
        """
        raise TypeError(f"{type(self).__name__} estimates no gradient: use `learn`")

    def learn(self, belief: Any, sums: Floats, weights: Floats, squares: Floats | None = None) -> None:
        """Let what is believed know of the released sums, where decisions are drawn from that.

        Parameters
        ----------
        belief
            What is believed: of the explorer's set, or of a later one, which knows all names that this one has.
        sums
            What was released.
        weights
            The sum of the weights.
        squares
            The sums of (x - middle)^2/B over losses x, where they were released, too.
        """
        raise TypeError(f"{type(self).__name__} believes nothing: use `estimate`")

    def record(self) -> Record:
        """Return what the round has chosen, for `Explorer.resume`."""
        return self._record

    # What is stored of a round is compared with what the round can have drawn; an exploration that does not say what
    # that is finds everything possible.

    def is_possible(self) -> bool:
        """Whether the round's own choices can be these."""
        return True

    def can_begin(self, passed: int, size: int) -> bool:
        """Whether a round of `size` events that begins after `passed` others can have the choices that it has."""
        return True

    def counts(self, weights: Integers, size: int) -> tuple[Integers, Integers] | None:
        """How many losses each number can hold at most with a minus, and with a plus; None if it is no such sum.

        Parameters
        ----------
        weights
            The sum of the weights.
        size
            Events of the round.
        """
        return None


class DealtExploration(Exploration):
    """One round of a few decisions, dealt out among its events: in passes over all of them, each in its own order.

    Parameters
    ----------
    explorer, point, record
        As for `Exploration`; the record says how many events have passed when the round is over.
    rows
        The decisions, as `kept` returns them.
    """

    compact = True

    def __init__(self, explorer: Any, point: Floats, record: Record, rows: Any) -> None:
        super().__init__(explorer, point, record)
        self._rows, self._end, self.stride = rows, int(record["end"]), rows.shape[0]

    @abstractmethod
    def _weights(self, index: Integers) -> "Probed | Itemised":
        """Return what events are summed into that play these decisions."""

    def draw(self, coins: np.random.Generator, start: int, size: int) -> Draw:
        """Return events: passes over the decisions, each in an order of its own."""
        passes = -(-size // self.stride)
        ranks = coins.bit_generator.random_raw(passes * self.stride).reshape(passes, self.stride)
        index = ranks.argsort(axis=1, kind="stable").ravel()[:size]
        return Draw(Decisions(self._rows, index), None, self._weights(index))

    def is_possible(self) -> bool:
        """Whether the decisions are of the set."""
        rows = np.unique(written(self._rows), axis=0)
        return all(self._explorer.placement.domain.contains(row, 1e-6) for row in rows)

    def can_begin(self, passed: int, size: int) -> bool:
        """Whether it ends where it does."""
        return self._end == passed + size


class Explorer(ABC):
    """How a run explores, in the coordinates of the set it works on."""

    placement: Placement
    """Where the play takes place."""

    belief: Belief | None = None
    """What is believed of losses, if decisions are drawn from that."""

    ask_others: Callable[[], tuple[Prior, ModelSettings] | None] | None = None
    """Of one segment of several: returns what others say of it, and what holds for it among them; None if nothing."""

    def fresh_copy(self) -> Self:
        """Return the same for another segment, knowing nothing."""
        if self.belief is None:
            raise TypeError(f"{type(self).__name__} knows no segments")
        other = copy.copy(self)
        other.belief = self.belief.fresh_copy()
        return other

    def gradient(self, sums: Floats, weights: Floats) -> Floats:
        """Return the gradient from sums over several rounds, where that is linear, and the same for all rounds.

        Parameters
        ----------
        sums
            Of weight times loss.
        weights
            Of the weights.
        """
        raise TypeError(f"{type(self).__name__} has rounds that cannot be added up")

    def prepare(self) -> None:
        """See to what has to be known before a round begins: let other segments say what they know."""
        said = None if self.ask_others is None else self.ask_others()
        if said is not None and self.belief is not None:
            self.belief.use_prior(*said)

    @abstractmethod
    def round_size(self, passed: int) -> int:
        """How many events the round has that begins after `passed` events."""

    def begin(self, point: Floats, passed: int, size: int, coins: np.random.Generator) -> Exploration:
        """Begin a round of `size` events around a point, after `passed` events.

        Parameters
        ----------
        point
            Of the working set.
        passed
            Events before the round.
        size
            Events of the round.
        coins
            Public ones.
        """
        return self.resume(point, self.choose(passed, size, coins))

    def choose(self, passed: int, size: int, coins: np.random.Generator) -> Record:
        """Choose what a round is made of, as plain numbers and arrays: nothing, where each event draws its own.

        Parameters
        ----------
        passed, size, coins
            As for `begin`.
        """
        return {}

    @abstractmethod
    def resume(self, point: Floats, record: Record) -> Exploration:
        """Return the round around a point that `record` was taken of.

        Parameters
        ----------
        point
            Of the working set.
        record
            What `Exploration.record` returned.
        """

    def follow(self, earlier: "Explorer", events: int) -> None:
        """Begin with what was believed at the end of an epoch of `events` events, if it believed the same way.

        Parameters
        ----------
        earlier
            The explorer of the epoch before.
        events
            Of that epoch.
        """
        if self.belief is not None and type(earlier.belief) is type(self.belief):
            self.belief.carry_over(earlier.belief, events)

    @property
    def learns(self) -> Any:
        """What learns from released values, and can be asked for its `memory` and `knowledge`; None if nothing does."""
        return self.belief

    def memory(self) -> Record:
        """Return what was learned from released values."""
        return {} if self.learns is None else self.learns.memory()

    def remember(self, memory: Record) -> None:
        """Take over what `memory` returned."""
        if self.learns is not None:
            self.learns.remember(memory)

    def knowledge(self) -> Any:
        """Return what was learned, as one value that nothing changes later: `go_back` undoes what was learned since."""
        return None if self.learns is None else self.learns.knowledge()

    def go_back(self, knowledge: Any) -> None:
        """Know no more than what `knowledge` returned."""
        if self.learns is not None:
            self.learns.go_back(knowledge)

    def is_as_good(self, point: Floats) -> bool:
        """Whether a point of the set is believed to be as good as the best, but for rounding.

        Parameters
        ----------
        point
            Of the working set.
        """
        if self.belief is None:
            return False
        return self.placement.domain.contains(point, 1e-6) and self.belief.is_as_good(point)
