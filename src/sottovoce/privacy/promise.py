"""What one run has promised to the people in it, as a value that travels with everything that holds their losses.

Nothing is released here. A posterior that begins another run takes its promises along: people of the first run were
promised what that run promised, whatever later runs promise to theirs. Two promises that read alike are two: somebody
may be in both runs, and has both budgets.
"""

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sottovoce.privacy.guarantees import ZCDP, Guarantee, LocalDP, guarantee_from_dict

UNSPENT = "nothing so far"
"""What is spent before anything was released."""

_LARGE, _SMALL = 10.0, 1e-6  # of epsilon, or of what stands for it


def unit_of(guarantee: Guarantee) -> str:
    """Return whose data a guarantee protects, in words."""
    count = guarantee.contributions
    return "one event's loss" if count == 1 else f"one person's losses, in up to {count} events"


def spent_words(guarantee: Guarantee, *, told: int, rounds: int) -> str:
    """Return what is spent: all with the first closed round, which covers the run; by each report that its owner made.

    Examples
    --------
    >>> from sottovoce.privacy import PureDP
    >>> spent_words(PureDP(1.0), told=3, rounds=0)
    'nothing so far'
    >>> spent_words(LocalDP(1.0), told=3, rounds=0)
    'by the owners of 3 reports, as these were made: epsilon = 1, local differential privacy'
    """
    if not guarantee.private:
        return "nothing is protected"
    if isinstance(guarantee, LocalDP):
        reports = "1 report, as it was" if told == 1 else f"{told:,} reports, as these were"
        return f"by the owners of {reports} made: {guarantee}" if told else UNSPENT
    return f"all of it, which covers the whole run: {guarantee}" if rounds else UNSPENT


def cautions_of(guarantee: Guarantee, horizon: int | None) -> tuple[str, ...]:
    """Return what speaks against a promise: that it protects hardly anybody, or that nothing can be learned under it.

    Examples
    --------
    >>> from sottovoce.privacy import PureDP
    >>> cautions_of(PureDP(1.0, contributions=4), 10_000)
    ()
    >>> cautions_of(PureDP(1.0, contributions=400), 100)[0][:62]
    'contributions = 400, and there are only 100 events: the noise '
    """
    if not guarantee.private:
        return ()
    if isinstance(guarantee, ZCDP):  # the epsilon that a Laplace noise of the same deviation would have, about
        budget, size = f"rho = {guarantee.rho:g}", guarantee.mu
    else:
        size = guarantee.epsilon  # type: ignore[attr-defined]
        budget = f"epsilon = {size:g}"
    count, found = guarantee.contributions, []
    if size > _LARGE:
        found.append(
            f"{budget} protects hardly anybody: others can be all but sure of one person's loss. Take 1 or less"
        )
    if horizon is not None and count > horizon:
        found.append(
            f"contributions = {count:,}, and there are only {horizon:,} events: the noise is that of {count:,}. Take "
            "as many as one person can be in"
        )
    if horizon is not None and size * math.ceil(horizon / count) < 1:  # group privacy: everybody's losses replaced
        found.append(
            f"{budget} lets next to nothing be learned from {horizon:,} events, by whatever algorithm: all losses "
            "together show less than one loss does at epsilon = 1. Take more events, a larger budget or fewer "
            "contributions"
        )
    elif size < _SMALL:
        found.append(f"{budget} hides a million losses together as epsilon = 1 hides one: expect to learn nothing")
    return tuple(found)


def warn_of(guarantee: Guarantee, horizon: int | None = None, *, simulated: bool, level: int) -> None:
    """Warn whoever makes a promise of what speaks against it, unless it is made to nobody.

    Parameters
    ----------
    guarantee, horizon
        As for `cautions_of`.
    simulated
        Whether the noise comes from a seed.
    level
        Of whoever makes the promise, as `warnings` counts.
    """
    for one in () if simulated else cautions_of(guarantee, horizon):
        warnings.warn(one, stacklevel=level + 1)


@dataclass(frozen=True)
class Promise:
    """What one run promised.

    Attributes
    ----------
    guarantee
        As a value; None if it is not known.
    simulated
        Whether the noise came from a seed, and protects nobody.

    Examples
    --------
    >>> from sottovoce.privacy import PureDP
    >>> print(Promise(PureDP(epsilon=1.0, contributions=4)))
    epsilon = 1, pure differential privacy, for one person's losses, in up to 4 events
    >>> Promise(PureDP(epsilon=1.0), simulated=True).private
    False
    """

    guarantee: Guarantee | None
    simulated: bool = False

    @property
    def private(self) -> bool:
        """Whether anybody is protected, as far as is known."""
        return self.guarantee is not None and self.guarantee.private and not self.simulated

    @property
    def headline(self) -> str:
        """The promise in one line."""
        if self.guarantee is None:
            return "a promise that is not known: taken for NOT PRIVATE"
        if not self.guarantee.private:
            return "no privacy: NOT PRIVATE"
        return f"{self.guarantee}" + (" (SIMULATED NOISE: NOT PRIVATE)" if self.simulated else "")

    def __str__(self) -> str:
        return f"{self.headline}, for {unit_of(self.guarantee)}" if self.private and self.guarantee else self.headline

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, for JSON; `from_dict` reads it back."""
        plain = None if self.guarantee is None else self.guarantee.to_dict()
        return {"guarantee": plain, "simulated": self.simulated}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> "Promise":
        """Return what `to_dict` wrote down.

        Parameters
        ----------
        plain
            Plain data, as for JSON.
        """
        given = plain["guarantee"]
        guarantee = None if given is None else guarantee_from_dict(given)
        return cls(guarantee, bool(plain["simulated"]))
