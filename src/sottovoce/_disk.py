"""Making sure that what was written outlives a crash, names of files included."""

import os
from os import PathLike

__all__ = ["sync_folder"]


def sync_folder(folder: str | PathLike[str]) -> None:
    """Wait until the names in a folder are on the disk; where folders cannot be opened (Windows), it sees to that."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
