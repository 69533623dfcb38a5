"""Run one cell."""

import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from sottovoce._arrays import Vector
from sottovoce._disk import write_atomically
from sottovoce.lab.algorithms import AlgorithmSetting, find_algorithm
from sottovoce.lab.problems.naming import make_problem
from sottovoce.lab.seeding import streams
from sottovoce.lab.simulation.playing import decision_of, simulate
from sottovoce.lab.simulation.run import Run
from sottovoce.lab.sweeps.cell import Cell, Result
from sottovoce.lab.sweeps.records import write_record
from sottovoce.lab.sweeps.swept import Sweep


@dataclass(frozen=True, slots=True)
class Outcome:
    """What running a cell gave: its row, its curves, its final decision."""

    result: Result
    run: Run
    point: Vector


def run_cell(cell: Cell) -> Outcome:
    """Run one cell; equal cells give equal outcomes, time apart.

    Parameters
    ----------
    cell
        What to run.

    Examples
    --------
    >>> outcome = run_cell(Cell("ball:dimension=2", "default", 1.0, 500, seed=0))
    >>> outcome.result.status, outcome.result.dimension, outcome.point.shape
    ('done', 2, (2,))
    """
    started = time.perf_counter()
    algorithm, choices = find_algorithm(cell.algorithm)
    seeds = streams(cell.seed)
    problem = make_problem(cell.problem, seed=seeds.environment)
    optimizer = algorithm.build(AlgorithmSetting(problem, cell.epsilon, cell.horizon, seeds, choices))
    run = simulate(optimizer, problem.environment, events=cell.horizon)
    if not run.finished:
        raise KeyboardInterrupt
    result = Result(
        cell,
        "done",
        dimension=problem.domain.affine_dimension,
        regret=run.final_regret,
        never_learning=run.final_no_learning,
        predicted=float(getattr(getattr(optimizer, "plan", None), "bound", math.nan)),
        certificate=run.details.certificate,
        rounds=run.details.rounds,
        oracle_calls=run.details.oracle_calls,
        seconds=time.perf_counter() - started,
        privacy=run.details.privacy_headline,
    )
    return Outcome(result, run, np.asarray(decision_of(optimizer), dtype=np.float64))


def keep(sweep: Sweep, outcome: Outcome) -> None:
    """Write what came of a cell into the sweep's folder."""
    cell = outcome.result.cell
    write_atomically(sweep.run_path(cell), outcome.run.save)
    write_atomically(sweep.point_path(cell), lambda path: _save_point(path, outcome.point))
    write_record(sweep.record_path(cell), outcome.result)  # last: a cell that has its record is complete


def _save_point(path: Any, point: Vector) -> None:
    with open(path, "wb") as file:
        np.savez(file, point=point)
