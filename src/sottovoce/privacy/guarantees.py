"""What is promised: differential privacy in its several currencies.

Neighbours: two loss sequences are neighbours if one *person's* losses are replaced, a person being at most
`contributions` events. Every guarantee is about the whole transcript of actions, against an adversary who sees all of
them and knows every other loss.
"""

from dataclasses import dataclass

from sottovoce._checks import number, whole
from sottovoce.privacy import gaussian

__all__ = ["ZCDP", "ApproxDP", "Guarantee", "NoPrivacy", "PureDP"]


class Guarantee:
    """Base of the guarantees; use one of its subclasses."""

    contributions: int

    @property
    def private(self) -> bool:
        """Whether anything is promised at all."""
        return True


@dataclass(frozen=True)
class PureDP(Guarantee):
    """Pure epsilon-differential privacy: no event, however unlikely, gives anyone away by more than e^epsilon.

    Parameters
    ----------
    epsilon
        The privacy budget; smaller is more private.
    contributions
        How many events one person may take part in (K). The guarantee then covers all of them together.

    Examples
    --------
    >>> PureDP(epsilon=1.0)
    PureDP(epsilon=1.0, contributions=1)
    """

    epsilon: float
    contributions: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", number("epsilon", self.epsilon, above=0))
        object.__setattr__(self, "contributions", whole("contributions", self.contributions))

    def __str__(self) -> str:
        return f"epsilon = {self.epsilon:g}, pure differential privacy"


@dataclass(frozen=True)
class ApproxDP(Guarantee):
    """(epsilon, delta)-differential privacy.

    Parameters
    ----------
    epsilon
        The privacy budget; smaller is more private.
    delta
        The probability that the promise may fail; keep it far below one over the number of people.
    contributions
        How many events one person may take part in (K).

    Examples
    --------
    >>> round(ApproxDP(epsilon=1.0, delta=1e-6).mu, 4)
    0.2367
    """

    epsilon: float
    delta: float
    contributions: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", number("epsilon", self.epsilon, above=0, at_most=100))
        object.__setattr__(self, "delta", number("delta", self.delta, above=0))
        if self.delta >= 1:
            raise ValueError(f"delta must be below 1 (at 1 it promises nothing), got {self.delta!r}")
        object.__setattr__(self, "contributions", whole("contributions", self.contributions))

    @property
    def mu(self) -> float:
        """The largest Gaussian privacy parameter that keeps the promise (exact, not a bound)."""
        return gaussian.mu_for(self.epsilon, self.delta)

    def __str__(self) -> str:
        return f"epsilon = {self.epsilon:g}, delta = {self.delta:g}, approximate differential privacy"


@dataclass(frozen=True)
class ZCDP(Guarantee):
    """Zero-concentrated differential privacy (Bun & Steinke 2016).

    Parameters
    ----------
    rho
        The privacy budget; smaller is more private. A Gaussian release with sensitivity D has rho = D^2/(2 sigma^2).
    contributions
        How many events one person may take part in (K).

    Examples
    --------
    >>> ZCDP(rho=0.5).mu
    1.0
    """

    rho: float
    contributions: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", number("rho", self.rho, above=0))
        object.__setattr__(self, "contributions", whole("contributions", self.contributions))

    @property
    def mu(self) -> float:
        """The largest Gaussian privacy parameter that keeps the promise."""
        return float((2 * self.rho) ** 0.5)

    def __str__(self) -> str:
        return f"rho = {self.rho:g}, zero-concentrated differential privacy"


@dataclass(frozen=True)
class NoPrivacy(Guarantee):
    """No promise at all: for simulations, comparisons, and losses that belong to nobody.

    Examples
    --------
    >>> NoPrivacy().private
    False
    """

    contributions: int = 1

    @property
    def private(self) -> bool:
        """Whether anything is promised at all."""
        return False

    def __str__(self) -> str:
        return "no privacy"
