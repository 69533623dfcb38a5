"""Making sure that what was written outlives a crash, names of files included; and which file has a name."""

import ctypes
import os
import struct
from collections.abc import Callable
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any


def sync_folder(folder: str | PathLike[str]) -> None:
    """Wait until the names in a folder are on the disk; where folders cannot be opened (Windows), it sees to that."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_atomically(path: str | PathLike[str], content: bytes | Callable[[Path], Any]) -> Path:
    """Write bytes, or what a function writes to the path it is given: after a crash it is all there, or not at all."""
    path = Path(path)
    partial = path.with_name(f"{path.name}.partial")
    if callable(content):
        content(partial)
    else:
        partial.write_bytes(content)
    with partial.open("r+b") as written:
        os.fsync(written.fileno())
    partial.replace(path)  # a reader never sees half a file
    sync_folder(path.absolute().parent)  # the new name, too, must outlive a crash
    return path


_statx = getattr(ctypes.CDLL(None), "statx", None) if os.name == "posix" else None
look_at_inode: Callable[..., int] = partial(_statx, -100) if _statx else lambda *given: -1
"""Linux's statx, which puts what is asked for of a file into a buffer: called with its name, `INODE`, and that."""
INODE = 0, 0x100  # links are followed; nothing else is asked for
ANSWER = struct.Struct("@32xQ96xII112x")  # the inode, and both numbers of the device


def inode_of(path: str) -> tuple[int, int, int]:
    """Return the inode of a file, and both numbers of its device; without a look at its times where that can be done.

    Whoever looks at the times of a file makes Linux (6.13 and later) write down finer ones with the next write, and
    that takes a third longer to reach the disk.

    Examples
    --------
    >>> found = os.stat(__file__)
    >>> inode_of(__file__) == (found.st_ino, os.major(found.st_dev), os.minor(found.st_dev))
    True
    """
    answer = ctypes.create_string_buffer(ANSWER.size)
    if look_at_inode(os.fsencode(path), *INODE, answer) == 0:
        inode, *device = ANSWER.unpack_from(answer)
        return (inode, *device)
    found = os.stat(path)  # which raises what is wrong, if something is
    return found.st_ino, os.major(found.st_dev), os.minor(found.st_dev)
