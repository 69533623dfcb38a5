"""A guarantee as something that can be refuted: one number that the evidence must not exceed."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from sottovoce._checks import number
from sottovoce.privacy import ZCDP, ApproxDP, Guarantee, LocalDP, PureDP, gaussian

_USUAL_DELTA = 1e-6
_LEAST_TOUCH = 0.1


@dataclass(frozen=True)
class Claim:
    """What is put to the test.

    Epsilon and delta are tested as they stand. Gaussian noise, however, promises more than one such pair: a whole
    curve, with a single parameter mu. There the test is of mu, since no number of runs that anybody can afford would
    show an event of probability delta; what is found is translated to epsilon at delta in the end.
    """

    guarantee: Guarantee
    epsilon: float
    delta: float
    mu: float | None

    @property
    def tested(self) -> float:
        """The claimed value of the parameter that is tested: epsilon, or mu under Gaussian noise."""
        return self.epsilon if self.mu is None else self.mu

    @property
    def pure(self) -> bool:
        """Whether the odds of every single output are bounded."""
        return self.mu is None and self.delta == 0

    def shown(self, likely: Any, rare: Any) -> Any:
        """Least parameter that allows these two probabilities of a set of outputs; below 0 if all do.

        Examples
        --------
        >>> import sottovoce as sv
        >>> chance = 1 / (1 + math.exp(-1.5))
        >>> round(float(claim_of(sv.PureDP(1.0)).shown(chance, 1 - chance)), 6)
        1.5
        """
        if self.mu is not None:
            return ndtri(np.asarray(likely, dtype=np.float64)) - ndtri(np.asarray(rare, dtype=np.float64))
        with np.errstate(divide="ignore"):
            return np.log(np.maximum(np.asarray(likely) - self.delta, 0.0)) - np.log(rare)

    def line(self, parameter: float, rare: float) -> tuple[float, float]:
        """Slope and intercept: with this parameter, P1 <= slope P0 + intercept for every set of outputs.

        Parameters
        ----------
        parameter
            Epsilon, or mu under Gaussian noise.
        rare
            Where the line touches the curve of Gaussian noise, about; a steep line would stake little on each guess.
        """
        if self.mu is None:
            return math.exp(parameter), self.delta
        rare = min(max(rare, _LEAST_TOUCH), 0.5)
        at = float(ndtri(rare))
        slope = math.exp(-parameter * (at + parameter / 2))
        return slope, float(ndtr(at + parameter)) - slope * rare

    def as_epsilon(self, shown: float) -> float:
        """The same as an epsilon at `delta`."""
        if self.mu is None or shown <= 0:
            return shown
        return gaussian.epsilon_of(shown, self.delta)


def claim_by(make: Callable[[], Any], claimed: Guarantee | None, delta: float | None = None) -> tuple[Claim, Any, Any]:
    """Return what a subject claims, by its own statement or as `claimed`; with the statement, and its plan."""
    made = make()
    try:
        statement, plan = made.privacy, made.plan
    finally:
        if hasattr(made, "close"):
            made.close()
    gaussian_noise = statement.noise is not None and statement.noise.family == "gaussian"
    return claim_of(claimed or statement.guarantee, delta, gaussian_noise=gaussian_noise), statement, plan


def claim_of(guarantee: Guarantee, delta: float | None = None, *, gaussian_noise: bool = True) -> Claim:
    """Return what a guarantee claims.

    Parameters
    ----------
    guarantee
        What is promised.
    delta
        Where an epsilon is stated for a claim of zCDP; a millionth by default.
    gaussian_noise
        Whether an (epsilon, delta) is kept by Gaussian noise, so that the mu behind it can be tested.

    Examples
    --------
    >>> import sottovoce as sv
    >>> claim_of(sv.PureDP(epsilon=1.0)).epsilon
    1.0
    >>> round(claim_of(sv.ZCDP(rho=0.5), delta=1e-5).epsilon, 3)
    4.377
    """
    if isinstance(guarantee, PureDP | LocalDP):
        if delta:
            raise ValueError(f"delta must be 0 or left out for {guarantee!r}, got {delta!r}")
        return Claim(guarantee, guarantee.epsilon, 0.0, None)
    if isinstance(guarantee, ApproxDP):
        if delta is not None and delta != guarantee.delta:
            raise ValueError(f"delta must be that of {guarantee!r}, or left out, got {delta!r}")
        return Claim(guarantee, guarantee.epsilon, guarantee.delta, guarantee.mu if gaussian_noise else None)
    if isinstance(guarantee, ZCDP):
        at = number("delta", _USUAL_DELTA if delta is None else delta, above=0, at_most=1)
        return Claim(guarantee, gaussian.epsilon_of(guarantee.mu, at), at, guarantee.mu)
    raise ValueError(f"{guarantee!r} promises nothing that could be audited; claim PureDP, ApproxDP, ZCDP or LocalDP")
