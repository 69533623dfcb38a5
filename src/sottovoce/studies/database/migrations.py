"""The schema's version, and the steps from each version to the next. A step is frozen: it knows two versions."""

from collections.abc import Callable, Sequence

from sqlalchemy import Connection, inspect, select, text

from sottovoce._records import DamagedRecord, checksum, unpack
from sottovoce.errors import StorageError
from sottovoce.studies.database import tables
from sottovoce.studies.database._to_cells import put_losses_into_cells

__all__ = ["MIGRATIONS", "VERSION", "migrate", "one_at_a_time", "version_of"]

Migration = Callable[[Connection], None]
_COUNTERS = ("id", "version", "structure", "generation", "asked", "told", "forgotten", "closed", "erased", "fence")


def _let_studies_lose_patience(connection: Connection) -> None:
    """Version 2: patience and deadline can be changed, so they move into the counters, under its seal.

    A study of version 1 was promised to wait: it has no patience, and the deadline it was made with. Nobody knows how
    many events were asked when its open rounds became full; the count of today gives them the most time.
    """
    number = "INTEGER" if connection.dialect.name == "sqlite" else "BIGINT"
    for statement in (
        f"ALTER TABLE sottovoce_heads ADD COLUMN patience {number}",
        "ALTER TABLE sottovoce_heads ADD COLUMN deadline FLOAT",
        f"ALTER TABLE sottovoce_rounds ADD COLUMN full_after {number}",
        "UPDATE sottovoce_rounds SET full_after = "
        "(SELECT asked FROM sottovoce_heads WHERE sottovoce_heads.id = sottovoce_rounds.study) "
        "WHERE state = 'open' AND full_at IS NOT NULL",
    ):
        connection.execute(text(statement))
    columns = ", ".join((*_COUNTERS, "coins", "closer", "lease", "seal", "configuration"))
    for row in connection.execute(text(f"SELECT {columns} FROM sottovoce_heads")).all():
        counters = "|".join(str(getattr(row, name)) for name in _COUNTERS).encode()
        sealed = counters, bytes(row.coins), repr((row.closer, row.lease)).encode()
        try:
            deadline = unpack(bytes(row.configuration))["deadline"]
        except (DamagedRecord, KeyError):
            continue
        if checksum(*sealed) != bytes(row.seal):
            continue  # what was damaged is not sealed anew: it fails its checksum as before
        seal = checksum(*sealed, repr((None, deadline)).encode())
        connection.execute(
            text("UPDATE sottovoce_heads SET deadline = :deadline, seal = :seal WHERE id = :id"),
            {"deadline": deadline, "seal": seal, "id": row.id},
        )


def _remember_writers(connection: Connection) -> None:
    """Version 3: the counters knows its latest writers; while there are none, its seal is what it was."""
    kind = "BLOB NOT NULL DEFAULT x''" if connection.dialect.name == "sqlite" else "BYTEA NOT NULL DEFAULT ''"
    connection.execute(text(f"ALTER TABLE sottovoce_heads ADD COLUMN writers {kind}"))


def _let_studies_hold_rights(connection: Connection) -> None:
    """Version 4: a study that was charged to a ledger keeps the token with which it goes on; none has one so far."""
    number = "INTEGER" if connection.dialect.name == "sqlite" else "BIGINT"
    connection.execute(
        text(
            f"CREATE TABLE sottovoce_rights (study {number} NOT NULL PRIMARY KEY REFERENCES sottovoce_heads (id), "
            "entry VARCHAR NOT NULL, token VARCHAR, successor VARCHAR)"
        )
    )


def _let_studies_have_segments(connection: Connection) -> None:
    """Version 6: a study may have segments, each with a head of its own; none has any so far."""
    number = "INTEGER" if connection.dialect.name == "sqlite" else "BIGINT"
    connection.execute(
        text(
            f"CREATE TABLE sottovoce_lanes (parent {number} NOT NULL REFERENCES sottovoce_heads (id), "
            f"number {number} NOT NULL, study {number} NOT NULL UNIQUE REFERENCES sottovoce_heads (id), "
            "PRIMARY KEY (parent, number))"
        )
    )


MIGRATIONS: Sequence[Migration] = (
    _let_studies_lose_patience,
    _remember_writers,
    _let_studies_hold_rights,
    put_losses_into_cells,
    _let_studies_have_segments,
)
"""Step i leads from version i + 1 to version i + 2; each is applied once, all of them in one transaction."""

VERSION = 1 + len(MIGRATIONS)


def version_of(connection: Connection) -> int:
    """Return the schema's version; 0 if there is none."""
    if not inspect(connection).has_table(tables.schema.name):
        return 0
    version = connection.execute(select(tables.schema.c.version)).scalar()
    return 0 if version is None else int(version)


def one_at_a_time(connection: Connection) -> None:
    """Let one process at a time create tables and studies; on SQLite every transaction is alone."""
    if connection.dialect.name != "sqlite":
        connection.execute(text("SELECT pg_advisory_xact_lock(7597116)"))


def migrate(connection: Connection, steps: Sequence[Migration] = MIGRATIONS) -> None:
    """Bring the schema up to date, within the transaction of `connection`; refuse one from the future.

    A new storage gets the tables of today at once; steps are for what was stored before.
    """
    found, newest = version_of(connection), 1 + len(steps)
    if found > newest:
        raise StorageError(
            f"the storage has schema version {found}, and this sottovoce knows up to {newest}: "
            "use the version that wrote it, or a newer one; nothing was changed"
        )
    if found == 0:
        tables.metadata.create_all(connection)
        connection.execute(tables.schema.insert().values(version=newest))
    elif found < newest:
        for step in steps[found - 1 :]:
            step(connection)
        connection.execute(tables.schema.update().values(version=newest))
