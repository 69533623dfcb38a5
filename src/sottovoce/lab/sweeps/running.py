"""Run one cell."""

import math
import time
from typing import NamedTuple

from sottovoce.lab.algorithms import AlgorithmSetting, find_algorithm, streams
from sottovoce.lab.problems.naming import make_problem
from sottovoce.lab.simulation.playing import simulate
from sottovoce.lab.simulation.run import Run
from sottovoce.lab.sweeps.cell import Cell, Result


class Outcome(NamedTuple):
    """What running a cell gave: its row; and its curves, unless it failed."""

    result: Result
    run: Run | None = None


def run_cell(cell: Cell) -> Outcome:
    """Run one cell; equal cells give equal outcomes, time apart.

    Parameters
    ----------
    cell
        What to run.

    Examples
    --------
    >>> outcome = run_cell(Cell("ball:dimension=2", "default", 1.0, 500, seed=0))
    >>> outcome.result.status, outcome.result.dimension, outcome.run.point.shape
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
    return Outcome(result, run)
