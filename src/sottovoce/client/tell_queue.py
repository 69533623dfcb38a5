"""Losses that wait on disk until a service is back.

They lie in an SQLite file as they were told: it is for its owner alone, and to be guarded like the people's own data.
What was accepted survives a loss of power, and what was delivered leaves no trace (see `SqliteFile`).

SQLite's locks do not survive a fork: files are closed before one, and opened again when they are needed, so that parent
and child may both go on.

Tests: tests/client/test_queue.py, tests/client/test_queue_killed.py, tests/client/test_queue_interrupts.py.
"""

import json
import os
import threading
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote

from sottovoce._checks import whole
from sottovoce._disk import sync_folder
from sottovoce.client._wire import Tell
from sottovoce.errors import QueueFull, StorageError, StudyDamaged
from sottovoce.rounds.stores.sql._files import FileReplaced
from sottovoce.rounds.stores.sql.sqlite import SqliteFile

Found = TypeVar("Found")
Run = Callable[..., list[tuple[Any, ...]]]

_REFUSALS_KEPT = 1000
_OURS, _VERSION = 0x73767471, 2  # application_id: "svtq"
_TABLES = (
    "CREATE TABLE tells (number INTEGER PRIMARY KEY AUTOINCREMENT, service TEXT NOT NULL, study TEXT NOT NULL, "
    "size INTEGER NOT NULL, body BLOB NOT NULL)",  # as it is sent: as long, whatever the losses are
    "CREATE INDEX tells_in_order ON tells (service, study, number)",
    "CREATE TABLE channels (service TEXT NOT NULL, study TEXT NOT NULL, channel TEXT, PRIMARY KEY (service, study))",
    "CREATE TABLE refusals (number INTEGER PRIMARY KEY AUTOINCREMENT, service TEXT NOT NULL, study TEXT NOT NULL, "
    "id TEXT NOT NULL, kind TEXT NOT NULL)",
    f"PRAGMA application_id = {_OURS}",
    f"PRAGMA user_version = {_VERSION}",
)
_WAITING = "SELECT coalesce(sum(size), 0) FROM tells"

_at_work = threading.RLock()  # of all queues of this process: no file of theirs is opened or used without it
_queues: "weakref.WeakSet[TellQueue]" = weakref.WeakSet()


class Destination(NamedTuple):
    """Where a tell is to go: the address of a service, and the name of a study."""

    service: str
    study: str


