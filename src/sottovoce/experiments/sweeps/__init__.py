"""A grid of cells, run over processes or machines into a folder that can be interrupted and resumed."""

from sottovoce.experiments.sweeps._running import run_cell
from sottovoce.experiments.sweeps._sweeping import run_sweep
from sottovoce.experiments.sweeps.cell import Cell, Result
from sottovoce.experiments.sweeps.grids import grid
from sottovoce.experiments.sweeps.standing import Standing
from sottovoce.experiments.sweeps.sweep import Sweep

__all__ = ["Cell", "Result", "Standing", "Sweep", "grid", "run_cell", "run_sweep"]
