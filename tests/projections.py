"""Projections by each of the methods: from a bare oracle, to a gap."""

import numpy as np

from sottovoce.projection import Quadratic, conditional_gradient, project

TIGHT = "minimum-norm-point"
METHODS = (TIGHT, "line-search", "open-loop")


def project_by(method, oracle, y, *, warm=None, gap=None, max_calls=None):
    if method == TIGHT:
        return project(oracle, y, warm=warm, gap=gap, max_calls=max_calls)
    start = np.array(oracle(-np.asarray(y))) if warm is None else warm.point
    across = oracle(start - y) - oracle(y - start)
    gap = 1e-4 * across @ across if gap is None else gap
    return conditional_gradient(oracle, Quadratic(y), start, gap=gap, max_calls=max_calls or 10_000, rule=method)
