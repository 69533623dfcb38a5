"""The file of an SQLite database: made for its owner alone, and watched, so that nothing is told to one that is gone.

SQLite works on descriptors. Once a file is unlinked or replaced, commits still succeed, into a file that no other
process can find; so the names are looked at before every transaction, and again before what it has committed is
acknowledged.
"""

import ctypes
import os
import time
from pathlib import Path

from sottovoce import _fork
from sottovoce._disk import ANSWER, INODE, inode_of, look_at_inode, sync_folder
from sottovoce.errors import StorageError

_COMPANIONS = ("-wal", "-shm")


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
        self._companions: dict[bytes, tuple[int, int, int]] = {}
        self._answer = ctypes.create_string_buffer(ANSWER.size)
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
        self._companions = {}
        for end in _COMPANIONS:
            try:
                self._companions[os.fsencode(self._real + end)] = inode_of(self._real + end)
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
            for name, before in self._companions.items():
                same = look_at_inode(name, *INODE, self._answer) == 0 and ANSWER.unpack_from(self._answer) == before
                if not same and inode_of(path := os.fsdecode(name)) != before:
                    raise self._gone(path, committed=committed)
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
