"""What is promised: differential privacy in its several currencies.

Neighbours: two loss sequences are neighbours if one *person's* losses are replaced, a person being at most
`contributions` events. Every guarantee is about the whole transcript of actions, against an adversary who sees all of
them and knows every other loss.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any

from sottovoce._checks import number, whole
from sottovoce.privacy import gaussian

_LARGEST_DELTA = 0.01  # a promise that fails for one person in a hundred protects nobody


class Guarantee:
    """Base of the guarantees; use one of its subclasses."""

    contributions: int

    def __post_init__(self) -> None:
        for field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            checked = whole(field.name, value) if field.name == "contributions" else number(field.name, value, above=0)
            object.__setattr__(self, field.name, checked)

    def to_dict(self) -> dict[str, Any]:
        """Return the guarantee as plain data, for JSON; `guarantee_from_dict` reads it back."""
        return {"kind": type(self).__name__, **vars(self)}

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
        The probability that the promise may fail; keep it far below one over the number of people. More than 0.01 is
        refused: a mechanism that publishes one person in a hundred would keep such a promise.
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
        super().__post_init__()
        number("epsilon", self.epsilon, at_most=100)
        if self.delta >= 1:
            raise ValueError(f"delta must be below 1 (at 1 it promises nothing), got {self.delta!r}")
        if self.delta > _LARGEST_DELTA:
            raise ValueError(
                f"delta must be at most {_LARGEST_DELTA:g}, got {self.delta!r}: publishing everything of one person in "
                f"{1 / self.delta:.3g} would keep such a promise. Take far less than one over the number of people"
            )

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

    @property
    def mu(self) -> float:
        """The largest Gaussian privacy parameter that keeps the promise."""
        return float((2 * self.rho) ** 0.5)

    def __str__(self) -> str:
        return f"rho = {self.rho:g}, zero-concentrated differential privacy"


@dataclass(frozen=True)
class LocalDP(Guarantee):
    """Local epsilon-differential privacy: a loss is randomised before it leaves its owner (see `privacy.local`).

    Parameters
    ----------
    epsilon
        The privacy budget of one person, against everybody, whoever runs the optimizer included; 8 a report at most.
    contributions
        How many reports one person may send (K). Their budgets add up, so each gets epsilon/K.

    Examples
    --------
    >>> LocalDP(epsilon=1.0, contributions=4).per_report
    0.25
    """

    epsilon: float
    contributions: int = 1

    @property
    def per_report(self) -> float:
        """The budget of one report: the largest float that K times over does not exceed epsilon."""
        share = self.epsilon / self.contributions
        while Fraction(share) * self.contributions > Fraction(self.epsilon):
            share = math.nextafter(share, 0.0)
        return share

    def __str__(self) -> str:
        return f"epsilon = {self.epsilon:g}, local differential privacy"


@dataclass(frozen=True)
class NoPrivacy(Guarantee):
    """No promise at all: for simulations, comparisons, and losses that belong to nobody.

    Parameters
    ----------
    contributions
        Events per person at most; it changes nothing here.

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


_KINDS = {kind.__name__: kind for kind in (PureDP, ApproxDP, ZCDP, LocalDP, NoPrivacy)}


def guarantee_from_dict(plain: Mapping[str, Any]) -> Guarantee:
    """Return the guarantee that `to_dict` wrote down.

    Parameters
    ----------
    plain
        Plain data, as for JSON.

    Examples
    --------
    >>> guarantee_from_dict(ZCDP(rho=0.5).to_dict())
    ZCDP(rho=0.5, contributions=1)
    """
    values = dict(plain)
    kind = values.pop("kind", None)
    if kind not in _KINDS:
        raise ValueError(f"kind must be one of {', '.join(_KINDS)}, got {kind!r}")
    made: Guarantee = _KINDS[kind](**values)
    return made
