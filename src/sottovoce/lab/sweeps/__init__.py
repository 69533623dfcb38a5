"""A grid of cells, run over processes or machines into a folder that can be interrupted and resumed."""

from sottovoce.lab.sweeps.cell import Cell, Result
from sottovoce.lab.sweeps.grids import grid
from sottovoce.lab.sweeps.running import run_cell
from sottovoce.lab.sweeps.sweeping import Standing, sweep
from sottovoce.lab.sweeps.swept import Sweep

__all__ = ["Cell", "Result", "Standing", "Sweep", "grid", "run_cell", "sweep"]