class Refusal(NamedTuple):
    """A tell that a service has refused for good, without its loss: of which action, and the kind of refusal."""

    study: str
    id: str
    kind: str


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
    >>> queue.waiting, queue.refusals()
    (0, [])
    """

    def __init__(self, path: str | os.PathLike[str], most: int = 100_000) -> None:
        self._most = whole("most", most)
        self._path = Path(os.path.abspath(os.fspath(path)))
        _prepare(self._path)
        self._held: list[SqliteFile] = []  # one at most
        with _at_work:
            _queues.add(self)
        weakref.finalize(self, _let_go, self._held)
        self._change(lambda run: None)

    @property
    def path(self) -> str:
        """Where the file is."""
        return str(self._path)

    @property
    def waiting(self) -> int:
        """How many losses wait, for whatever study."""
        return int(self._rows(_WAITING)[0][0])

    def refusals(self) -> list[Refusal]:
        """Return the newest of what was refused, the oldest first: a thousand at most, without losses."""
        return [Refusal(*row) for row in self._rows("SELECT study, id, kind FROM refusals ORDER BY number")]

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
        return bool(self._rows("SELECT 1 FROM tells WHERE service = ? AND study = ? LIMIT 1", *to))

    def add(self, to: Destination, tell: Tell) -> None:
        """Have a tell wait; it is on the disk when this returns.

        Parameters
        ----------
        to, tell
            Where it is to go, and what is told.
        """
        row, new = (*to, len(tell), tell.body()), "INSERT INTO tells (service, study, size, body) VALUES (?, ?, ?, ?)"

        def add(run: Run) -> int:
            ((waiting,),) = run(_WAITING)
            if waiting + len(tell) <= self._most:
                run(new, *row)
            return int(waiting)

        waiting = self._change(add)
        if waiting + len(tell) > self._most:
            raise QueueFull(
                f"{self.path} holds {waiting:,} losses, and may hold {self._most:,}: this call was not recorded. Find "
                "out why the service is away, or allow more with TellQueue(path, most=...)"
            )

    def first(self, to: Destination) -> tuple[int, Tell] | None:
        """Return the tell that has waited longest, with its number in the queue; None if none does.

        Parameters
        ----------
        to
            Where it is to go.
        """
        query = "SELECT number, body FROM tells WHERE service = ? AND study = ? ORDER BY number LIMIT 1"
        for number, body in self._rows(query, *to):
            with suppress(ValueError, LookupError, TypeError, AttributeError):
                return int(number), Tell.read(body)
            raise StorageError(f"{self.path} is damaged: move it away, and connect again")
        return None

    def done(self, number: int, to: Destination, refused: Sequence[tuple[str, str]] = ()) -> None:
        """Delete a tell that was acknowledged, and note what of it was refused: ids, each with the kind of refusal.

        Parameters
        ----------
        number, to
            Of the tell, and where it went.
        refused
            Ids and kinds.
        """

        def delete(run: Run) -> None:
            if not run("DELETE FROM tells WHERE number = ? RETURNING 1", number):
                return  # somebody else has delivered it, too, and has noted what there was to note
            for one in refused:
                run("INSERT INTO refusals (service, study, id, kind) VALUES (?, ?, ?, ?)", *to, *one)
            run("DELETE FROM refusals WHERE number <= (SELECT max(number) FROM refusals) - ?", _REFUSALS_KEPT)

        self._change(delete)

    def erase(self) -> None:
        """Empty the log of the file, where what was deleted would linger; while others read, they do so later."""
        with suppress(StorageError):
            self._use(lambda file: file.erase())

    def channel(self, to: Destination) -> tuple[bool, Any]:
        """Return whether it is known what a study wants, and then its channel as plain data; None for raw losses.

        Parameters
        ----------
        to
            The study.
        """
        rows = self._rows("SELECT channel FROM channels WHERE service = ? AND study = ?", *to)
        return bool(rows), None if not rows or rows[0][0] is None else json.loads(rows[0][0])

    def keep_channel(self, to: Destination, channel: Any) -> None:
        """Note what a study wants, for when the service is away.

        Parameters
        ----------
        to
            The study.
        channel
            Plain data; None if it wants raw losses.
        """
        plain = None if channel is None else json.dumps(channel)
        self._change(lambda run: run("INSERT OR REPLACE INTO channels VALUES (?, ?, ?)", *to, plain))

    # ------------------------------------------------------------------ the file

    def _rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        return self._use(lambda file: file.run(query, *values))

    def _change(self, work: Callable[[Run], Found]) -> Found:
        """Call a function within a transaction; what it did is durable when this returns, or undone by any error."""
        return self._use(lambda file: file.transaction(lambda: work(file.run)))

    def _use(self, work: Callable[[SqliteFile], Found]) -> Found:
        words = "it is damaged, or no queue: what it held is lost. Move it away, and connect again"
        try:
            with _at_work: return work(self._file())  # noqa: E701  # fmt: skip
        except StudyDamaged:
            pass
        except FileReplaced:
            self._held.clear()
            words = "it was removed or replaced: whether this call is recorded is not known. Repeat it"
        raise StorageError(f"{self.path}: {words}")

    def _file(self) -> SqliteFile:
        if self._held:
            return self._held[0]
        file = SqliteFile(f"sqlite:///{quote(self.path)}", create=False)
        try:
            file.check()
            file.transaction(lambda: _set_up(file.run, self.path))
        except BaseException:
            file.close()
            raise
        self._held.append(file)
        return file


def _set_up(run: Run, path: str) -> None:
    ((ours,),), ((version,),) = run("PRAGMA application_id"), run("PRAGMA user_version")
    if (ours, version) == (_OURS, _VERSION):
        return
    if ours == _OURS:
        raise StorageError(f"{path} was made by another version of sottovoce (format {version}): deliver it with that")
    if ours or version or run("SELECT 1 FROM sqlite_master"):
        raise StorageError(f"{path} is a database of something else: choose another name for the queue")
    for statement in _TABLES:
        run(statement)


def _prepare(path: Path) -> None:
    """Create a missing file for its owner alone; refuse one that others could read."""
    if not path.parent.is_dir():
        raise StorageError(f"the folder {path.parent} does not exist: create it first")
    words = ""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    except OSError as problem:
        words = problem.strerror or type(problem).__name__
    if words:
        raise StorageError(f"{path} cannot be opened as a queue: {words}")
    try:
        found = os.fstat(descriptor)
    finally:
        os.close(descriptor)
    if os.name != "nt" and found.st_mode & 0o077:
        raise StorageError(f"{path} can be opened by others, and losses would lie in it: chmod 600, or another name")
    sync_folder(path.parent)


def _let_go(held: list[SqliteFile]) -> None:
    while held:
        held[-1].close()
        held.pop()  # only now: whoever is interrupted before can do it again


def _let_go_of_all() -> None:
    for one in list(_queues):
        _let_go(one._held)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_let_go_of_all)  # the last one that is registered comes first
    os.register_at_fork(before=_at_work.acquire, after_in_parent=_at_work.release, after_in_child=_at_work.release)
