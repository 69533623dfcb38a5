"""What a convex belief chooses from by how well it predicts: misfit, variance of a loss, memory."""

import math

__all__ = ["GRIDS", "MEMORIES", "MISFITS", "VARIANCES", "Setting", "neighbours"]

MISFITS = ((0.0, 1), (0.1, 2), (0.3, 2), (1.0, 2), (0.03, 1), (0.1, 1), (0.3, 1))
"""(tau, p): numbers may be off by tau B r^p."""
VARIANCES = (1 / 16, 1 / 64, 1 / 256, 1 / 1024)
"""Of one loss at one point, in B^2."""
MEMORIES = (math.inf, 0.3, 0.1, 0.03)
"""How far back is remembered, in horizons."""
GRIDS = (len(MISFITS), len(VARIANCES), len(MEMORIES))
Setting = tuple[int, ...]
"""Which misfit, variance and memory."""


def neighbours(setting: Setting, choice: int) -> list[Setting]:
    """Return the settings that differ from one in nothing but one of the three choices.

    Examples
    --------
    >>> neighbours((0, 2, 0), 1)
    [(0, 0, 0), (0, 1, 0), (0, 2, 0), (0, 3, 0)]
    """
    return [(*setting[:choice], other, *setting[choice + 1 :]) for other in range(GRIDS[choice])]
