"""The counters of a study, sealed, and changed by compare-and-set."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, bindparam, insert, select, update

from sottovoce._records import checksum
from sottovoce.errors import StudyDamaged
from sottovoce.studies.database.tables import heads
from sottovoce.studies.session._writers import Writers

__all__ = ["AUTO", "Counters", "counters_of", "insert_head", "load_counters", "save_counters"]

_COUNTERS = ("structure", "generation", "asked", "returned", "told", "forgotten", "closed", "erased")
_SEALED = ("version", *_COUNTERS, "coins", "patience", "deadline", "writers")

AUTO = -1  # a patience that follows from the number of events


@dataclass(slots=True)
class Counters:
    """What changes as events are reserved and rounds closed. All of it is public: counts, public coins, patience.

    `asked` counts the events that were reserved, and `returned` those of them that were given back. `told` and
    `forgotten` count losses of closed rounds; those of open ones are in their cells.
    """

    id: int
    version: int = 0
    structure: int = 0
    generation: int = 1
    asked: int = 0
    returned: int = 0
    told: int = 0
    forgotten: int = 0
    closed: int = 0
    erased: int = 0
    coins: bytes = b""
    patience: int | None = None
    deadline: float | None = None
    writers: bytes = b""

    def seal(self) -> bytes:
        """Return a checksum of everything."""
        numbers = "|".join(str(getattr(self, name)) for name in ("id", "version", *_COUNTERS))
        waiting = repr((self.patience, self.deadline))
        return checksum(numbers.encode(), bytes(self.coins), waiting.encode(), bytes(self.writers))

    def is_older_than(self, seen: "Counters") -> bool:
        """Say whether a storage with these has gone back in time, or another way, since others were seen."""
        if self.generation != seen.generation:  # a new life has been begun since: nothing of the old one goes on
            return self.generation < seen.generation
        if self.version <= seen.version:
            return self != seen
        return not Writers(self.writers).follows(Writers(seen.writers))


_columns = [heads.c[name] for name in ("id", *_SEALED, "seal")]
_by_id = select(*_columns).where(heads.c.id == bindparam("study"))
_by_id_locked = _by_id.with_for_update()  # SQLite has the lock already, and leaves the clause out
_save = (
    update(heads)
    .where(heads.c.id == bindparam("study"), heads.c.version == bindparam("expected"))
    .values({name: bindparam(f"new_{name}") for name in (*_SEALED, "seal")})
)


def insert_head(connection: Connection, name: str, configuration: bytes, key: bytes, counters: Counters) -> int:
    """Put something new into the storage, with its counters; return its number."""
    values = {one: getattr(counters, one) for one in Counters.__slots__ if one != "id"}
    inserted = connection.execute(
        insert(heads).values(name=name, configuration=configuration, key=key, seal=b"", **values)
    )
    primary: Any = inserted.inserted_primary_key
    counters.id = int(primary[0])
    connection.execute(heads.update().where(heads.c.id == counters.id).values(seal=counters.seal()))
    return counters.id


def load_counters(connection: Connection, study: int, *, lock: bool = True) -> Counters:
    """Read the counters, holding their lock until the transaction ends."""
    row = connection.execute(_by_id_locked if lock else _by_id, {"study": study}).one_or_none()
    if row is None:
        raise StudyDamaged(f"the study with number {study} is gone from the storage")
    return counters_of(row)


def counters_of(row: Any) -> Counters:
    """Return the counters of a row of `heads` that was read, if they pass their checksum."""
    counters = Counters(row.id, **{name: getattr(row, name) for name in _SEALED})
    if bytes(row.seal) != counters.seal():
        raise StudyDamaged("the counters of the study fail their checksum: restore a backup, with restored=True")
    return counters


def save_counters(connection: Connection, counters: Counters, writer: bytes) -> None:
    """Write the counters, if nobody else has since they were read."""
    expected, counters.version = counters.version, counters.version + 1
    counters.writers = Writers(counters.writers).wrote(writer, counters.version).packed
    values: dict[str, Any] = {f"new_{name}": getattr(counters, name) for name in _SEALED}
    values |= {"study": counters.id, "expected": expected, "new_seal": counters.seal()}
    if connection.execute(_save, values).rowcount != 1:
        raise StudyDamaged("the study was changed by somebody who did not hold its lock; nothing was recorded")
