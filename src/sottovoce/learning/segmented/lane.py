"""A lane: the actions, rounds and losses of one segment, in the books of an optimizer that has several."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce import _fork
from sottovoce._arrays import Floats, Integers
from sottovoce._records import part
from sottovoce.exploration import Record
from sottovoce.exploration.posterior import Belief, Segment
from sottovoce.learning.bandit._ask_tell import AskTell, Epochs
from sottovoce.learning.bandit._life import Life
from sottovoce.learning.bandit.actions import Actions
from sottovoce.learning.bandit.doubling import next_length
from sottovoce.learning.bandit.epoch import Epoch
from sottovoce.learning.bandit.open_rounds import Filling, OpenRounds
from sottovoce.learning.bandit.outstanding import Outstanding
from sottovoce.learning.bandit.recommendation import best_informed
from sottovoce.learning.bandit.rounds import Block

__all__ = ["Lane", "asked_of", "plain_segment", "segment_of"]


class Lane(AskTell):
    """One segment's books. Whoever has the lanes holds the lock, and says what time it is.

    Parameters
    ----------
    whole
        The books that it is a part of.
    number, segment
        Of the segment.
    origin
        The id of its first event.
    make
        Makes its epochs: from the number of the lane, length, first id, and the one before.
    clock
        What patience counts: positions that were asked of all segments.
    record
        What `to_record` returned in an earlier life, if it goes on where that was.
    """

    def __init__(
        self,
        whole: AskTell,
        number: int,
        segment: Segment,
        origin: int,
        make: Callable[[int, int, int, Epoch | None], Epoch],
        clock: Callable[[], int],
        record: Record | None = None,
    ) -> None:
        self._join(whole, origin)
        self.number, self.segment = number, segment
        self._make, self._clock = make, clock
        self.edge = -1  # the last id of a stretch that is asked one by one: a round may be full after it
        self._epochs = self._next_epoch(None) if record is None else self._resumed(record)
        self._current = self._open_block()

    def to_record(self) -> Record:
        """Return what the rounds to come depend on: released values, nothing of an open round."""
        facts = {"segment": plain_segment(self.segment), "asked": self.asked, "planned": self._epochs.planned}
        facts |= {"released": self.round, "finished_calls": self._epochs.finished_calls}
        return {**facts, **{f"learned.{name}": one for name, one in self._epoch.state().items()}}

    def _resumed(self, record: Record) -> Epochs:
        planned = length = 0
        while planned < record["planned"]:
            length = next_length(self.horizon, planned)
            planned += length
        self._rounds = OpenRounds(self._origin, record["released"])
        first = self._origin + planned - length
        epoch = self._make(self.number, length, first, None)
        epoch.restore({**part(record, "learned"), "first": first})
        epoch.abandon(max(0, record["asked"] - (planned - length)))
        epoch.earlier = record["released"] - epoch.counts[1]
        self._taught = best_informed([epoch])
        return Epochs(epoch, planned, record["finished_calls"])

    def _make_epoch(self, length: int, first: int, previous: Epoch | None) -> Epoch:
        return self._make(self.number, length, first, previous)

    @property
    def _now(self) -> int:
        return self._clock()

    def witness(self, witness: Callable[[int, Floats], None]) -> None:
        """Let somebody see what is released, before anything uses it."""
        self._on_release = witness

    def charge(self, life: Life) -> None:
        """Release under a charge that all lanes share."""
        self._life = life

    # ------------------------------------------------------------------ asking

    @property
    def asked(self) -> int:
        """Events that were asked of it."""
        current = self._current
        return current.first + current.asked - self._origin

    ask_one = AskTell._ask_one

    def _look_around(self) -> Block:
        current = super()._look_around()
        self.edge = current.end - 1
        return current

    def draw(self, size: int) -> list[Block]:
        """Draw the next `size` actions, if they are not drawn: all that can fail before `hand_out`."""
        self._settle_if_needed()
        return self._blocks_from(self._asked, self._asked + size)

    def hand_out(self, size: int) -> Actions:
        """Return the next actions, by one assignment after everything that can fail."""
        return self._hand_out(size)

    def rewind(self, asked: int) -> None:
        """Hand out again what was handed out since so many events were asked: nobody got it."""
        if self.asked == asked:
            return
        (block,) = self._rounds.blocks_from(self._origin + asked, self._origin + asked + 1)
        block.stop = block.asked = self._origin + asked - block.first
        self._current = block

    def left_of_round(self) -> int:
        """How many actions the current round has left; a new one is begun if there are none."""
        self._settle_if_needed()
        asked = self._asked
        return self._blocks_from(asked, asked + 1)[0].round.end - asked

    def left_of_begun(self) -> int:
        """How many actions are left of a round that is begun: 0, if more must be drawn to know."""
        self._settle_if_needed()
        return self.left_of_round() if self._rounds.end > self._asked else 0

    def note_full(self, now: int) -> int:
        """Note that rounds are asked to their end; return when the first of these is out of patience."""
        self._rounds.note_full(self._asked, now)
        return self._rounds.due(self.patience)

    def close_overdue(self, now: int) -> int:
        """Close what is out of patience; return when the next round will be."""
        self._settle_if_needed()
        self._close_overdue(now)
        return self._rounds.due(self.patience)

    # ------------------------------------------------------------------ telling

    tell_one = AskTell._tell_one

    def where(self, ids: Integers, losses: NDArray[Any], late: str) -> list[Filling[Block]]:
        """Return where losses belong; refuse all of them if anything is wrong with one. Nothing is changed."""
        self._settle_if_needed()
        return self._rounds.losses(ids, losses, asked=self._asked, late=late)

    def waiting(self, ids: Integers) -> list[Filling[Block]]:
        """Return which of these wait for a loss, to be forgotten. Nothing is changed."""
        self._settle_if_needed()
        return self._rounds.waiting(ids, asked=self._asked)

    def fill(self, fillings: list[Filling[Block]], state: int) -> None:
        """Record what `where` or `waiting` returned, as far as that is not done, and release what is complete."""
        rest = []
        for block, slots, integers in fillings:
            pending = block.pending(slots)
            rest.append((block, slots[pending], integers[pending] if isinstance(integers, np.ndarray) else integers))
        self._fill(rest, state)

    def settle(self) -> None:
        """Finish what was cut short."""
        self._settle_if_needed()

    def _settle_if_needed(self) -> None:
        if self._settled != _fork.current:
            self._settle()

    # ------------------------------------------------------------------ looking

    @property
    def speaker(self) -> Any:
        """What tells other segments what was released of this one: the belief that is learned by now."""
        explorer: Any = self._epoch.explorer
        return explorer.belief

    @property
    def epoch(self) -> Epoch:
        """The one that is played."""
        return self._epoch

    def informed_belief(self) -> Belief:
        """Return what is believed of the segment, by the epoch that has learned most, with what others say now."""
        self._settle_if_needed()
        explorer: Any = (self._best_informed or self._epoch).explorer
        explorer.prepare()
        return explorer.belief  # type: ignore[no-any-return]

    def outstanding(self, limit: int | None) -> Outstanding:
        """Return its actions that wait for losses."""
        return self._outstanding(limit)

    @property
    def oracle_calls(self) -> int:
        """Calls of the linear oracle that were made for it."""
        return self._epochs.finished_calls + self._epoch.oracle_calls


def asked_of(lanes: list[Lane]) -> int:
    """Return how many events were asked of all lanes."""
    return sum([lane._current.first + lane._current.asked - lane._origin for lane in lanes])


def plain_segment(segment: Segment) -> Any:
    """Return a segment as JSON can hold it."""
    return list(segment) if isinstance(segment, tuple) else segment


def segment_of(plain: Any) -> Segment:
    """Return the segment that `plain_segment` wrote down."""
    return tuple(plain) if isinstance(plain, list) else plain
