"""Other libraries' solvers, as one would use them by hand in place of a domain's oracle."""

import importlib

import numpy as np
from scipy import sparse


class BareHighs:
    """highspy, kept warm: change the costs, run, read the solution; other settings as they come."""

    def __init__(self, matrix, limits, low, high, **options):
        highspy = importlib.import_module("highspy")
        rows = sparse.csr_array(matrix)
        program = highspy.HighsLp()
        program.num_row_, program.num_col_ = rows.shape
        program.col_cost_ = np.zeros(rows.shape[1])
        program.col_lower_, program.col_upper_ = np.full(rows.shape[1], low), np.full(rows.shape[1], high)
        program.row_lower_, program.row_upper_ = np.full(rows.shape[0], -highspy.kHighsInf), limits
        program.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        program.a_matrix_.start_, program.a_matrix_.index_ = rows.indptr, rows.indices
        program.a_matrix_.value_ = rows.data
        self.model = highspy.Highs()
        self.model.setOptionValue("output_flag", False)
        for option, value in options.items():
            self.model.setOptionValue(option, value)
        self.model.passModel(program)
        self.columns = np.arange(rows.shape[1], dtype=np.int32)

    def __call__(self, cost):
        self.model.changeColsCost(cost.size, self.columns, cost)
        self.model.run()
        return np.array(self.model.getSolution().col_value)


class Successive:
    """A solver that is given one cost after another, over and over, each near the one before; returns the values."""

    def __init__(self, solve, costs):
        self.solve, self.costs, self.turn = solve, costs, -1

    def __call__(self):
        self.turn = (self.turn + 1) % len(self.costs)
        cost = self.costs[self.turn]
        return cost @ self.solve(cost)


def moving_costs(dimension, change, count=50):
    """Return costs that move by a relative `change` from one to the next."""
    rng = np.random.default_rng(0)
    costs = [rng.standard_normal(dimension)]
    for _ in range(count - 1):
        costs.append((costs[-1] + change * rng.standard_normal(dimension)) / np.hypot(1, change))
    return costs
