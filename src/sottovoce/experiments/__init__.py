"""Grids of runs: which algorithm, on which problem, at what privacy, for how long; and the paper's claims as such."""

from sottovoce.experiments.algorithms import ALGORITHMS
from sottovoce.experiments.naming import make_problem
from sottovoce.experiments.sweeps import Cell, Result, Standing, Sweep, grid, run_cell, run_sweep

sweep = run_sweep

__all__ = [
    "ALGORITHMS",
    "Cell",
    "Result",
    "Standing",
    "Sweep",
    "grid",
    "make_problem",
    "run_cell",
    "run_sweep",
    "sweep",
]
