"""A segment's engine, and the study's own: transactions that hold the study's lock, and then the segment's.

Whatever reserves events or closes rounds of a segment holds the lock of the whole study, so that the horizon, the clock
and the number of segments are exact. Losses are told to their cells, as ever, and wait for nobody.
"""

from typing import TYPE_CHECKING

from sqlalchemy import Connection

from sottovoce.errors import StudyBehind
from sottovoce.studies.database.cells import CellTable
from sottovoce.studies.session.engine import CONSEQUENCES, WENT_BACK
from sottovoce.studies.session.session import Session
from sottovoce.studies.session.state import StudyState

if TYPE_CHECKING:
    from sottovoce.studies.lanes.family import Family

__all__ = ["Member"]

_SHARED = 4096  # actions that all segments together have in hand, about


class Member(Session):
    """The engine of one segment, or of the study that they are of.

    Parameters
    ----------
    family
        All of them.
    state, study
        Of this one.
    """

    def __init__(self, family: "Family", state: StudyState, study: int) -> None:
        super().__init__(family.storage, state, study)
        self.family = family
        self.committer.turn = family.turn  # one connection, and one thread at a time that uses it
        self.retired = False  # its segment may have another head by now

    @property
    def position(self) -> int:
        """Positions that were asked of all segments, without what this process has in hand."""
        return self.state.clock - self.family.in_hand

    @property
    def holds_back(self) -> bool:
        """Whether anything is in hand: patience passes as other segments are asked."""
        return self.hand.count > 0

    @property
    def most_in_hand(self) -> int:
        """How many actions may be reserved ahead."""
        return max(1, _SHARED // max(1, len(self.family.rows)))

    def check_usable(self) -> None:
        """Refuse a segment whose head has been replaced."""
        super().check_usable()
        if self.retired:
            raise StudyBehind(f"{WENT_BACK}. {CONSEQUENCES}")

    def step_in(self, connection: Connection) -> StudyBehind | None:
        """Take the study's lock first, and see how far all segments are."""
        went_back = self.family.look(connection)
        if not went_back and not self.retired:
            return super().step_in(connection)
        self.state.stale = True
        if went_back:
            self.family.renew(connection, 0)
        return StudyBehind(f"{WENT_BACK}. {CONSEQUENCES}")

    def join(self, connection: Connection) -> StudyBehind | None:
        """Take part in a transaction that another has begun, who looks after it."""
        if self in self.family.joined:
            return None
        self.family.joined.append(self)
        return super().step_in(connection)

    def write_back(self, connection: Connection) -> None:
        """Write down what has changed; after a new life was begun, there is nothing."""
        if not self.family.renewed and not self.retired:
            super().write_back(connection)
            self.family.note(self.state.counters)

    def step_out(self) -> None:
        """Go on; and so do all that took part."""
        stale = self.family.renewed or self.retired
        self.conclude()
        self.state.stale = stale
        self.family.settle(committed=True)

    def conclude(self) -> None:
        """Note what is on record."""
        super().step_out()

    def step_back(self) -> None:
        """Trust nothing, and nor do all that took part."""
        self.abandon()
        self.family.settle(committed=False)

    def abandon(self) -> None:
        """Let go of what was not recorded."""
        super().step_back()

    def _begin_new_life(self, connection: Connection, cells: CellTable, newest: int) -> None:
        self.family.renew(connection, newest)
