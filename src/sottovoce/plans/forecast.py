"""What is to be expected of a plan, with its spread: what rehearsals found.

A bound holds for the worst losses there are, and says little about yours. A forecast is what happened in simulation, in
worlds that were invented over the same set (`sottovoce.rehearsal`). This module only holds it.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from sottovoce._printed import Part, Printed

NO_FORECAST = "none was asked for; sv.plan(...), with the same arguments, rehearses and says what to expect"
"""What a plan says that nobody wanted to rehearse."""

NOT_REHEARSED = "not rehearsed"
"""How the note of a plan begins that could not be rehearsed: it goes on with why."""

_WHICH = (
    "say which world is yours: sv.plan(..., contrast=, scatter=), from a log or a pilot; or run, and ask .forecast(), "
    "which knows from what was released"
)
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
class Case:
    """What is learned if good and bad decisions differ by so much.

    Attributes
    ----------
    contrast, scatter
        How much better the best decision is than never learning, and how much losses at one decision vary (a standard
        deviation), as shares of the loss range.
    share
        Regret over that of never learning; None if runs that there was room for learn too little to tell.
    half
        Events of a run in which half of what can be learned is learned; None where there is no share.
    """

    contrast: float
    scatter: float
    share: Spread | None = None
    half: Spread | None = None

    def __str__(self) -> str:
        if self.share is None or self.half is None:
            return "not known, since the runs that there was room for learn too little to tell"
        if self.share.central >= NOTHING:
            return f"little or nothing is learned; half of it would take {_events(self.half)}"
        return f"{_learned(self.share).words(percent)} is learned; half of it takes {_events(self.half)}"


@dataclass(frozen=True)
class Forecast(Printed):
    """What a plan is expected to do, by rehearsal in invented worlds; `print` it.

    How much is learned depends most on how much good and bad decisions differ (the contrast), and nobody can tell that
    beforehand from a set and a range. Unless it is told, `cases` say what each of a few contrasts would bring, and all
    other numbers are those of one of them, `contrasts`.

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
        Events of a run in which 50%, and 90%, of what can be learned is learned; infinite if no run that was played
        says how many.
    contrasts
        Least and largest of the rehearsed worlds: how much better the best decision is than never learning, as a share
        of the loss range.
    worlds, longest, events
        How many worlds were played, the longest run, and the events of all runs.
    notes
        What a reader should know.
    cases
        Where the contrast is not known: what several would bring.
    """

    horizon: int
    share: Spread
    share_without_privacy: Spread | None
    price: Spread | None
    half: Spread
    most: Spread
    contrasts: tuple[float, float]
    worlds: int
    longest: int
    events: int
    notes: tuple[str, ...] = ()
    cases: tuple[Case, ...] = ()

    @property
    def learned(self) -> Spread:
        """What is learned of what can be: 1 less the share, and 0 where a run does worse than never learning."""
        return _learned(self.share)

    @property
    def hopeless(self) -> bool:
        """Whether little or nothing is learned in a run of this length, in none of the cases."""
        shares = [one.share for one in self.cases] if self.cases else [self.share]
        return all(one is None or one.central >= NOTHING for one in shares)

    @property
    def rows(self) -> tuple[tuple[str, str], ...]:
        """What it says: names and texts."""
        priced, last = self.price is not None, (("from", self._rehearsal()), *(("note", note) for note in self.notes))
        if not self.cases:
            length = f"half of it takes {_events(self.half)}, 90% of it {_events(self.most)}"
            price = (("privacy", self._pricing()),) if priced else ()
            return ("learned", self._learning()), *price, ("length", length), *last
        hopeless = "expect little or nothing to be learned in so few events, whatever your world is like"
        return (
            *((("learned", hopeless),) if self.hopeless else ()),
            *((f"if {one.contrast:.0%}", f"{one}, where losses scatter by {one.scatter:.0%}") for one in self.cases),
            *((("privacy", f"{self._pricing()} (if {self.contrasts[0]:.0%})"),) if priced else ()),
            ("which", _WHICH),
            *last,
        )

    def _parts(self) -> list[Part]:
        head = "(and where four worlds of five should lie)"
        if self.cases:
            head = "if the best decision is better than an average one by so much of the loss range"
        return [(f"Forecast for {self.horizon:,} events{',' if self.cases else ''} {head}", self.rows)]

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
        between = " to ".join(dict.fromkeys((f"{low:.2g}", f"{high:.2g}")))
        longer = f", then extrapolated from {self.longest:,}" if self.longest < self.horizon else ""
        worlds = "1 invented world" if self.worlds == 1 else f"{self.worlds} invented worlds"
        gained = "" if self.cases else f"; there the best decision gains {between} of the loss range"
        return f"{worlds}{' of each kind' if self.cases else ''}, {self.events:,} events simulated{longer}{gained}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that JSON can hold: None for infinity."""
        plain: dict[str, Any] = _finite(asdict(self))
        return plain

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return the forecast that `to_dict` wrote down."""
        cases = tuple(Case(**_with_spreads(one)) for one in data["cases"])
        ends = {"contrasts": tuple(data["contrasts"]), "notes": tuple(data["notes"]), "cases": cases}
        return cls(**_with_spreads(data) | ends)


def _learned(share: Spread) -> Spread:
    return Spread(*(max(0.0, 1 - one) for one in (share.central, share.high, share.low)))


def _with_spreads(plain: Mapping[str, Any]) -> dict[str, Any]:
    """Return plain data with its spreads as such, None in them being infinity."""
    return {
        name: Spread(*(math.inf if end is None else end for end in one.values())) if isinstance(one, Mapping) else one
        for name, one in plain.items()
    }


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return None if value == math.inf else value


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
    >>> _events(Spread(1234, 567, 8901)), _events(Spread(math.inf, 4800, math.inf))
    ('1,200 (570 to 8,900) events', 'more than 4,800 events')
    """
    if math.isfinite(spread.central):
        return spread.words(_count) + " events"
    return f"more than {_count(spread.low)} events" if math.isfinite(spread.low) else "more events than anybody has"


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
