"""A study in one process: its state, its transactions, and the actions that it has in hand."""

from sqlalchemy import Connection

from sottovoce.studies.database.cells import CellTable
from sottovoce.studies.database.storage import Storage
from sottovoce.studies.session.counters import Counters
from sottovoce.studies.session.engine import Engine
from sottovoce.studies.session.following import follow
from sottovoce.studies.session.open_round import Hand, Taken
from sottovoce.studies.session.restoration import begin_new_life
from sottovoce.studies.session.state import StudyState

__all__ = ["Session"]

_LARGEST_SLICE = 4096  # events that are reserved at a time for calls to come


class Session(Engine[StudyState]):
    """The engine of a study.

    Parameters
    ----------
    storage, state
        Of one study.
    study
        Its number in the storage.
    """

    def __init__(self, storage: Storage, state: StudyState, study: int) -> None:
        super().__init__(storage, state, study)
        self.hand = Hand()  # actions that are reserved for this process
        self.fresh: list[Taken] = []  # reserved within the transaction: in hand once that is committed

    @property
    def most_in_hand(self) -> int:
        """How many actions may be reserved for calls to come."""
        return _LARGEST_SLICE

    @property
    def holds_back(self) -> bool:
        """Whether it has actions in hand of rounds that may be out of patience: these are to be handed out first."""
        return False  # patience does not pass while they are

    def give_back(self, connection: Connection) -> None:
        """Give back what is in hand. It is in hand no more from here on, lest a call that is cut short hand it out."""
        cells, unused = self.cells(connection), list(self.hand.unused())
        self.hand.drop()
        for cell, used in unused:
            self.state.give_back(connection, cells, cell, used)

    @property
    def position(self) -> int:
        """Positions that were asked, without what this process has in hand: what patience counts."""
        return self.state.clock - self.hand.count

    def _follow(self, connection: Connection, counters: Counters) -> None:
        follow(self.state, connection, counters)

    def _begin_new_life(self, connection: Connection, cells: CellTable, newest: int) -> None:
        begin_new_life(self.state, connection, cells, newest=newest)

    def _committed(self) -> None:
        fresh, self.fresh = self.fresh, []
        self.hand.add(fresh)

    def _undone(self) -> None:
        self.fresh = []

    def _drop_hand(self) -> None:
        self.hand.drop()
