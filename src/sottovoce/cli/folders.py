"""Where commands write: looked at before anything is simulated, so that no work is lost."""

import tempfile
from pathlib import Path


def check_folder(out: Path) -> None:
    """Refuse a folder that cannot be made, or cannot be written to; leave no trace."""
    there = next(one for one in (out.absolute(), *out.absolute().parents) if one.exists())
    if not there.is_dir():
        raise ValueError(f"out must be a folder, and {there} is a file")
    try:
        with tempfile.TemporaryFile(dir=there):
            pass
    except OSError as problem:
        raise OSError(f"out: {out} cannot be written to: {problem.strerror}") from None
