"""Making sure that what was written outlives a crash, names of files included."""

import os
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
