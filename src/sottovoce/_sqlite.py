"""A connection to SQLite that lets go of all locks when it is closed, and passes on what interrupts its functions."""

import sqlite3
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from weakref import WeakSet

__all__ = ["SQLiteConnection"]

_RAISED = "user-defined function raised exception"


class SQLiteConnection(sqlite3.Connection):
    """A connection whose cursors end with it.

    SQLite keeps the locks of a connection that is closed until the last of its cursors is gone, and the traceback of an
    exception that somebody keeps may hold one: so cursors are closed, and a transaction is rolled back, before it.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._cursors: WeakSet[sqlite3.Cursor] = WeakSet()
        self._interrupts: list[BaseException] = []  # of functions, since the last one was passed on

    def cursor(self, *arguments: Any, **options: Any) -> Any:
        """Return a cursor, and remember it."""
        made = super().cursor(*arguments, **options)
        self._cursors.add(made)
        return made

    def execute(self, *arguments: Any) -> Any:
        """Execute a statement by a cursor that is remembered, too."""
        return self.cursor().execute(*arguments)

    def executemany(self, *arguments: Any) -> Any:
        """Execute a statement for many values, likewise."""
        return self.cursor().executemany(*arguments)

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

    def add_function(self, name: str, count: int, function: Callable[..., Any]) -> None:
        """Let statements call a function of so many arguments; for values that it cannot take, it gives NULL."""
        interrupts = self._interrupts  # not the connection itself: nothing would ever collect it

        def call(*values: Any) -> Any:
            try:
                return function(*values)
            except (IndexError, TypeError):  # damaged values: whoever looks closer says so
                return None
            except BaseException as interrupt:
                interrupts.append(interrupt)
                raise

        self.create_function(name, count, call, deterministic=True)

    def interrupt_behind(self, problem: BaseException) -> BaseException | None:
        """Return what a function was interrupted by, if that is what an error of SQLite stands for.

        SQLite drops what a function raises. One that was interrupted before it began could not even note by what.
        """
        if not isinstance(problem, sqlite3.OperationalError) or str(problem) != _RAISED:
            return None
        found = self._interrupts.pop() if self._interrupts else KeyboardInterrupt()
        self._interrupts.clear()
        return found
