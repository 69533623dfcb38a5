"""Checking stored evaluations: every checksum, and how all rows fit together. Nothing of a loss is shown."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import Connection, select

from sottovoce._records import checksum
from sottovoce.errors import InvalidLoss, StudyDamaged
from sottovoce.evaluations._setting import Setting
from sottovoce.studies.database.cells import Cell, all_entries, cell_of
from sottovoce.studies.database.rows import read
from sottovoce.studies.database.tables import DROPPED, OPEN, RELEASED, cells, heads, rounds
from sottovoce.studies.session.chain import Chain
from sottovoce.studies.session.counters import counters_of

__all__ = ["EvaluationsVerification", "verify_evaluations"]

_CELL = ("round", "first", "size", "wanted", "told", "missing", "given_back", "closed", "losses")


@dataclass(frozen=True)
class EvaluationsVerification:
    """What `StoredEvaluations.verify` has found.

    Attributes
    ----------
    released, abandoned, open
        How many evaluations there are of each.
    faults
        What is wrong, in words; empty if nothing is.
    """

    released: int
    abandoned: int
    open: int
    faults: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether no fault was found."""
        return not self.faults

    def __str__(self) -> str:
        counts = f"{self.released} released, {self.abandoned} abandoned, {self.open} open"
        return "\n".join([f"{counts}: {'no fault' if self.ok else 'DAMAGED'}", *self.faults])


def verify_evaluations(connection: Connection, study: int, setting: Setting) -> EvaluationsVerification:
    """Check all that is stored of evaluations; within a transaction, so that nothing changes meanwhile."""
    head = connection.execute(select(heads).where(heads.c.id == study).with_for_update()).one()
    mine = list(connection.execute(select(rounds).where(rounds.c.study == study).order_by(rounds.c.number)))
    columns = [cells.c[name] for name in _CELL]
    held = list(connection.execute(select(*columns).where(cells.c.study == study).order_by("round", "first")))
    check = _Check(setting)
    check.all_of(head, mine, held)
    states = [row.state for row in mine]
    return EvaluationsVerification(
        states.count(RELEASED), states.count(DROPPED), states.count(OPEN), tuple(check.faults)
    )


class _Check:
    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.faults: list[str] = []
        self.told = self.forgotten = 0
        self.closed: dict[int, tuple[int, bytes]] = {}  # by the order of closing

    def expect(self, holds: bool, fault: str) -> None:
        """Note a fault, unless something holds."""
        if not holds:
            self.faults.append(fault)

    def all_of(self, head: Any, mine: list[Any], held: list[Any]) -> None:
        """Check everything; what cannot be read is a fault, and the rest is checked all the same."""
        for row in mine:
            self._try(lambda row=row: self._evaluation(row, [one for one in held if one.round == row.number]))
        self.expect([row.number for row in mine] == list(range(len(mine))), "evaluations are gone")
        known = {row.number for row in mine if row.state == OPEN}
        self.expect({row.round for row in held} <= known, "places are stored of an evaluation that is not open")
        self._try(lambda: self._counters(head))

    def _try(self, check: Any) -> None:
        try:
            check()
        except StudyDamaged as damaged:
            self.faults.append(str(damaged))
        except (KeyError, TypeError, ValueError, AttributeError, InvalidLoss) as malformed:
            self.faults.append(f"a row cannot be read: {type(malformed).__name__}")

    def _counters(self, head: Any) -> None:
        counters = counters_of(head)
        record = read("the configuration", head.configuration)
        self.expect(record["key_check"] == checksum(bytes(head.key)).hex(), "the key of ids is another")
        self.expect(sorted(self.closed) == list(range(counters.closed)), "closed evaluations are gone, or too many")
        chain = Chain()
        for order in sorted(self.closed):
            chain = chain.add(*self.closed[order])
        coins = read("the public coins", counters.coins)
        self.expect(Chain.of(coins) == chain, "what was released is not what the chain of checksums says")
        self.expect((counters.told, counters.forgotten) == (self.told, self.forgotten), "losses are counted wrongly")
        self.expect(counters.asked - counters.returned >= self.told + self.forgotten, "more was told than assigned")

    def _evaluation(self, row: Any, held: list[Any]) -> None:
        public = read(f"evaluation {row.number}", row.public)
        name, size = f"evaluation {row.number}", public["events"]
        self.expect(public["number"] == row.number and size >= 1, f"{name} is stored in another's place")
        self.expect((row.state == OPEN) == (row.released is None), f"{name} is stored as {row.state}, and is not")
        if row.state == OPEN:
            self._open(name, size, public.get("counted"), [cell_of(*one) for one in held])
            return
        closed = read(name, row.released)
        self.expect(closed["number"] == row.number, f"{name} is stored in another's place")
        self.closed[closed["order"]] = (row.number, bytes(row.released))
        if row.state == DROPPED:
            self.told, self.forgotten = self.told + closed["told"], self.forgotten + closed["forgotten"]
            return
        events, missing = closed["events"], closed["missing"]
        self.expect(events == public.get("counted", size), f"{name} has released a mean of another number of events")
        fits = len(np.unique(missing)) == len(missing) <= events and bool(((missing >= 0) & (missing < size)).all())
        self.expect(fits and type(closed["total"]) is int, f"{name} has released what it cannot have")
        self.told, self.forgotten = self.told + events - len(missing), self.forgotten + len(missing)

    def _open(self, name: str, size: int, counted: int | None, held: list[Cell]) -> None:
        at = 0
        for cell in held:
            self.expect(cell.first == at or (counted is not None and cell.first > at), f"places of {name} are gone")
            at = cell.end
            self._cell(name, cell)
        self.expect(at <= size, f"{name} has more places than it was opened with")

    def _cell(self, name: str, cell: Cell) -> None:
        slots, integers, given_up = all_entries(cell.round, cell.losses)
        inside = bool(((slots >= cell.first) & (slots < cell.end)).all()) and len(np.unique(slots)) == len(slots)
        self.expect(inside, f"{name} was told a loss twice, or in a wrong place")
        marked = np.flatnonzero(cell.closed) + cell.first
        counts = (len(slots) - int(given_up.sum()), int(given_up.sum())) == (cell.told, cell.missing)
        fits = counts and cell.wanted == cell.size and np.array_equal(np.sort(slots), marked)
        self.expect(fits, f"losses of {name} are counted wrongly")
        self.expect(self._valid(integers[~given_up]), f"{name} was told a loss that is none")
        integers[:] = 0  # private values are not left lying about

    def _valid(self, integers: Any) -> bool:
        channel = self.setting.channel
        if channel is not None:
            return not len(integers) or bool(channel.valid(integers))
        return bool(((integers >= 0) & (integers <= self.setting.grid.steps)).all())
