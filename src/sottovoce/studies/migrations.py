"""The schema's version, and the steps from each version to the next."""

from collections.abc import Callable, Sequence

from sqlalchemy import Connection, inspect, select

from sottovoce.errors import StorageError
from sottovoce.studies import tables

__all__ = ["MIGRATIONS", "VERSION", "migrate", "version_of"]

Migration = Callable[[Connection], None]


def _create(connection: Connection) -> None:
    tables.metadata.create_all(connection)


MIGRATIONS: Sequence[Migration] = (_create,)
"""Step i leads from version i to version i + 1; each is applied once, all of them in one transaction."""

VERSION = len(MIGRATIONS)


def version_of(connection: Connection) -> int:
    """Return the schema's version; 0 if there is none."""
    if not inspect(connection).has_table(tables.schema.name):
        return 0
    version = connection.execute(select(tables.schema.c.version)).scalar()
    return 0 if version is None else int(version)


def migrate(connection: Connection, steps: Sequence[Migration] = MIGRATIONS) -> None:
    """Bring the schema up to date, within the transaction of `connection`; refuse one from the future."""
    found = version_of(connection)
    if found > len(steps):
        raise StorageError(
            f"the storage has schema version {found}, and this sottovoce knows up to {len(steps)}: "
            "use the version that wrote it, or a newer one; nothing was changed"
        )
    for step in steps[found:]:
        step(connection)
    if found == 0:
        connection.execute(tables.schema.insert().values(version=len(steps)))
    elif found < len(steps):
        connection.execute(tables.schema.update().values(version=len(steps)))
