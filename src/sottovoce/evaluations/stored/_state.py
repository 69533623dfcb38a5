"""Evaluations as one process sees them: read from the storage, kept in step with it, never ahead of what is committed.

An evaluation is a round of one number. It has a row among the rounds of studies, and its places are cells there: what
is told is stored, counted once, added up and erased as losses of studies are. Two things differ. Evaluations close in
any order; and places are dealt by turns, so that each has slots of its own, counted from 0.

It holds no loss: those stay in their cells until the evaluation is released.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import Connection, insert, select

from sottovoce._arrays import Floats, Integers
from sottovoce._records import pack
from sottovoce.errors import StudyDamaged
from sottovoce.evaluations._setting import Setting
from sottovoce.evaluations._turns import Turn, next_turn
from sottovoce.evaluations.released_mean import ReleasedMean
from sottovoce.studies.database.cells import LONGEST, Cell, CellTable, cut
from sottovoce.studies.database.rows import read, round_row
from sottovoce.studies.database.tables import OPEN, RELEASED, rounds
from sottovoce.studies.session.chain import Chain
from sottovoce.studies.session.counters import Counters
from sottovoce.studies.session.rights import LedgerRight

__all__ = ["EvaluationsState", "OpenEvaluation", "Outcome", "first_coins"]

_MANY = 500  # numbers in one list: databases take so many arguments at most
_SINGLE_CELL = 32  # places of a cell whose ids are handed out one by one: it is written anew with every loss


@dataclass(slots=True, eq=False)
class OpenEvaluation:
    """An evaluation that is open, and what was reserved of it.

    Attributes
    ----------
    number, size
        Its number, and how many places it has.
    reserved, returned
        Places that were reserved, by any process, and of these the ones that were given back.
    full_after
        Places of all evaluations that were reserved once its last one was; None before.
    whole
        Whether nobody can be assigned to it any more.
    counted
        How many places count, if it was ended before all were taken.
    """

    number: int
    size: int
    grid: Any
    reserved: int = 0
    returned: int = 0
    full_after: int | None = None
    whole: bool = False
    counted: int | None = None
    _quantiser: Callable[[float], int] | None = None

    @property
    def room(self) -> int:
        """Places that can be reserved."""
        return 0 if self.whole else self.size - self.reserved + self.returned

    def quantise(self, losses: Floats) -> Integers:
        """Return the integers of losses."""
        return np.asarray(self.grid.quantise(losses), dtype=np.int64)

    def quantise_one(self, loss: float) -> int:
        """Return the integer of one loss."""
        if self._quantiser is None:
            self._quantiser = self.grid.quantiser()
        return self._quantiser(loss)


class Outcome(NamedTuple):
    """What became of an evaluation that is closed: when, among all of them, and its mean; None if it was dropped."""

    order: int
    mean: ReleasedMean | None


class EvaluationsState:
    """The open evaluations, what the others have released, and whose turn it is.

    Parameters
    ----------
    setting
        What all evaluations have in common.
    right
        To the charge of a ledger, if one was passed: a new life presents it.
    """

    def __init__(self, setting: Setting, right: LedgerRight | None) -> None:
        self.setting, self.right = setting, right
        self.counters = Counters(0)
        self.start_over()

    def start_over(self) -> None:
        """Forget what was read: it may not be what is stored."""
        self.rounds: dict[int, OpenEvaluation] = {}  # by number, in order: those that are open
        self.outcomes: dict[int, Outcome] = {}  # of the others
        self.sizes: dict[int, int] = {}
        self.rounds_opened = 0
        self.turn, self.entropy, self.chain = Turn(), 0, Chain()
        self.stale = True

    def is_reserved(self, number: int, slot: int) -> bool:
        """Whether somebody has reserved a place of an evaluation that there is; those of closed ones count."""
        live = self.rounds.get(number)
        return live is None or slot < live.reserved

    def is_closed(self, number: int, counters: Counters, cells: CellTable) -> bool:
        """Whether an evaluation is closed, by what is stored now: they close in any order."""
        return cells.state_of(number) not in (None, OPEN)

    # ------------------------------------------------------------------ following

    def follow(self, connection: Connection, counters: Counters, cells: CellTable) -> None:
        """Bring the state up to what the storage holds."""
        before, self.counters = self.counters, counters
        if self.stale or counters.generation != before.generation:
            self.start_over()
        if self.stale or counters.version != before.version:
            self.catch_up(connection, cells)

    def catch_up(self, connection: Connection, cells: CellTable) -> None:
        """Read what has changed since the state was last brought up to date."""
        self.stale = True
        coins = read("the public coins", self.counters.coins)
        self.entropy, self.chain = int(coins["entropy"], 16), Chain.of(coins)
        self.turn = Turn(0, coins["block"], tuple(coins["order"].tolist()))
        changed = rounds.c.number >= self.rounds_opened
        for start in range(0, len(self.rounds), _MANY):
            changed |= rounds.c.number.in_([*self.rounds][start : start + _MANY])
        mine = select(rounds).where(rounds.c.study == self.counters.id, changed)
        for row in connection.execute(mine.order_by(rounds.c.number)):
            try:
                self._read(row)
            except KeyError:
                raise StudyDamaged(f"evaluation {row.number} lacks what it should hold: restore a backup") from None
        returned = cells.returned() if self.counters.returned else {}  # which looks at every cell
        for number, live in self.rounds.items():
            live.reserved, live.returned = cells.end_of(number), returned.get(number, 0)
        if len(self.outcomes) != self.counters.closed:
            raise StudyDamaged("the counters of the evaluations do not agree with what is stored: restore a backup")
        self.stale = False

    def _read(self, row: Any) -> None:
        public = read(f"evaluation {row.number}", row.public)
        if public["number"] != row.number or (row.state == OPEN) != (row.released is None):
            raise StudyDamaged(f"evaluation {row.number} is stored in another's place: restore a backup")
        self.rounds_opened = max(self.rounds_opened, row.number + 1)
        self.sizes[row.number] = public["events"]
        if row.state == OPEN:
            live = self.rounds.setdefault(row.number, OpenEvaluation(row.number, public["events"], self.setting.grid))
            live.full_after, live.whole, live.counted = row.full_after, bool(row.whole), public.get("counted")
            return
        self.rounds.pop(row.number, None)
        if row.number not in self.outcomes:
            closed = read(f"evaluation {row.number}", row.released)
            if closed["number"] != row.number:
                raise StudyDamaged(f"evaluation {row.number} is stored in another's place: restore a backup")
            mean = None
            if row.state == RELEASED:
                mean = ReleasedMean(row.number, closed["events"], closed["total"], self.setting.scale)
            self.outcomes[row.number] = Outcome(closed["order"], mean)

    # ------------------------------------------------------------------ opening, and reserving places

    def open(self, connection: Connection, events: int) -> int:
        """Begin an evaluation; return its number."""
        number = self.rounds_opened
        public = pack({"number": number, "events": events})
        values = {"study": self.counters.id, "number": number, "state": OPEN, "public": public, "whole": 0}
        connection.execute(insert(rounds).values(values))
        self.rounds[number] = OpenEvaluation(number, events, self.setting.grid)
        self.sizes[number], self.rounds_opened = events, number + 1
        self.counters.structure += 1
        return number

    def deal(self, connection: Connection, cells: CellTable, count: int) -> list[tuple[int, int]]:
        """Reserve the places of the next `count` people, as far as there are any: (evaluation, slot), in turn."""
        order: list[int] = []
        turn, room = self.turn, {number: live.room for number, live in self.rounds.items() if live.room}
        while room and len(order) < count:
            number, turn = next_turn(turn, list(room), self.entropy)
            order.append(number)
            room[number] -= 1
            if not room[number]:
                del room[number]
        slots = {
            number: iter(
                slot
                for cell in self._take(cells, self.rounds[number], count, _SINGLE_CELL)
                for slot in range(cell.first, cell.end)
            )
            for number, count in sorted(Counter(order).items())
        }
        self.turn = turn
        self._note_coins()
        self._note_full(connection, slots)
        return [(number, next(slots[number])) for number in order]

    def take(self, connection: Connection, cells: CellTable, live: OpenEvaluation, size: int) -> list[Cell]:
        """Reserve places of one evaluation, which has room for them; return their cells, of which nothing is told."""
        taken = self._take(cells, live, size, LONGEST)
        self._note_full(connection, (live.number,))
        return taken

    def _take(self, cells: CellTable, live: OpenEvaluation, size: int, length: int) -> list[Cell]:
        """Take places that were given back first, then the next ones."""
        taken: list[Cell] = []
        generation, need = self.counters.generation, size
        for cell in [one for one in cells.given_back() if one.round == live.number] if live.returned else ():
            if not need:
                break
            if cell.size > need:
                rest = cells.shorten(live.number, cell.first, need, np.ones(cell.size, dtype=bool))
                cells.insert(generation, [] if rest is None else [rest])
                cell = _empty(live.number, cell.first, need)
            cells.take_again(cell)
            taken.append(cell)
            need -= cell.size
            live.returned -= cell.size
            self.counters.returned -= cell.size
        fresh = [_empty(live.number, first, count) for first, count in cut(live.reserved, need, length)]
        cells.insert(generation, fresh)
        live.reserved += need
        self.counters.asked += need
        return taken + fresh

    def _note_full(self, connection: Connection, numbers: Any) -> None:
        """Note which evaluations have no room any more, and when that was."""
        for number in numbers:
            live = self.rounds[number]
            if not live.room and not live.whole:
                self._set(connection, live, full_after=self.counters.asked, whole=True)

    def _set(self, connection: Connection, live: OpenEvaluation, *, full_after: int | None, whole: bool) -> None:
        live.full_after, live.whole = full_after, whole
        values = {"full_after": full_after, "whole": int(whole)}
        connection.execute(round_row(rounds.update(), self.counters.id, live.number).values(**values))
        self.counters.structure += 1

    def give_back(self, connection: Connection, cells: CellTable, number: int, slots: list[int]) -> None:
        """Give back places that were reserved, and that nobody was assigned to."""
        live = self.rounds.get(number)
        if live is None or not slots:
            return
        unused = np.array(sorted(slots))
        for cell in cells.covering(self.counters.generation, number, unused):
            inside = unused[(unused >= cell.first) & (unused < cell.end)]
            used = int(inside[0]) - cell.first  # slots are handed out in order: what is unused is the end of a cell
            rest = cells.shorten(number, cell.first, used, np.ones(cell.size, dtype=bool))
            if rest is not None:
                cells.insert(self.counters.generation, [rest])
                live.returned += rest.size
                self.counters.returned += rest.size
        if live.whole and live.returned:
            self._set(connection, live, full_after=None, whole=False)
        self.counters.structure += 1

    def _note_coins(self) -> None:
        self.counters.coins = pack(_coins(self.entropy, self.turn, self.chain))

    # ------------------------------------------------------------------ closing

    def overdue(self, asked: int) -> list[OpenEvaluation]:
        """Return the evaluations that are out of patience, if so many people were assigned."""
        found = []
        for live in self.rounds.values():
            patience = self.setting.patience_of(live.size)
            if live.full_after is not None and patience is not None and asked >= live.full_after + patience:
                found.append(live)
        return found

    def end(self, connection: Connection, cells: CellTable, live: OpenEvaluation) -> None:
        """Let nobody be assigned any more: places that nobody took do not count."""
        cells.delete_given_back(live.number)
        live.counted, live.returned = live.reserved - live.returned, 0
        public = pack({"number": live.number, "events": live.size, "counted": live.counted})
        connection.execute(round_row(rounds.update(), self.counters.id, live.number).values(public=public))
        self._set(connection, live, full_after=live.full_after, whole=True)

    def close(self, connection: Connection, cells: CellTable, live: OpenEvaluation, outcome: dict[str, Any]) -> None:
        """Store what became of an evaluation, once, by compare-and-set; and delete its losses."""
        counters = self.counters
        state = outcome.pop("state")
        data = pack({"number": live.number, "order": counters.closed, **outcome})
        changed = connection.execute(
            round_row(rounds.update(), counters.id, live.number)
            .where(rounds.c.state == OPEN)
            .values(state=state, released=data, whole=1)
        )
        if changed.rowcount != 1:
            raise StudyDamaged(f"evaluation {live.number} was closed by somebody else; nothing of this was recorded")
        cells.delete(live.number)
        del self.rounds[live.number]
        mean = None
        if state == RELEASED:
            mean = ReleasedMean(live.number, outcome["events"], outcome["total"], self.setting.scale)
        self.outcomes[live.number] = Outcome(counters.closed, mean)
        counters.closed += 1
        counters.structure += 1
        self.chain = self.chain.add(live.number, data)
        self._note_coins()


def first_coins(entropy: int) -> bytes:
    """Return the public coins of evaluations that begin."""
    return pack(_coins(entropy, Turn(), Chain()))


def _coins(entropy: int, turn: Turn, chain: Chain) -> dict[str, Any]:
    order = np.array(turn.order, dtype=np.int64)
    return {"entropy": f"{entropy:x}", "block": turn.block, "order": order, **chain.record()}


def _empty(number: int, first: int, size: int) -> Cell:
    return Cell(number, first, size, size, 0, 0, False, np.zeros(size, dtype=bool), b"")
