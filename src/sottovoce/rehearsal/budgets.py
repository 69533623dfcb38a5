"""What other budgets would cost: the same plan, rehearsed with more and with less privacy."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sottovoce.plans.forecast import Forecast, Spread
from sottovoce.rehearsal.rehearsing import Progress, Rehearsal

FACTORS = (0.1, 10**-0.5, 1.0, 10**0.5, 10.0)
_WORLDS, _LENGTHS = 2, 2  # that are played again for each budget


@dataclass(frozen=True)
class Prices:
    """What privacy is forecast to multiply the regret by, for several budgets.

    Attributes
    ----------
    budget_name, budgets
        "epsilon" or "rho", and its values, ascending.
    prices
        Of each; they never rise with the budget, because less may be used.
    """

    budget_name: str
    budgets: tuple[float, ...]
    prices: tuple[Spread, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that JSON can hold."""
        spreads = [{"central": one.central, "low": one.low, "high": one.high} for one in self.prices]
        return {self.budget_name: list(self.budgets), "price": spreads}


def prices_of(
    rehearsal: Rehearsal, forecast: Forecast, *, factors: Sequence[float] = FACTORS, progress: Progress | None = None
) -> Prices:
    """Play the longest runs of a rehearsal again with other budgets, and return what each would cost.

    Parameters
    ----------
    rehearsal, forecast
        That were made, and what they say.
    factors
        What the budget is multiplied by; 1 takes what is known already.
    progress
        Called with the runs that are done, and how many there are.

    Examples
    --------
    >>> import sottovoce as sv
    >>> from sottovoce.plans.problem import Problem
    >>> problem = Problem(sv.domains.Simplex(3), 800, (0.0, 1.0), sv.PureDP(1.0), losses="linear", integral=True)
    >>> rehearsal = Rehearsal(problem, "auto", {}, times=0.1)
    >>> rehearsal.play()
    >>> found = prices_of(rehearsal, rehearsal.forecast(), factors=(0.1, 1.0))
    >>> found.budgets, found.prices[0].central >= found.prices[1].central
    ((0.1, 1.0), True)
    """
    privacy: Any = rehearsal.problem.privacy
    own, name = forecast.price, "epsilon" if hasattr(privacy, "epsilon") else "rho"
    assert own is not None
    usual, apart = float(getattr(privacy, name)), own.high / own.central
    worlds = min(_WORLDS, len(rehearsal.worlds))
    lengths = [length for length in sorted(rehearsal.private) if length <= forecast.horizon][-_LENGTHS:]
    before = _logarithm(rehearsal, {length: rehearsal.private[length][:worlds] for length in lengths}, forecast)
    total, done = sum(factor != 1.0 for factor in factors) * worlds * len(lengths), 0
    found = []
    for factor in sorted(factors):
        shift = 0.0
        if factor != 1.0:
            guarantee = replace(privacy, **{name: factor * usual})
            played: dict[int, list[float]] = {}
            for length in lengths:
                played[length] = []
                for number in range(worlds):
                    played[length].append(rehearsal.run(number, length, guarantee))
                    done += 1
                    if progress is not None:
                        progress(done, total)
            shift = _logarithm(rehearsal, played, forecast) - before
        central = own.central * math.exp(shift)
        found.append([central, central / apart, central * apart])
    least = np.maximum(1.0, np.minimum.accumulate(np.array(found), axis=0))
    return Prices(
        name, tuple(float(factor * usual) for factor in sorted(factors)), tuple(Spread(*row) for row in least.tolist())
    )


def _logarithm(rehearsal: Rehearsal, played: dict[int, list[float]], forecast: Forecast) -> float:
    return rehearsal.shares(played).logarithm_at(forecast.horizon)[0]
