"""Notice a fork without asking the operating system on every call; and know which files a child has inherited.

A forked child shares its parent's descriptors, and POSIX gives it none of its parent's locks. SQLite, whose memory was
copied, believes that it holds them; and when any descriptor of a file is closed, all locks of that process on the file
are gone. So a child must not open a database that was open when it was forked.
"""

import ctypes
import os
import stat
import weakref
from typing import Any, Protocol

from sottovoce.errors import ForkRefused

current = 0
"""A number that changes in every forked child; read it as `_fork.current`, never import it by name."""

Identity = tuple[int, int]
"""Device and inode: the same for every name of a file."""

_pid = os.getpid()
_descriptors: dict[int, Identity] = {}  # plain files that were open at the fork
_files: set[Identity] = set()  # of these, the ones that this library never lets go of
_told: "weakref.WeakSet[InChild]" = weakref.WeakSet()


class InChild(Protocol):
    """What has something to do in every forked child."""

    def _in_child(self) -> None: ...


def fork_count() -> int:
    """Return the current number; a fork that Python has not seen, since C code has made it, is noticed here."""
    if os.getpid() != _pid:
        _in_child()
    return current


def tell(one: InChild) -> None:
    """Have a method of something called in every forked child, before anything else of this library."""
    _told.add(one)


def identity(found: os.stat_result) -> Identity:
    """Return the device and inode of a file."""
    return found.st_dev, found.st_ino


def inherits(*paths: str | os.PathLike[str]) -> bool:
    """Say whether this process still has a descriptor of any of these files that was open when it was forked."""
    fork_count()
    wanted = {identity(found) for path in paths if (found := _stat(path)) is not None}
    if wanted & _files:
        return True
    return any(one in wanted and _still(number, one) for number, one in _descriptors.items())


def refuse_inherited(*paths: str | os.PathLike[str]) -> None:
    """Refuse a database, given with the files beside it, that was open when this process was forked."""
    if inherits(*paths):
        raise ForkRefused(
            f"{os.fspath(paths[0])} was open when this process was forked, in its parent or in one before it, and "
            "SQLite's locks do not survive a fork: what is recorded here could be lost. The parent must not have it "
            "open at the moment of the fork: let it open the file after the fork, or fork after it has closed the "
            "file; or start processes with multiprocessing's 'spawn' or 'forkserver'; or use PostgreSQL"
        )


def keep(file: Identity) -> None:
    """Note a file of which the child will have a descriptor for as long as it lives."""
    _files.add(file)


def leak(*things: Any) -> None:
    """See to it that objects are never deallocated, not even at the end of the interpreter: that would close them."""
    for thing in things:
        if thing is not None:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


def _still(number: int, file: Identity) -> bool:
    try:
        return identity(os.fstat(number)) == file
    except OSError:
        return False


def _stat(path: str | os.PathLike[str]) -> os.stat_result | None:
    try:
        return os.stat(path)
    except OSError:
        return None


def _plain_files() -> dict[int, Identity]:
    """Return the open descriptors of plain files; none where the system does not list them."""
    found = {}
    for folder in ("/proc/self/fd", "/dev/fd"):
        try:
            names = os.listdir(folder)
        except OSError:
            continue
        for name in names:
            try:
                status = os.fstat(int(name))
            except (OSError, ValueError):
                continue
            if stat.S_ISREG(status.st_mode):
                found[int(name)] = identity(status)
        break
    return found


def _in_child() -> None:
    global current, _pid, _descriptors
    current += 1
    _pid = os.getpid()
    _descriptors = _plain_files()
    for one in list(_told):
        one._in_child()


if hasattr(os, "register_at_fork"):  # absent where there is no fork, and so nothing to notice
    os.register_at_fork(after_in_child=_in_child)
