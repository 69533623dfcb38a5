"""The file of an SQLite database: made for its owner alone, and watched, so that nothing is told to one that is gone.

SQLite works on descriptors. Once a file is unlinked or replaced, commits still succeed, into a file that no other
process can find; so the names are looked at before every transaction, and again before what it has committed is
acknowledged. So is the log, which somebody may have cut short in its place.

Taking turns at an SQLite file: a lock that whoever waits longest is likely to get.

SQLite's own waiting sleeps and tries again, so that among many processes some wait for seconds while others work. A
lock of the operating system wakes up whoever waits. It decides nothing but the order: SQLite's locks still guard the
file, so that a process without this one (another system, another program) does no harm.
"""

import _thread
import os
import struct
import time
from contextlib import suppress
from io import FileIO
from pathlib import Path

from sottovoce import _fork
from sottovoce._disk import sync_folder
from sottovoce.errors import StorageError

try:
    import fcntl
except ImportError:  # where there is none, SQLite's own waiting has to do
    fcntl = None  # type: ignore[assignment]


_LOG = "-wal"
_COMPANIONS = (_LOG, "-shm")
_HEAD, _FRAME_HEAD = 32, 24
_MAGIC = {0x377F0682: "<6I", 0x377F0683: ">6I"}  # and how its checksum reads words
_LOOKS, _TRIES, _BETWEEN = 3, 1000, 0.001  # looks that must agree, of so many, and seconds between them


class FileReplaced(StorageError):
    """The file of an open study is not where it was."""


class DatabaseFile:
    """A database file and, while there is a connection, its log and its index of the log.

    Parameters
    ----------
    path
        Of the file; made absolute, so that a change of the working folder changes nothing.
    create
        Whether a missing file may be created; it is readable by its owner alone.
    """

    def __init__(self, path: Path, *, create: bool) -> None:
        self.path = Path(os.path.abspath(path))
        _prepare(self.path, create)
        self._name = str(self.path)
        self._real = os.path.realpath(self.path)  # SQLite puts the log beside the file that a link leads to
        self._identity: _fork.Identity | None = None
        self._companions: dict[str, _fork.Identity] = {}
        self._log = Log(self._real + _LOG)
        self._seen = time.time()
        self._written: tuple[int, int] | None = None
        self.changed = False  # by somebody else, since the last look: pages that were read may be out of date
        self.replaced: str | None = None

    @property
    def identity(self) -> _fork.Identity | None:
        """Device and inode; None before the first connection."""
        return self._identity

    def before_connecting(self) -> None:
        """Refuse a file that this process must not open."""
        if self.replaced is not None:
            raise FileReplaced(self.replaced)
        _fork.refuse_inherited(self.path, *(self._real + end for end in _COMPANIONS))
        try:
            found = os.stat(self.path)
        except OSError:
            if self._identity is None:
                raise StorageError(f"there is no file {self.path}: check the path, or create the study first") from None
            raise self._gone(self.path, committed=False) from None
        if found.st_nlink > 1:
            raise StorageError(
                f"{self.path} has {found.st_nlink} names (hard links), and SQLite would keep a log of its own under "
                "each: what is told under one is lost under the other. Make it a file of its own: copy it, and put the "
                "copy in its place while no process has it open"
            )
        if self._identity is None:
            self._identity = _fork.identity(found)
        elif self._identity != _fork.identity(found):
            raise self._gone(self.path, committed=False)

    def connected(self) -> None:
        """Note which files a new connection works on."""
        self._companions, self._log = {}, Log(self._log.path)
        for end in _COMPANIONS:
            try:
                self._companions[self._real + end] = _fork.identity(os.stat(self._real + end))
            except OSError:
                raise self._gone(self._real + end, committed=False) from None
        self.check(committed=False)

    def check(self, *, committed: bool) -> None:
        """Raise `FileReplaced` unless every file is where it was when the connection was made.

        Parameters
        ----------
        committed
            Whether a transaction has just been committed, and is not acknowledged yet.
        """
        try:
            found = os.stat(self._name)
            if (found.st_dev, found.st_ino) != self._identity:
                raise self._gone(self._name, committed=committed)
            for path, before in self._companions.items():
                beside = os.stat(path)
                if (beside.st_dev, beside.st_ino) != before:
                    raise self._gone(path, committed=committed)
                if path == self._log.path and beside.st_size != self._log.size and self._log.is_cut():
                    raise self._cut(committed=committed)
        except FileNotFoundError as problem:
            raise self._gone(problem.filename, committed=committed) from None
        self._seen = time.time()
        written = found.st_mtime_ns, found.st_size
        self.changed = not committed and written != self._written
        self._written = written

    def _gone(self, path: str | Path, *, committed: bool) -> FileReplaced:
        this_call = (
            "this call may be recorded in the old file only" if committed else "nothing of this call was recorded"
        )
        self.replaced = (
            f"{path} was removed or replaced while the study was open (it was last seen in its place at {self._when}); "
            f"{this_call}, and what was told since then may be lost. If the file was moved, put it back with its -wal "
            "and -shm and open the study again; if a backup was put in its place, end all processes that have the "
            "study open, and open it with restored=True"
        )
        return FileReplaced(self.replaced)

    def _cut(self, *, committed: bool) -> FileReplaced:
        this_call = "this call is lost" if committed else "nothing of this call was recorded"
        self.replaced = (
            f"{self._log.path} was cut short while the study was open (it was last seen whole at {self._when}); "
            f"{this_call}, and so may be what was told before. It is as if a backup had been put in the place of the "
            "file: end all processes that have the study open, and open it with restored=True"
        )
        return FileReplaced(self.replaced)

    @property
    def _when(self) -> str:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(self._seen))


