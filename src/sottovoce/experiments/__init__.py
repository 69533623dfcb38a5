"""Grids of runs: which algorithm, on which problem, at what privacy, for how long; and the paper's claims as such."""

from sottovoce.experiments.cell import Cell, Result

__all__ = ["Cell", "Result"]
