"""Foreign things in a storage: a trigger, a rule or a view in place of a table could keep every loss that is told."""

from typing import Any

from sottovoce.errors import StorageError
from sottovoce.studies.database.tables import metadata

__all__ = ["refuse_foreign_postgresql", "refuse_foreign_sqlite"]

_NAMES = tuple(sorted(metadata.tables))
_PLACES = ", ".join(f"'{name}'" for name in _NAMES)

_SQLITE = f"""
SELECT type, name FROM sqlite_master
WHERE (type = 'trigger' AND lower(tbl_name) IN ({_PLACES}))
   OR (lower(name) IN ({_PLACES}) AND (type <> 'table' OR rootpage = 0))
"""  # virtual tables have no page of their own

_POSTGRESQL = f"""
SELECT CASE WHEN c.relkind <> 'r' THEN 'a view or foreign table'
            WHEN EXISTS (SELECT 1 FROM pg_trigger t WHERE t.tgrelid = c.oid AND NOT t.tgisinternal) THEN 'a trigger'
            ELSE 'a rule' END, c.relname
FROM pg_class c
WHERE c.oid IN ({", ".join(f"to_regclass('{name}')" for name in _NAMES)})
  AND (c.relkind <> 'r'
       OR EXISTS (SELECT 1 FROM pg_trigger t WHERE t.tgrelid = c.oid AND NOT t.tgisinternal)
       OR EXISTS (SELECT 1 FROM pg_rewrite r WHERE r.ev_class = c.oid))
"""


def refuse_foreign_sqlite(connection: Any, storage: str) -> None:
    """Refuse a file whose tables of studies are no plain tables, or have triggers."""
    for kind, name in connection.execute(_SQLITE).fetchall():
        raise _refusal(storage, f"a {kind}", name)


def refuse_foreign_postgresql(connection: Any, storage: str) -> None:
    """Refuse a database whose tables of studies are no plain tables, or have triggers or rules."""
    for kind, name in connection.execute(_POSTGRESQL).fetchall():
        raise _refusal(storage, kind, name)


def _refusal(storage: str, kind: str, name: str) -> StorageError:
    return StorageError(
        f"{storage} holds {kind} of somebody else's at {name!r}, which could keep losses: nothing was changed. Find "
        "out who has put it there, remove it, and look for copies of losses; or use another storage"
    )
