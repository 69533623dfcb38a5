"""The folder of a sweep: begun, continued, cleared, and kept to one sweep at a time."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sottovoce
from sottovoce._extras import load
from sottovoce.lab.sweeps.cell import Cell
from sottovoce.lab.sweeps.swept import Sweep, read_about

__all__ = ["alone_in", "begin"]


def begin(folder: Path, cells: tuple[Cell, ...], command: str, fresh: bool) -> Sweep:
    """Return the sweep in a folder, new or continued; another one is refused."""
    if (folder / "sweep.json").exists():
        if fresh:
            _clear(folder)
        else:
            _check_continues(folder, cells)
    elif (folder / "cells").exists() and any((folder / "cells").iterdir()):
        raise ValueError(f"{folder}/cells holds files, and there is no sweep.json beside it: choose another folder")
    for partial in (folder / "cells").glob("*.partial"):
        partial.unlink()  # what was being written when a process was killed
    return Sweep.create(folder, cells, command=command)


def _check_continues(folder: Path, cells: tuple[Cell, ...]) -> None:
    version = read_about(folder)["sottovoce"]
    if version != sottovoce.__version__:
        raise ValueError(
            f"{folder} holds a sweep by sottovoce {version}, and this is {sottovoce.__version__}: "
            "start anew (--fresh), or choose another folder"
        )
    asked = set(cells)
    missing = [cell for cell in Sweep.load(folder).cells if cell not in asked]
    if missing:
        raise ValueError(
            f"{folder} holds another sweep: {len(missing)} of its cells are not in this grid, such as "
            f"{_words(missing[0])}. "
            "Ask for a grid that holds them, start anew (--fresh), or choose another folder"
        )


def _clear(folder: Path) -> None:
    """Remove records first: a kill in the middle leaves a sweep with less finished, not one that claims too much."""
    for record in (folder / "cells").glob("*.json"):
        record.unlink()
    shutil.rmtree(folder / "cells", ignore_errors=True)


def _words(cell: Cell) -> str:
    return f"{cell.problem} / {cell.algorithm} / epsilon {cell.epsilon:g} / {cell.horizon} events / seed {cell.seed}"


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Make the folder, and keep a second sweep out of it; the lock goes when the process does, however it ends."""
    filelock = load("filelock", "a sweep in a folder")
    folder.mkdir(parents=True, exist_ok=True)
    lock = filelock.FileLock(folder / ".lock", blocking=False)
    try:
        lock.acquire()
    except filelock.Timeout:
        raise ValueError(f"another sweep is running in {folder}: wait for it, or choose another folder") from None
    try:
        yield
    finally:
        lock.release()
