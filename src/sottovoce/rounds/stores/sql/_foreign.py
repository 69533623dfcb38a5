"""Foreign things in a storage: a trigger, a rule or a view in place of a table could keep every loss that is told."""

from collections.abc import Sequence

from sottovoce.errors import StorageError

__all__ = ["FOREIGN_IN_POSTGRESQL", "FOREIGN_IN_SQLITE", "refuse_foreign"]

FOREIGN_IN_SQLITE = r"""
SELECT 'a ' || type, name FROM sqlite_master
WHERE (type = 'trigger' AND tbl_name LIKE 'sottovoce\_%' ESCAPE '\')
   OR (name LIKE 'sottovoce\_%' ESCAPE '\' AND type <> 'index' AND (type <> 'table' OR rootpage = 0))
"""  # virtual tables have no page of their own

FOREIGN_IN_POSTGRESQL = r"""
SELECT CASE WHEN c.relkind <> 'r' THEN 'a view or foreign table'
            WHEN EXISTS (SELECT 1 FROM pg_trigger t WHERE t.tgrelid = c.oid AND NOT t.tgisinternal) THEN 'a trigger'
            ELSE 'a rule' END, c.relname::text
FROM pg_class c
WHERE c.relname LIKE 'sottovoce\_%' AND c.relkind NOT IN ('i', 'S') AND pg_table_is_visible(c.oid)
  AND (c.relkind <> 'r'
       OR EXISTS (SELECT 1 FROM pg_trigger t WHERE t.tgrelid = c.oid AND NOT t.tgisinternal)
       OR EXISTS (SELECT 1 FROM pg_rewrite r WHERE r.ev_class = c.oid))
"""


def refuse_foreign(found: Sequence[tuple[str, str]], storage: str) -> None:
    """Refuse a storage in which tables of this library are no plain tables, or have triggers or rules.

    Parameters
    ----------
    found
        What one of the queries above has found: of what kind it is, and its name.
    storage
        Its name.
    """
    for kind, name in found:
        raise StorageError(
            f"{storage} holds {kind} of somebody else's at {name!r}, which could keep losses: nothing was changed. "
            "Find out who has put it there, remove it, and look for copies of losses; or use another storage"
        )
