"""What one run has promised to the people in it, as a value that travels with everything that holds their losses.

Nothing is released here. A posterior that begins another run takes its promises along: people of the first run were
promised what that run promised, whatever later runs promise to theirs. Two promises that read alike are two: somebody
may be in both runs, and has both budgets.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sottovoce.privacy.guarantees import Guarantee, guarantee_from_dict

__all__ = ["Promise", "unit_of"]


def unit_of(guarantee: Guarantee) -> str:
    """Return whose data a guarantee protects, in words."""
    count = guarantee.contributions
    return "one event's loss" if count == 1 else f"one person's losses, in up to {count} events"


@dataclass(frozen=True)
class Promise:
    """What one run promised.

    Attributes
    ----------
    guarantee
        As a value; None if it is not known.
    simulated
        Whether the noise came from a seed, and protects nobody.
    recorded
        Of a promise that is not known: what was on record of it.

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
    recorded: str = ""

    @property
    def private(self) -> bool:
        """Whether anybody is protected, as far as is known."""
        return self.guarantee is not None and self.guarantee.private and not self.simulated

    @property
    def headline(self) -> str:
        """The promise in one line."""
        if self.guarantee is None:
            record = f", on record as {self.recorded!r}" if self.recorded else ""
            return f"a promise that is not known{record}: taken for NOT PRIVATE"
        if not self.guarantee.private:
            return "no privacy: NOT PRIVATE"
        return f"{self.guarantee}" + (" (SIMULATED NOISE: NOT PRIVATE)" if self.simulated else "")

    def __str__(self) -> str:
        return f"{self.headline}, for {unit_of(self.guarantee)}" if self.private and self.guarantee else self.headline

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, for JSON; `from_dict` reads it back."""
        plain = None if self.guarantee is None else self.guarantee.to_dict()
        return {"guarantee": plain, "simulated": self.simulated, "recorded": self.recorded}

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
        return cls(guarantee, bool(plain["simulated"]), str(plain["recorded"]))
