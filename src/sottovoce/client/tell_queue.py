"""Losses that wait on disk until a service is back.

Tests: tests/client/test_queue.py, tests/client/test_queue_killed.py, tests/client/test_queue_interrupts.py.
"""

import json
import os
import sqlite3
import struct
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from sottovoce._checks import whole
from sottovoce.client._queue_file import QueueFile
from sottovoce.client._wire import Tell
from sottovoce.errors import QueueFull, StorageError

__all__ = ["Destination", "Refusal", "TellQueue"]

_REFUSALS_KEPT = 1000
_REPORTS_KEPT = 100_000
_SEQUENCE = "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'refusals'), 0)"


class Destination(NamedTuple):
    """Where a tell is to go: the address of a service, and the name of a study."""

    service: str
    study: str


class Refusal(NamedTuple):
    """A tell that a service has refused for good, without its loss: of which action, and the kind of refusal."""

    study: str
    id: str
    kind: str


class Waiting(NamedTuple):
    """A tell that waits, and its number in the queue."""

    number: int
    tell: Tell


class TellQueue:
    """A queue of tells in a file, shared by all threads and processes that are given its path.

    Losses lie in the file until they are delivered: it belongs to its owner alone (others cannot open it), and is to be
    guarded like the losses themselves, backups included. What is delivered is erased.

    Parameters
    ----------
    path
        Of the file; made if it is missing. A local disk, not a network share.
    most
        Losses that may wait; one more is refused (`QueueFull`), and was then not recorded.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> queue = TellQueue(pathlib.Path(tempfile.mkdtemp()) / "tells.db")
    >>> queue.waiting, queue.refused
    (0, 0)
    """

    def __init__(self, path: str | os.PathLike[str], most: int = 100_000) -> None:
        self._most = whole("most", most)
        self._file = QueueFile(path)

    @property
    def path(self) -> str:
        """Where the file is."""
        return str(self._file.path)

    @property
    def waiting(self) -> int:
        """How many losses wait, for whatever study."""
        return self._file.transaction(_waiting)

    @property
    def refused(self) -> int:
        """How many losses services have refused for good since the file was made; `refusals` says which."""
        return self._file.transaction(_newest)

    def refusals(self) -> list[Refusal]:
        """Return the newest of what was refused, the oldest first: a thousand at most, without losses."""
        query = "SELECT study, id, kind FROM refusals ORDER BY number"
        rows = self._file.transaction(lambda connection: connection.execute(query).fetchall())
        return [Refusal(*row) for row in rows]

    def __repr__(self) -> str:
        return f"TellQueue({self.path!r})"

    # ------------------------------------------------------------------ for whoever delivers

    def waits_for(self, to: Destination) -> bool:
        """Say whether anything waits for a study.

        Parameters
        ----------
        to
            The study.
        """
        query = "SELECT 1 FROM tells WHERE service = ? AND study = ? LIMIT 1"
        return self._file.transaction(lambda connection: connection.execute(query, to).fetchone()) is not None

    def add(self, to: Destination, tell: Tell) -> None:
        """Have a tell wait; it is on the disk when this returns.

        Parameters
        ----------
        to, tell
            Where it is to go, and what is told.
        """
        row = (*to, tell.kind, tell.late, len(tell), json.dumps(tell.ids), _packed(tell.values))

        def add(connection: sqlite3.Connection) -> int:
            waiting = _waiting(connection)
            if waiting + len(tell) <= self._most:
                connection.execute(
                    "INSERT INTO tells (service, study, kind, late, size, ids, numbers) VALUES (?, ?, ?, ?, ?, ?, ?)",
                    row,
                )
            return waiting

        waiting = self._file.transaction(add)
        if waiting + len(tell) <= self._most:
            return
        raise QueueFull(
            f"{self.path} holds {waiting:,} losses, and may hold {self._most:,}: this call was not recorded. Find out "
            "why the service is away, or allow more with TellQueue(path, most=...)"
        )

    def first(self, to: Destination) -> Waiting | None:
        """Return the tell that has waited longest; None if none does.

        Parameters
        ----------
        to
            Where it is to go.
        """
        query = "SELECT number, kind, late, ids, numbers FROM tells WHERE service = ? AND study = ? ORDER BY number"
        row = self._file.transaction(lambda connection: connection.execute(f"{query} LIMIT 1", to).fetchone())
        if row is None:
            return None
        number, kind, late, ids, numbers = row
        return Waiting(number, Tell(kind, tuple(json.loads(ids)), self._unpacked(numbers), late))

    def done(self, number: int, to: Destination, refused: Sequence[tuple[str, str]] = ()) -> None:
        """Delete a tell that was acknowledged, and note what of it was refused: ids, each with the kind of refusal.

        Parameters
        ----------
        number, to
            Of the tell, and where it went.
        refused
            Ids and kinds.
        """

        def delete(connection: sqlite3.Connection) -> None:
            gone = connection.execute("DELETE FROM tells WHERE number = ?", (number,)).rowcount
            if not gone:  # somebody else has delivered it, too, and has noted what there was to note
                return
            rows = [(*to, one, kind) for one, kind in refused]
            connection.executemany("INSERT INTO refusals (service, study, id, kind) VALUES (?, ?, ?, ?)", rows)
            connection.execute("DELETE FROM refusals WHERE number <= ?", (_newest(connection) - _REFUSALS_KEPT,))

        self._file.transaction(delete)

    def erase(self) -> None:
        """Empty the log of the file, where what was deleted would linger."""
        self._file.erase()

    def reports(self, to: Destination, ids: Sequence[str], fresh: Callable[[int], int]) -> tuple[int, ...]:
        """Return the report of each action: the one on record, or one that is made now, and then on record for good.

        Parameters
        ----------
        to
            The study.
        ids
            Of the actions.
        fresh
            Makes the report of the action at a place among these.
        """
        query = "SELECT report FROM reports WHERE service = ? AND study = ? AND id = ?"
        new = "INSERT INTO reports (service, study, id, report) VALUES (?, ?, ?, ?)"

        def look(connection: sqlite3.Connection) -> tuple[int, ...]:
            found: list[int] = []
            for place, one in enumerate(ids):
                row = connection.execute(query, (*to, one)).fetchone()
                found.append(fresh(place) if row is None else int(row[0]))
                if row is None:
                    connection.execute(new, (*to, one, found[-1]))
            (newest,) = connection.execute("SELECT coalesce(max(number), 0) FROM reports").fetchone()
            connection.execute("DELETE FROM reports WHERE number <= ?", (newest - _REPORTS_KEPT,))
            return tuple(found)

        return self._file.transaction(look)

    def channel(self, to: Destination) -> tuple[bool, Any]:
        """Return whether it is known what a study wants, and then its channel as plain data; None for raw losses.

        Parameters
        ----------
        to
            The study.
        """
        query = "SELECT channel FROM channels WHERE service = ? AND study = ?"
        row = self._file.transaction(lambda connection: connection.execute(query, to).fetchone())
        return (False, None) if row is None else (True, None if row[0] is None else json.loads(row[0]))

    def keep_channel(self, to: Destination, channel: Any) -> None:
        """Note what a study wants, for when the service is away.

        Parameters
        ----------
        to
            The study.
        channel
            Plain data; None if it wants raw losses.
        """
        row = (*to, None if channel is None else json.dumps(channel))
        self._file.transaction(
            lambda connection: connection.execute("INSERT OR REPLACE INTO channels VALUES (?, ?, ?)", row)
        )

    def _unpacked(self, numbers: bytes) -> tuple[float, ...]:
        if len(numbers) % 8:
            raise StorageError(f"{self.path} is damaged: move it away, and connect again")
        return struct.unpack(f"<{len(numbers) // 8}d", numbers)


def _waiting(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT coalesce(sum(size), 0) FROM tells").fetchone()[0])


def _newest(connection: sqlite3.Connection) -> int:
    """Return the number of the newest refusal."""
    return int(connection.execute(_SEQUENCE).fetchone()[0])


def _packed(values: Sequence[float]) -> bytes:
    """Return numbers in eight bytes each: a float as it is, a report, which is below 2^53, exactly."""
    return struct.pack(f"<{len(values)}d", *values)
