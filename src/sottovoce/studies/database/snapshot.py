"""Everything that is stored of a study, read at one moment: for looking at it, not for changing it."""

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, Table, select

from sottovoce._records import DamagedRecord, unpack
from sottovoce.errors import StudyNotFound
from sottovoce.exploration import Record
from sottovoce.studies.database.kinds import STUDY, refuse_other_kind
from sottovoce.studies.database.migrations import VERSION, migrate, one_at_a_time, version_of
from sottovoce.studies.database.tables import blocks, cells, epochs, heads, lanes, rights, rounds

__all__ = ["Snapshot", "take_snapshot", "tried"]


@dataclass(frozen=True)
class Snapshot:
    """The rows of a study, as they are stored. `cells` holds losses of open rounds: it goes nowhere but into checks.

    `charged_as` is the entry of a ledger that the study goes on under, if it was charged to one; never its token.
    """

    study: Any
    epochs: list[Any]
    rounds: list[Any]
    blocks: list[Any]
    cells: list[Any]
    charged_as: str | None = None
    lanes: tuple["Snapshot", ...] = ()  # of its segments, in the order in which they were first asked for
    numbers: tuple[int, ...] = ()  # of these

    @property
    def all(self) -> tuple["Snapshot", ...]:
        """Itself, and its segments."""
        return (self, *self.lanes)

    def __repr__(self) -> str:
        return f"Snapshot(<{len(self.rounds)} rounds>)"


def take_snapshot(
    connection: Connection, name: str, *, losses: bool = True, numbers_and_states: bool = False
) -> Snapshot:
    """Read a study; within a transaction, so that nothing changes meanwhile.

    With `numbers_and_states`, of rounds nothing but these is read, and of actions nothing: a study may have millions.
    """
    if not 0 < version_of(connection) < VERSION:
        return _read(connection, name, losses, numbers_and_states)
    with connection.begin_nested() as attempt:  # an older storage is read as if it were led up, and left as it is
        one_at_a_time(connection)
        migrate(connection)
        snapshot = _read(connection, name, losses, numbers_and_states)
        attempt.rollback()
    return snapshot


def _read(connection: Connection, name: str, losses: bool, brief: bool) -> Snapshot:
    study = None
    if version_of(connection):
        locked = select(heads).where(heads.c.name == name).with_for_update()  # SQLite has the lock already
        study = connection.execute(locked).one_or_none()
    if study is None:
        raise StudyNotFound(f"name={name!r}: no such study here")
    with suppress(DamagedRecord):  # what is damaged is for checks to find
        refuse_other_kind(unpack(bytes(study.configuration)), STUDY, name)
    of_lanes = select(heads, lanes.c.number).join(lanes, lanes.c.study == heads.c.id).where(lanes.c.parent == study.id)
    segments = connection.execute(of_lanes.order_by(lanes.c.number)).all()
    parts = tuple(_rows_of(connection, one, losses, brief) for one in segments)
    numbers = tuple(int(one.number) for one in segments)
    return replace(_rows_of(connection, study, losses, brief), lanes=parts, numbers=numbers)


def _rows_of(connection: Connection, study: Any, losses: bool, brief: bool) -> Snapshot:
    def rows(table: Table, *order: Any, columns: tuple[Any, ...] = ()) -> list[Any]:
        wanted = select(*columns) if columns else select(table)
        return list(connection.execute(wanted.where(table.c.study == study.id).order_by(*order)))

    return Snapshot(
        study,
        rows(epochs, epochs.c.number),
        rows(rounds, rounds.c.number, columns=(rounds.c.number, rounds.c.state) if brief else ()),
        [] if brief else rows(blocks, blocks.c.first),
        rows(cells, cells.c.round, cells.c.first) if losses else [],
        connection.execute(select(rights.c.entry).where(rights.c.study == study.id)).scalar_one_or_none(),
    )


def tried(what: str, data: Any, faults: list[str]) -> Record | None:
    """Return a stored record; None, and a fault more, if it is damaged."""
    try:
        return unpack(bytes(data))
    except (DamagedRecord, TypeError) as problem:
        faults.append(f"{what}: {'nothing is stored' if data is None else problem}")
        return None
