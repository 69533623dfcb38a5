"""A grid of runs as a folder on disk, which can be interrupted and resumed."""

import csv
import io
import json
import platform
from collections.abc import Iterable
from dataclasses import asdict, astuple, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import scipy

import sottovoce
from sottovoce._disk import write_atomically
from sottovoce.lab.simulation.run import Run
from sottovoce.lab.sweeps.cell import Cell, Result

VERSION = 1  # of the folder's layout


@dataclass(frozen=True)
class Sweep:
    """A grid of runs, and what came of it so far.

    The folder holds `sweep.json` (what was asked for, and by which versions), `results.csv` (one row per cell that was
    run), and for each finished cell `cells/KEY.npz` (its curves and final decision).

    Parameters
    ----------
    folder
        Where it lies.
    cells
        The grid, in order.
    command
        The command line that redoes it.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sweep = Sweep.create(folder, [Cell("ball", "default", 1.0, 1_000, 0)], command="sottovoce compare ball")
    ...     again = Sweep.load(folder)
    >>> again.cells == sweep.cells, again.results, len(again.left)
    (True, (), 1)
    """

    folder: Path
    cells: tuple[Cell, ...]
    command: str

    @classmethod
    def create(cls, folder: str | Path, cells: Iterable[Cell], *, command: str) -> Self:
        """Write down what is to be run; records of cells that are there already stay.

        Parameters
        ----------
        folder
            Where everything of the sweep is kept.
        cells
            What is to be run.
        command
            What was called for it, for the record.
        """
        sweep = cls(Path(folder), tuple(dict.fromkeys(cells)), command)
        (sweep.folder / "cells").mkdir(parents=True, exist_ok=True)
        about = {
            "what": "sottovoce sweep",
            "version": VERSION,
            "sottovoce": sottovoce.__version__,
            "command": command,
            "environment": {
                "python": platform.python_version(),
                "numpy": np.__version__,
                "scipy": scipy.__version__,
                "machine": platform.machine(),
            },
            "cells": [astuple(cell) for cell in sweep.cells],
        }
        write_atomically(sweep.folder / "sweep.json", (json.dumps(about, indent=1) + "\n").encode())
        return sweep

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read a sweep, finished or not.

        Parameters
        ----------
        folder
            Where `create` has put it.
        """
        about = read_about(Path(folder))
        return cls(Path(folder), tuple(Cell(*cell) for cell in about["cells"]), str(about["command"]))

    @cached_property
    def results(self) -> tuple[Result, ...]:
        """What came of the cells that were run, done or failed, in the grid's order; read once."""
        found = (read_record(self.record_path(cell)) for cell in self.cells)
        return tuple(result for result in found if result is not None)

    @property
    def left(self) -> tuple[Cell, ...]:
        """Cells that have yet to be run: never begun, interrupted, or failed."""
        done = {result.cell for result in self.results if result.status == "done"}
        return tuple(cell for cell in self.cells if cell not in done)

    def run_of(self, cell: Cell) -> Run:
        """Return the curves of a finished cell.

        Parameters
        ----------
        cell
            One of the sweep's cells.
        """
        if not self.run_path(cell).exists():
            raise LookupError(f"{self.folder} holds no finished run of {cell}")
        return Run.load(self.run_path(cell))

    def refreshed(self) -> Self:
        """Return the same sweep with the results as they are on disk now."""
        return type(self)(self.folder, self.cells, self.command)

    def write_results(self) -> Path:
        """Write `results.csv` from the records on disk, and return its path."""
        rows = [row_of(result) for result in self.refreshed().results]
        text = io.StringIO()
        table = csv.DictWriter(text, row_of(Result(Cell("", "", 1.0, 1, 0), "")), lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
        return write_atomically(self.folder / "results.csv", text.getvalue().encode())

    def record_path(self, cell: Cell) -> Path:
        """Return where a cell's row is kept; it is written last, so a cell that has it is complete.

        Parameters
        ----------
        cell
            One of the sweep's cells.
        """
        return self.folder / "cells" / f"{cell.key}.json"

    def run_path(self, cell: Cell) -> Path:
        """Return where the curves of a `cell` are kept."""
        return self.folder / "cells" / f"{cell.key}.npz"


def row_of(result: Result) -> dict[str, Any]:
    """Return a result by column, with what follows from it per event.

    Examples
    --------
    >>> row_of(Result(Cell("ball", "default", 0.1, 1_000, 0), "done", regret=50.0))["regret_per_event"]
    0.05
    """
    per_event = {name: getattr(result, name) for name in ("regret_per_event", "never_learning_per_event")}
    plain = asdict(result)
    return {**plain.pop("cell"), **plain, **per_event}


def write_record(path: Path, result: Result) -> None:
    """Write one cell's result."""
    write_atomically(path, json.dumps(asdict(result), indent=1).encode())


def read_record(path: Path) -> Result | None:
    """Return what `write_record` wrote, or None if there is no such file."""
    try:
        plain = json.loads(path.read_bytes())
        return Result(**{**plain, "cell": Cell(**plain["cell"])})
    except FileNotFoundError:
        return None
    except (KeyError, TypeError, ValueError) as problem:
        raise ValueError(
            f"{path} is not a cell's record, or is damaged ({problem}): delete it to run it again"
        ) from None


def read_about(folder: Path) -> dict[str, Any]:
    """Return the content of `sweep.json`, or say why it cannot be read."""
    path = folder / "sweep.json"
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
        if (about["what"], about["version"]) != ("sottovoce sweep", VERSION):
            raise ValueError("another kind of file, or another version of it")
    except FileNotFoundError:
        raise FileNotFoundError(f"{folder} holds no sweep: there is no sweep.json in it") from None
    except (KeyError, TypeError, ValueError) as problem:
        raise ValueError(f"{path} does not describe a sweep, or is damaged: {problem}") from None
    return dict(about)
