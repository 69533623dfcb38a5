"""A connection to SQLite that lets go of all locks when it is closed."""

import sqlite3
from contextlib import suppress
from typing import Any
from weakref import WeakSet


class SQLiteConnection(sqlite3.Connection):
    """A connection whose cursors end with it.

    SQLite keeps the locks of a connection that is closed until the last of its cursors is gone, and the traceback of an
    exception that somebody keeps may hold one: so cursors are closed, and a transaction is rolled back, before it.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._cursors: WeakSet[sqlite3.Cursor] = WeakSet()

    def cursor(self, *arguments: Any, **options: Any) -> Any:
        """Return a cursor, and remember it."""
        made = super().cursor(*arguments, **options)
        self._cursors.add(made)
        return made

    def execute(self, *arguments: Any) -> Any:
        """Execute a statement by a cursor that is remembered, too."""
        return self.cursor().execute(*arguments)

    def close_cursors(self) -> None:
        """Let go of all that is being read."""
        for one in list(self._cursors):
            with suppress(sqlite3.Error):
                one.close()

    def close(self) -> None:
        """Undo what is not committed, let go of all locks, and close it."""
        self.close_cursors()
        with suppress(sqlite3.Error):
            self.rollback()
        super().close()

    def rollback(self) -> None:
        """Undo what is not committed; where it is closed, that has been done."""
        with suppress(sqlite3.ProgrammingError):
            super().rollback()
