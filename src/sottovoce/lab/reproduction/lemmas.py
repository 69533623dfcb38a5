"""The paper's bounds on the regret, up to constants, and the powers that they have over a range of sizes."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sottovoce._arrays import Vector
from sottovoce.lab.algorithms import DELTA
from sottovoce.lab.slopes import fit


@dataclass(frozen=True, slots=True)
class Base:
    """What is fixed while one quantity varies.

    Parameters
    ----------
    dimension
        Of the ball.
    horizon
        Events of a run.
    epsilon
        Of pure privacy.

    Examples
    --------
    >>> Base(dimension=8, horizon=100_000, epsilon=1.0).dimension
    8
    """

    dimension: int
    horizon: int
    epsilon: float


def lemma_without_noise(horizon: float, dimension: float, epsilon: float) -> float:
    """Lemma 3.1 without noise: T^(3/4) n^(1/2)."""
    return math.sqrt(dimension) * math.pow(horizon, 0.75)


def lemma_laplace(horizon: float, dimension: float, epsilon: float) -> float:
    """Lemma 5.2: T^(3/4) n^(1/2) + T^(3/4) n^(3/2) log^2 T / epsilon."""
    base = lemma_without_noise(horizon, dimension, epsilon)
    return base + base * dimension * math.log(horizon) ** 2 / epsilon


def lemma_gaussian(horizon: float, dimension: float, epsilon: float) -> float:
    """Lemma 5.5, its three terms."""
    spread = math.log((dimension + horizon) / DELTA)
    logs = math.log(horizon) ** 2 * math.log(horizon / DELTA)
    base = lemma_without_noise(horizon, dimension, epsilon)
    short = math.sqrt(horizon) * dimension * logs * spread / epsilon
    return base + short + base * logs * math.sqrt(spread) / epsilon


LEMMAS: dict[str, Callable[[float, float, float], float]] = {
    "paper-laplace": lemma_laplace,
    "paper-gaussian": lemma_gaussian,
}


def bound_power(algorithm: str, axis: str, values: Vector, base: Base) -> float:
    """Return the power that the paper's bound has over these values."""
    lemma = LEMMAS.get(algorithm, lemma_without_noise)
    bounds = []
    for value in values.tolist():
        at = {"horizon": base.horizon, "dimension": base.dimension, "1/epsilon": 1 / base.epsilon, axis: value}
        bounds.append(lemma(at["horizon"], at["dimension"], 1 / at["1/epsilon"]))
    return fit(values, np.array([bounds])).slope
