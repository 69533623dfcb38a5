"""One seed for a cell, separate streams for what is drawn in it."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Streams:
    """Seeds of the environment, the public coins, the simulated noise and simulated reports."""

    environment: int
    coins: int
    noise: int
    reports: int


def streams(seed: int) -> Streams:
    """Return seeds that share nothing but their origin; equal cell seeds meet the same environment.

    Examples
    --------
    >>> streams(0) == streams(0), len({streams(0).environment, streams(0).coins, streams(1).environment})
    (True, 3)
    """
    children = np.random.SeedSequence(seed).spawn(4)
    return Streams(*(int(child.generate_state(1)[0]) for child in children))
