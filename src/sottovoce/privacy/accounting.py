"""Guarantees as values that can be asked questions and composed.

Neighbours are those of each guarantee: one person's data is replaced. Composition is adaptive: what is run later may
depend on all that was released before.

Exact where exact is known:
- Pure epsilon: randomised response is the worst case (Kairouz, Oh & Viswanath 2015), so delta(epsilon') =
  (e^epsilon - e^epsilon')/(1 + e^epsilon), and the Renyi curve is its own; as concentrated privacy, rho = epsilon^2/2.
- (epsilon, delta): randomised response that shows everything with probability delta.
- zCDP rho: Renyi alpha*rho by definition. Its delta is the best that *any* mechanism with this Renyi curve is known to
  keep (Canonne, Kamath & Steinke 2020), a bound.
Several guarantees: the lesser of basic composition (epsilons and deltas add up) and the sum of Renyi curves. Both are
valid bounds, so the lesser is.

Tests: tests/privacy/test_accounting.py (against dp-accounting).
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction

import scipy

from sottovoce._checks import number
from sottovoce.privacy.guarantees import ZCDP, ApproxDP, Guarantee, LocalDP, PureDP


@dataclass(frozen=True)
class Composition:
    """What several guarantees about the same people promise together; `compose` makes one.

    Attributes
    ----------
    guarantees
        Those that hold together.

    Examples
    --------
    >>> together = compose(PureDP(0.5), PureDP(0.25))
    >>> together.epsilon(0.0), together.rho
    (0.75, 0.15625)
    """

    guarantees: tuple[Guarantee, ...]

    @property
    def rho(self) -> float:
        """The zero-concentrated parameter; infinite if there is none."""
        return decimal_sum(_rho(guarantee) for guarantee in self.guarantees)

    def renyi(self, alpha: float) -> float:
        """Renyi divergence of order alpha > 1 between neighbours, at most; infinite if there is no bound.

        Parameters
        ----------
        alpha
            The order.
        """
        number("alpha", alpha, above=1)
        return math.fsum(_renyi(guarantee, alpha) for guarantee in self.guarantees)

    def epsilon(self, delta: float) -> float:
        """Smallest epsilon known for which all together are (epsilon, delta)-DP; infinite if there is none.

        Parameters
        ----------
        delta
            From 0 to 1.
        """
        if not 0 <= delta < 1:
            raise ValueError(f"delta must be at least 0 and below 1, got {delta!r}")
        slack = decimal_sum((delta, -self._deltas))
        if slack < 0 or not all(guarantee.private for guarantee in self.guarantees):
            return math.inf
        discrete, smooth = self._split(PureDP, LocalDP, ApproxDP)
        if smooth.guarantees:
            basic = discrete._epsilons + smooth._renyi_epsilon(slack)
        else:
            basic = _pure_epsilon(discrete._epsilons, slack / (1 - self._deltas))
        approximate, curves = self._split(ApproxDP)
        return min(basic, approximate._epsilons + curves._renyi_epsilon(slack))

    def _split(self, *kinds: type[Guarantee]) -> tuple["Composition", "Composition"]:
        """Those of the given kinds, and the others."""
        chosen = tuple(guarantee for guarantee in self.guarantees if isinstance(guarantee, kinds))
        return Composition(chosen), Composition(tuple(g for g in self.guarantees if not isinstance(g, kinds)))

    @property
    def _epsilons(self) -> float:
        kinds = (PureDP, LocalDP, ApproxDP)
        return decimal_sum(guarantee.epsilon for guarantee in self.guarantees if isinstance(guarantee, kinds))

    @property
    def _deltas(self) -> float:
        return decimal_sum(guarantee.delta for guarantee in self.guarantees if isinstance(guarantee, ApproxDP))

    def _renyi_epsilon(self, delta: float) -> float:
        """From Renyi to epsilon (Canonne, Kamath & Steinke 2020); every order gives a valid bound."""
        if delta <= 0 or not self.guarantees:
            return math.inf if self.guarantees else 0.0

        def bound(alpha: float) -> float:
            spread = math.log(alpha - 1) - alpha * math.log1p(-1 / alpha)
            return self.renyi(alpha) - (math.log(delta) + spread) / (alpha - 1)

        return max(0.0, _least_over_orders(bound))


def compose(*guarantees: Guarantee) -> Composition:
    """Return what guarantees about the same people promise together.

    Parameters
    ----------
    *guarantees
        About the same people.

    Examples
    --------
    >>> round(compose(ZCDP(0.05), PureDP(0.1)).epsilon(1e-6), 2)
    1.53
    """
    for guarantee in guarantees:
        if not isinstance(guarantee, Guarantee):
            raise TypeError(f"guarantees must be PureDP, ApproxDP, ZCDP, LocalDP or NoPrivacy, got {guarantee!r}")
    return Composition(guarantees)


def decimal_sum(values: Iterable[float]) -> float:
    """Add up numbers as they are written: ten times 0.1 is 1.0, and fits into a budget of 1.0.

    Examples
    --------
    >>> decimal_sum([0.1] * 10), decimal_sum([0.1, 0.2]), 0.1 + 0.2
    (1.0, 0.3, 0.30000000000000004)
    """
    listed = list(values)
    if any(math.isinf(value) for value in listed):
        return math.inf
    return float(sum(Fraction(repr(float(value))) for value in listed))


def _rho(guarantee: Guarantee) -> float:
    if isinstance(guarantee, PureDP | LocalDP):
        return guarantee.epsilon**2 / 2
    return guarantee.rho if isinstance(guarantee, ZCDP) else math.inf


def _renyi(guarantee: Guarantee, alpha: float) -> float:
    if isinstance(guarantee, PureDP | LocalDP):
        likely = -math.log1p(math.exp(-guarantee.epsilon))  # logarithms of the two answers of randomised response
        unlikely = likely - guarantee.epsilon
        first, second = alpha * likely + (1 - alpha) * unlikely, alpha * unlikely + (1 - alpha) * likely
        return max(0.0, (first + math.log1p(math.exp(second - first))) / (alpha - 1))
    return alpha * _rho(guarantee)


def _pure_epsilon(epsilon: float, delta: float) -> float:
    """Smallest epsilon' for which epsilon-DP is (epsilon', delta)-DP."""
    left = 1 - delta * (1 + math.exp(-epsilon))
    return max(0.0, epsilon + math.log(left)) if left > 0 else 0.0


def _least_over_orders(bound: Callable[[float], float]) -> float:
    """Minimise over Renyi orders alpha > 1, on a logarithmic scale of alpha - 1."""
    coarse = min((bound(1 + 2.0**power), power) for power in range(-20, 40))[1]
    nearby = (coarse - 1.0, coarse + 1.0)
    found = scipy.optimize.minimize_scalar(lambda power: bound(1 + 2.0**power), bounds=nearby, method="bounded")
    return min(float(found.fun), bound(1 + 2.0**coarse))
