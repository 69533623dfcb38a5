"""What is to be expected of a plan, with its spread: what rehearsals found.

A bound holds for the worst losses there are, and says little about yours. A forecast is what happened in simulation, in
worlds that were invented over the same set (`sottovoce.rehearsal`). This module only holds it.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

__all__ = ["NOT_REHEARSED", "NO_FORECAST", "Curve", "Forecast", "Spread", "percent"]

NO_FORECAST = "none was asked for; sv.plan(...), with the same arguments, rehearses and says what to expect"
"""What a plan says that nobody wanted to rehearse."""

NOT_REHEARSED = "not rehearsed"
"""How the note of a plan begins that could not be rehearsed: it goes on with why."""

NOTHING = 0.9  # share of never learning's regret above which little or nothing is learned


@dataclass(frozen=True)
class Spread:
    """A forecast of one number: what to expect, and between what it should lie in four worlds of five.

    Examples
    --------
    >>> print(Spread(0.25, 0.1, 0.5))
    0.25 (0.1 to 0.5)
    """

    central: float
    low: float
    high: float

    def __str__(self) -> str:
        return self.words("{:.3g}".format)

    def words(self, shown: Callable[[float], str]) -> str:
        """Say it, with each number shown in some way."""
        central, low, high = (shown(one) for one in (self.central, self.low, self.high))
        return f"{central} ({low} to {high})"


@dataclass(frozen=True)
class Curve:
    """Regret over that of never learning, at several lengths of a run: what to expect, and its spread.

    Attributes
    ----------
    horizons
        Lengths of runs, ascending.
    shares
        One for each.
    """

    horizons: tuple[int, ...]
    shares: tuple[Spread, ...]

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return the curve that was written down."""
        return cls(tuple(map(int, data["horizons"])), tuple(Spread(**one) for one in data["shares"]))


@dataclass(frozen=True)
class Forecast:
    """What a plan is expected to do, by rehearsal in invented worlds; `print` it.

    Attributes
    ----------
    horizon
        Events of the run that is forecast.
    share
        Its regret, over that of never learning: 0.1 says that 90% of what can be learned is learned.
    share_without_privacy
        The same for the same kind of plan without privacy; None if there is no privacy.
    price
        What privacy multiplies the regret by; None if there is no privacy.
    half, most
        Events of a run in which 50%, and 90%, of what can be learned is learned; infinite if none is long enough.
    contrasts
        Least and largest of the rehearsed worlds: how much better the best decision is than never learning, as a share
        of the loss range.
    curve, curve_without_privacy
        How the share falls with the length of the run.
    worlds, longest, events
        How many worlds were played, the longest run, and the events of all runs.
    notes
        What a reader should know.
    """

    horizon: int
    share: Spread
    share_without_privacy: Spread | None
    price: Spread | None
    half: Spread
    most: Spread
    contrasts: tuple[float, float]
    curve: Curve
    curve_without_privacy: Curve | None
    worlds: int
    longest: int
    events: int
    notes: tuple[str, ...] = ()

    @property
    def learned(self) -> Spread:
        """What is learned of what can be: 1 less the share, and 0 where a run does worse than never learning."""
        return Spread(*(max(0.0, 1 - one) for one in (self.share.central, self.share.high, self.share.low)))

    @property
    def hopeless(self) -> bool:
        """Whether little or nothing is learned in a run of this length."""
        return self.share.central >= NOTHING

    @property
    def rows(self) -> tuple[tuple[str, str], ...]:
        """What it says: names and texts."""
        return (
            ("learned", self._learning()),
            *((("privacy", self._pricing()),) if self.price is not None else ()),
            ("length", f"half of it takes {_events(self.half)}, 90% of it {_events(self.most)}"),
            ("from", self._rehearsal()),
            *(("note", note) for note in self.notes),
        )

    def __str__(self) -> str:
        head = f"Forecast for {self.horizon:,} events (and where four worlds of five should lie)"
        return "\n".join([head, *(f"  {name:<8} {text}" for name, text in self.rows)])

    def _learning(self) -> str:
        regret = f"regret is {self.share.words(percent)} of that of never learning"
        if self.hopeless:
            return f"expect little or nothing to be learned in so few events: {regret}"
        return f"{self.learned.words(percent)} of what a fixed decision can gain over never learning; {regret}"

    def _pricing(self) -> str:
        assert self.price is not None
        assert self.share_without_privacy is not None
        free = percent(max(0.0, 1 - self.share_without_privacy.central))
        return f"multiplies the regret by {self.price.words(_times)}; without it {free} would be learned"

    def _rehearsal(self) -> str:
        low, high = self.contrasts
        between = f"{low:.2g}" if low == high else f"{low:.2g} to {high:.2g}"
        longer = f", then extrapolated from {self.longest:,}" if self.longest < self.horizon else ""
        worlds = "1 invented world" if self.worlds == 1 else f"{self.worlds} invented worlds"
        return (
            f"{worlds}, {self.events:,} events simulated{longer}; there the best decision gains {between} of the loss "
            "range"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that JSON can hold: None for infinity."""
        plain: dict[str, Any] = _finite(asdict(self))
        return plain

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return the forecast that `to_dict` wrote down."""
        plain = dict(data)
        for name in ("share", "share_without_privacy", "price", "half", "most"):
            if plain[name] is not None:
                plain[name] = Spread(**{end: math.inf if one is None else one for end, one in plain[name].items()})
        for name in ("curve", "curve_without_privacy"):
            if plain[name] is not None:
                plain[name] = Curve.from_dict(plain[name])
        return cls(**{**plain, "contrasts": tuple(plain["contrasts"]), "notes": tuple(plain["notes"])})


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and math.isinf(value) else value


def percent(share: float) -> str:
    """Two digits of a percentage that is small, or near to 100; whole ones otherwise.

    Examples
    --------
    >>> [percent(one) for one in (0.0, 0.0123, 0.5, 0.9967, 1.5)]
    ['0%', '1.2%', '50%', '99.7%', '150%']
    """
    digits = 1 if 0.0005 <= share < 0.095 or 0.985 <= share < 0.9995 else 0
    return f"{share:.{digits}%}"


def _times(ratio: float) -> str:
    return f"{ratio:.2g}" if ratio < 10 else f"{ratio:.0f}"


def _events(spread: Spread) -> str:
    """How long a run must be.

    Examples
    --------
    >>> _events(Spread(1234, 567, 8901)), _events(Spread(math.inf, 1e6, math.inf))
    ('1,200 (570 to 8,900) events', 'more events than anybody has (1,000,000 at least)')
    """
    if math.isfinite(spread.central):
        return spread.words(_count) + " events"
    least = f" ({_count(spread.low)} at least)" if math.isfinite(spread.low) else ""
    return f"more events than anybody has{least}"


def _count(events: float) -> str:
    """Two digits, the rest is noise.

    Examples
    --------
    >>> _count(12_345), _count(math.inf)
    ('12,000', 'any number')
    """
    if math.isinf(events):
        return "any number"
    unit = 10 ** max(0, math.floor(math.log10(max(events, 1))) - 1)
    return f"{round(events / unit) * unit:,}"
