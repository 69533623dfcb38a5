"""Group commit: calls that wait at the same time share one transaction."""

import threading
from collections.abc import Callable
from typing import Any

from sottovoce.errors import StorageError

__all__ = ["Committer", "Operation"]


class Operation:
    """One call: what to do within a transaction, and what came of it.

    Parameters
    ----------
    do
        What to do, for calls that need the study's lock.
    telling
        What to tell, for those that need no more than their cells.
    """

    __slots__ = ("do", "done", "error", "telling", "value")

    def __init__(self, do: Callable[[Any], Any] | None = None, telling: Any = None) -> None:
        self.do, self.telling = do, telling
        self.done = False
        self.error: BaseException | None = StorageError(
            "the call was interrupted by another thread's; whether it was recorded is not known. "
            "Repeat it with repeat='ignore'"
        )
        self.value: Any = None

    def succeed(self, value: Any) -> None:
        """Note what the call returns."""
        self.value, self.error = value, None

    def outcome(self) -> Any:
        """Return what the call returns, or raise what it raises."""
        if self.error is not None:
            raise self.error
        return self.value


class Committer:
    """Lets one thread at a time carry out all that is waiting.

    A thread puts its operation in the queue, then waits for its turn. When that comes, either somebody has carried it
    out already, or it carries out everything that has queued up meanwhile.

    Parameters
    ----------
    carry_out
        Takes a list of operations, commits those that succeed, and gives each its value or error.

    Examples
    --------
    >>> def carry_out(operations):
    ...     for operation in operations:
    ...         operation.succeed(operation.do(None))
    >>> Committer(carry_out).submit(Operation(lambda transaction: 42))
    42
    """

    def __init__(self, carry_out: Callable[[list[Operation]], None]) -> None:
        self._carry_out = carry_out
        self._waiting: list[Operation] = []
        self._queue = threading.Lock()
        self.turn = threading.RLock()

    def submit(self, operation: Operation) -> Any:
        """Carry out a call, with whatever else is waiting; return its value once it is committed."""
        try:
            with self._queue:
                self._waiting.append(operation)
            with self.turn:
                if not operation.done:
                    self._serve()
        except BaseException:  # interrupted while it waited: nobody shall do it later
            with self._queue:
                if operation in self._waiting:
                    self._waiting.remove(operation)
            raise
        return operation.outcome()

    def submit_all(self, operations: list[Operation]) -> list[Any]:
        """Carry out several calls of one thread, with whatever else is waiting; return the value or error of each."""
        try:
            with self._queue:
                self._waiting += operations
            with self.turn:
                if not all(one.done for one in operations):
                    self._serve()
        except BaseException:
            with self._queue:
                self._waiting = [one for one in self._waiting if one not in operations]
            raise
        return [one.value if one.error is None else one.error for one in operations]

    def submit_alone(self, operation: Operation) -> Any:
        """Carry out a call in a transaction of its own: no other call shall see what is not committed yet."""
        with self.turn:
            self._carry_out([operation])
        return operation.outcome()

    def _serve(self) -> None:
        with self._queue:
            together, self._waiting = self._waiting, []
        try:
            self._carry_out(together)
        finally:
            for one in together:
                one.done = True
