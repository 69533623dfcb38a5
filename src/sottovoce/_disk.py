"""Making sure that what was written outlives a crash, names of files included; and which file has a name."""

import ctypes
import os
import struct
from collections.abc import Callable
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


_statx = getattr(ctypes.CDLL(None, use_errno=True), "statx", None) if os.name == "posix" else None
_HERE, _INODE, _SIZE = -100, 0x100, 256  # of Linux: names are of this folder; what is asked for; of the answer
_ANSWER = struct.Struct("@32xQ96xII")  # the inode, and both numbers of the device


def inode_of(path: str) -> tuple[int, int]:
    """Return device and inode of a file, without a look at its times where that can be done.

    Whoever looks at the time of a file makes Linux (6.13 and later) write down a finer one with the next write, and
    that write takes a third longer to reach the disk.

    Examples
    --------
    >>> found = os.stat(__file__)
    >>> inode_of(__file__) == (found.st_dev, found.st_ino)
    True
    """
    if _statx is not None:
        answer = ctypes.create_string_buffer(_SIZE)
        if _statx(_HERE, os.fsencode(path), 0, _INODE, answer) == 0:
            inode, major, minor = _ANSWER.unpack_from(answer)
            return os.makedev(major, minor), inode
    found = os.stat(path)  # which raises what is wrong, if something is
    return found.st_dev, found.st_ino