def _prepare(path: Path, create: bool) -> None:
    """Create a missing file, the one that a link leads to if it is a link; see that its name is on the disk, too."""
    real = Path(os.path.realpath(path))
    if not real.parent.is_dir():
        raise StorageError(f"the folder {real.parent} does not exist: create it first")
    if real.is_dir():
        raise StorageError(f"{path} is a folder, not a database file")
    if not create:
        if not path.exists():
            raise StorageError(f"there is no file {path}: check the path, or create the study first")
        return
    try:
        descriptor = os.open(real, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        if not path.exists():  # a link that leads in a circle
            raise StorageError(f"{path} is a link that leads nowhere: remove it") from None
        return
    except OSError as problem:
        raise StorageError(f"{path} cannot be created: {problem.strerror}") from None
    os.close(descriptor)
    sync_folder(real.parent)


class Log:
    """What was last seen of a log (`-wal`), watched for cuts that SQLite itself does not notice.

    A log that an outsider has cut short loses commits: those in it, and those that are written after the hole. What
    SQLite itself does to a log looks different. Written anew from its start, it has another header (with other salts);
    emptied, it has none; otherwise it grows at its end, and every frame carries the salts of the header. No lock of
    SQLite's is on this file, so that it may be opened and closed beside it. The first look finds nothing wrong with it.
    (The format: https://sqlite.org/walformat.html.)

    Parameters
    ----------
    path
        Of the log.

    Attributes
    ----------
    size
        As it was at the last look: as long as nothing is written, that is all there is to look at.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._head = b""
        self.size: int | None = None
        self._whole = 0  # frames that are known to be of this header

    def is_cut(self) -> bool:
        """Look at the log; return whether somebody has cut it short since the last look.

        Others write to it, and empty it, meanwhile: so looks must agree between which nothing was written. Size and
        header are read one after the other. They are believed, and remembered, only if they are the same when they are
        read again: else they may be those of two logs.
        """
        agreed, last = 0, None
        with open(self.path, "rb", buffering=0) as log:
            for _ in range(_TRIES):
                seen = _seen(log)
                if _seen(log) != seen:
                    agreed = 0
                    continue
                if not self._looks_cut(log, *seen):
                    return False
                agreed = agreed + 1 if seen == last else 1
                last = seen
                if agreed == _LOOKS:
                    return True
                time.sleep(_BETWEEN)
        return False  # it is written to all the time: the next look may tell

    def _looks_cut(self, log: FileIO, size: int, header: bytes) -> bool:
        before = self.size
        if header == self._head and header:
            if before is not None and (size < before or not self._grew_at_its_end(log, size)):
                return True
            self.size = size
            return False
        is_head = _is_head(header)
        if not is_head and before is not None and size and (self._head or size > before):
            return True  # something was written, and not after a header
        self._head, self.size, self._whole = header if is_head else b"", size, 0
        return False

    def _grew_at_its_end(self, log: FileIO, size: int) -> bool:
        """Whether all frames are of this header: a hole is not."""
        salts, frame = self._head[16:24], _FRAME_HEAD + int.from_bytes(self._head[8:12], "big")
        count = (size - _HEAD) // frame
        for number in range(self._whole, count):
            log.seek(_HEAD + number * frame + 8)
            if log.read(len(salts)) != salts:
                return False
        self._whole = max(self._whole, count)
        return True


def _seen(log: FileIO) -> tuple[int, bytes]:
    size = log.seek(0, os.SEEK_END)
    log.seek(0)
    return size, log.read(_HEAD)


def _is_head(header: bytes) -> bool:
    """Whether these bytes are the header of a log: its checksum is that of its first 24."""
    if len(header) < _HEAD:
        return False
    (magic,) = struct.unpack_from(">I", header)
    if magic not in _MAGIC:
        return False
    first = second = 0
    words = struct.unpack_from(_MAGIC[magic], header)
    for one, other in zip(words[::2], words[1::2], strict=True):
        first = first + one + second & 0xFFFFFFFF
        second = second + other + first & 0xFFFFFFFF
    return struct.pack(">2I", first, second) == header[24:]


_A_WHILE = 0.2  # seconds: a signal that comes just before a wait begins is met when it ends


class Turns:
    """The turns of one connection, by a file beside the database.

    Parameters
    ----------
    path
        Of the file; it is empty, and may be removed while no process has the database open.
    seconds
        How long to wait.
    """

    def __init__(self, path: str, seconds: float) -> None:
        self._path, self._seconds = path, seconds
        self._descriptor: int | None = None
        self._wait: _Wait | None = None  # the last one: held until `release`

    def acquire(self) -> None:
        """Wait for the lock, and hold it until `release`, which is called even if this fails; by one thread at a time.

        Whoever waits cannot be ended by the system, and so waits in a thread of its own.
        """
        if self._wait is not None:
            self.release()  # it was cut short
        if fcntl is None:
            return
        if self._descriptor is None:
            with suppress(OSError):  # a folder that cannot be written: then in no order
                self._descriptor = _opened(self._path)
        if self._descriptor is None:
            return
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            self._wait = wait = _Wait(self._path)
        except OSError:  # a file system without such locks
            self.close()
            return
        _thread.start_new_thread(wait.run, ())
        end = time.monotonic() + self._seconds
        while not wait.over.acquire(timeout=min(_A_WHILE, self._seconds)):
            if time.monotonic() >= end:
                raise StorageError(
                    f"{self._path}: another process has held the database for too long; nothing was changed. Try again"
                )

    def release(self) -> None:
        """Let go of the lock, held or not."""
        if self._wait is not None:
            self._wait.give_up()
            self._wait = None
        if self._descriptor is not None:
            with suppress(OSError):
                fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def close(self) -> None:
        """Close the file. In a forked child, too: a copy of the descriptor would hold its parent's lock."""
        held = [] if self._wait is None else self._wait.held
        for one in (self._descriptor, *held):
            if one is not None:
                with suppress(OSError):
                    os.close(one)
        self._descriptor = self._wait = None


class _Wait:
    """A wait for the lock: by a descriptor of its own, which is closed by whoever finds it once nobody wants it.

    An event would be left locked, should an interrupt come while somebody waits for it; a plain lock is not.
    """

    def __init__(self, path: str) -> None:
        self._path, self._unwanted = path, False
        self.held: list[int] = []
        self.over = _thread.allocate_lock()
        self.over.acquire()

    def run(self) -> None:
        """Wait; let go at once, if that was given up meanwhile."""
        with suppress(OSError):  # then in no order
            descriptor = _opened(self._path)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            self.held.append(descriptor)
        if self._unwanted:
            self.give_up()
        self.over.release()

    def give_up(self) -> None:
        """Let go of the lock, or have the thread do so when it gets it."""
        self._unwanted = True
        with suppress(IndexError, OSError):
            fcntl.flock(self.held[0], fcntl.LOCK_UN)
            os.close(self.held.pop())


def _opened(path: str) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
