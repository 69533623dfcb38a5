"""Elimination by optimal designs with Gaussian noise, after Azize & Basu's AdaC-GOPE."""

import math

import numpy as np

from sottovoce._arrays import Floats
from sottovoce.lab.baselines._vertices import LISTED
from sottovoce.lab.baselines.base import Baseline
from sottovoce.lab.baselines.phased_elimination import DesignElimination
from sottovoce.privacy import ZCDP


class GaussianElimination(DesignElimination):
    """As `DesignElimination`, with Gaussian noise, and phase i so long that no mean loss errs by more than B/2^i.

    For Gaussian noise of deviation b the error of a vertex is B ||x|| sqrt(L/2) + b |w| sqrt(2L).
    """

    def _tail(self, weights: Floats, logarithm: float) -> Floats:
        return np.asarray(np.linalg.norm(weights, axis=1) * math.sqrt(2 * logarithm))

    def _events(self, number: int, rank: int, played: int) -> float:
        """Solve B sqrt(r L/(2N)) + b (r/N) sqrt(2 L m) = B/2^i for N; |w| is at most r sqrt(m)/N if m are played."""
        logarithm, aim = self._log(number), self.width / 2**number
        own = self.width * math.sqrt(rank * logarithm / 2)
        noise = self.scale * rank * math.sqrt(2 * logarithm * played)
        return float(((own + math.sqrt(own**2 + 4 * aim * noise)) / (2 * aim)) ** 2)

    def _error(self, number: int, rank: int, played: int) -> float:
        """Return what the phase aims at, and a hundredth more: the design is optimal to 1%."""
        return float(1.01 * self.width / 2**number)


class ZCDPElimination(Baseline):
    """Phased elimination under zCDP, after AdaC-GOPE (Azize & Basu), for linear losses on small sets.

    For sets with at most 1,000 vertices. Each phase plays a G-optimal design of the vertices that are left, releases
    the sum of losses of each of them with Gaussian noise, and drops what is clearly worse.

    Source: "Concentrated differential privacy for bandits" (SaTML 2024, arXiv 2309.00557). Verified against its
    abstract: the Gaussian mechanism and adaptive episodes on G-optimal designs, for rho-zCDP. **Chosen here**, because
    the paper's text could not be had: errors of 2^-i in phase i, the lengths of phases (which follow from the errors
    that `GaussianElimination` states and make them what phase i aims at), the confidence 1 - 1/T, noise on the sum of
    each vertex. So figures of this class are not those of the authors' code.

    Privacy: zCDP. A loss is in the sum of one vertex in one phase, and each sum has Gaussian noise of deviation
    B/sqrt(2 rho).

    Parameters
    ----------
    domain, horizon, loss_range, privacy, lipschitz, seed, noise
        As for `PhasedElimination`, but for `privacy`, which must be `ZCDP`.

    Examples
    --------
    >>> import sottovoce as sv
    >>> learner = sv.lab.baselines.ZCDPElimination(
    ...     sv.domains.Birkhoff(3), horizon=10_000, loss_range=(0.0, 1.0), privacy=sv.ZCDP(rho=0.5), seed=1
    ... )
    >>> len(learner.ask_round().ids)
    336
    """

    name, source, order = "zcdp-elimination", "after Azize & Basu 2024", "sqrt(d T log T) + d^2 log(T)/sqrt(rho)"
    promises, linear_only, policy, sets = (ZCDP,), True, GaussianElimination, LISTED
