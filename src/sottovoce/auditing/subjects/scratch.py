"""Where the files of audited runs live: in memory, if the system has a place for that."""

import os
import tempfile

_IN_MEMORY = "/dev/shm"


def scratch_folder() -> "tempfile.TemporaryDirectory[str]":
    """Return a folder of its own; what is audited is what is released, and not whether it survives."""
    in_memory = os.access(_IN_MEMORY, os.W_OK | os.X_OK)
    return tempfile.TemporaryDirectory(prefix="sottovoce-audit-", dir=_IN_MEMORY if in_memory else None)
