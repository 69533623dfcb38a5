"""How alike segments are: which share of what is believed of one alone each part of its coefficients has."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

SHARES = (0.00003, 0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
"""What a part of the coefficients may have of their prior variance."""
_FIRST = 4  # of SHARES, before anything is known
_DECADES = 1.5  # by which a share is expected to differ from the first one: the prior of the shares


@dataclass(frozen=True)
class VarianceShares:
    """How alike segments are: places in `SHARES`.

    Attributes
    ----------
    residual
        What a segment has of its own.
    level
        What the level of its losses has of its own.
    effects
        What factors, and features, have: one for each group after the first.
    """

    residual: int = _FIRST
    level: int = len(SHARES) - 1
    effects: tuple[int, ...] = ()

    def places(self) -> tuple[int, ...]:
        """Return all of them in a row."""
        return self.residual, self.level, *self.effects

    @classmethod
    def at(cls, places: Sequence[int]) -> "VarianceShares":
        """Return what has these in a row.

        Parameters
        ----------
        places
            As `places` returns them.
        """
        return cls(int(places[0]), int(places[1]), tuple(int(one) for one in places[2:]))

    def shares(self) -> tuple[float, tuple[float, ...]]:
        """Return the shares of the residual, and of everybody and the effects: they add up to one."""
        own, effects = SHARES[self.residual], [SHARES[one] for one in self.effects]
        common = max(SHARES[0], 1 - own - sum(effects))
        whole = own + sum(effects) + common
        return own / whole, tuple(one / whole for one in (common, *effects))

    @classmethod
    def first(cls, effects: int) -> "VarianceShares":
        """Return what is taken for granted before anything is known.

        Parameters
        ----------
        effects
            How many factors there are, features counted as one.
        """
        return cls(effects=(_FIRST,) * effects)

    def starts(self) -> "list[VarianceShares]":
        """Where to look from: here; and from each factor being all there is, which no single step leads to."""
        alone = np.full((len(self.effects),) * 2, _FIRST)
        np.fill_diagonal(alone, len(SHARES) - 1)
        return [self, *(VarianceShares.at((_FIRST, self.level, *row)) for row in alone.tolist())]

    def stepped(self, which: int, step: int) -> "VarianceShares | None":
        """Return the same with one place moved; None if there is no such place.

        Parameters
        ----------
        which
            Of `places`.
        step
            By how many.
        """
        places = list(self.places())
        places[which] += step
        return VarianceShares.at(places) if 0 <= places[which] < len(SHARES) else None

    def log_prior(self) -> float:
        """How far it is from what was taken for granted at first, as a log-density up to a constant."""
        shares = np.array(SHARES)
        first = VarianceShares.first(len(self.effects))
        away = np.log10(shares[list(self.places())] / shares[list(first.places())]) / _DECADES
        return -float((away**2).sum()) / 2
