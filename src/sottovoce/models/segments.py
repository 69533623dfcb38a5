"""Whom a decision is for: kinds of people or occasions, public, with what makes them alike."""

import difflib
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from sottovoce._arrays import Floats
from sottovoce._checks import whole
from sottovoce._records import Record
from sottovoce.errors import UnknownSegment

MOST_SEGMENTS = 4096
"""How many segments there can be: ids say which one an action is for."""
_SHOWN = 6  # names, in an error

Segment = str | int | tuple[str | int, ...]
"""A segment, by name; by one level of each factor where there are factors."""


class Segments:
    """Kinds of people or occasions, public, for each of which decisions are taken.

    Parameters
    ----------
    names
        Texts or whole numbers, such as ``["phone", "desktop", "tablet"]``.
    factors
        In place of names, levels by factor: ``{"device": ["phone", "desktop"], "country": ["it", "de", "fr"]}``. A
        segment is one level of each, ``("phone", "it")`` or ``{"device": "phone", "country": "it"}``.
    features
        A row of numbers for each segment, in the order of the names (of the product of the factors), or by name: what
        is public and the same for all of its members, such as the hour of the day or the stock. Segments with like rows
        are expected to be alike.
    limit
        Segments that were not named are opened on first use, until there are so many in all. None: they are refused.

    Examples
    --------
    >>> Segments(["phone", "desktop"])
    Segments(['phone', 'desktop'])
    >>> both = Segments(factors={"device": ["phone", "desktop"], "country": ["it", "de"]})
    >>> both.key({"country": "de", "device": "phone"})
    ('phone', 'de')
    >>> Segments(limit=200).key("a page that nobody has heard of")
    'a page that nobody has heard of'
    """

    factors: dict[str, tuple[str | int, ...]]
    names: tuple[Segment, ...]
    features: Floats | None

    def __init__(
        self,
        names: Iterable[str | int] | None = None,
        *,
        factors: Mapping[str, Iterable[str | int]] | None = None,
        features: Any = None,
        limit: int | None = None,
    ) -> None:
        self.factors = {_word(name): _levels(name, one) for name, one in (factors or {}).items()}
        self.names = tuple(itertools.product(*self.factors.values())) if self.factors else _levels("names", names or ())
        self.limit = None if limit is None else whole("limit", limit, most=MOST_SEGMENTS)
        count = len(self.names)
        if names is not None and factors is not None:
            raise ValueError("segments have names or factors, not both: the product of the factors gives the names")
        if not count and limit is None:
            raise ValueError("segments are empty: name them, or say how many may be opened on first use, limit=200")
        if count > MOST_SEGMENTS:
            raise ValueError(f"there can be {MOST_SEGMENTS:,} segments at most, got {count:,}")
        if limit is not None and self.factors:
            raise ValueError("limit is for segments without factors: name the levels of the factors, all of them")
        if limit is not None and limit < count:
            raise ValueError(f"limit={limit} is less than the {count} segments that are named")
        self._places = {name: place for place, name in enumerate(self.names)}
        self.features = None if features is None else _rows(features, self.names)

    @classmethod
    def of(cls, given: Any) -> "Segments":
        """Return what `segments=` was given, as one kind of value.

        Parameters
        ----------
        given
            A list of names, a mapping of factors to their levels, or `Segments`.
        """
        if isinstance(given, Segments):
            return given
        return cls(factors=given) if isinstance(given, Mapping) else cls(_levels("segments", given))

    @property
    def most(self) -> int:
        """How many segments there can be."""
        return len(self.names) if self.limit is None else self.limit

    def key(self, segment: Any) -> Segment:
        """Return a segment as it is kept; refuse one that is none.

        Parameters
        ----------
        segment
            A name; where there are factors, a level of each, in their order or by name.
        """
        if self.factors:
            return self._of_factors(segment)
        segment = _plain(segment)
        if not _is_name(segment):
            raise UnknownSegment(f"segment must be a text or a whole number, got {_short(segment)}")
        if segment not in self._places and self.limit is None:
            raise _unknown("segment", segment, self.names)
        named: Segment = segment
        return named

    def _of_factors(self, segment: Any) -> Segment:
        levels = [segment] if isinstance(segment, str) or not isinstance(segment, Iterable) else list(segment)
        if isinstance(segment, Mapping):
            levels = [segment[name] for name in self.factors] if set(segment) == set(self.factors) else []
        if len(levels) != len(self.factors):
            wanted = ", ".join(map(repr, self.factors))
            raise UnknownSegment(f"segment must be a level of each of {wanted}, got {_short(segment)}")
        plain = tuple(map(_plain, levels))
        for (name, known), level in zip(self.factors.items(), plain, strict=True):
            if not _is_name(level) or level not in known:
                raise _unknown(f"the level of {name!r} in segment", level, known)
        return plain

    # ------------------------------------------------------------------ how they may be alike

    @property
    def groups(self) -> tuple[tuple[str, int], ...]:
        """What segments may have in common, by name, with how many columns of `row` each has."""
        parts = [("everybody", 1), *((name, len(levels)) for name, levels in self.factors.items())]
        if self.features is not None:
            parts.append(("features", self.features.shape[1]))
        return tuple(parts)

    def row(self, segment: Segment) -> Floats:
        """Return what a segment shares with others: 1, a 1 for the level of each factor, and its features.

        Parameters
        ----------
        segment
            As `key` returns it.
        """
        parts = [np.ones(1)]
        if self.factors:
            assert isinstance(segment, tuple)
            parts += [
                np.array([float(level == one) for one in levels])
                for level, levels in zip(segment, self.factors.values(), strict=True)
            ]
        if self.features is not None:
            none = np.zeros(self.features.shape[1])
            parts.append(self.features[self._places[segment]] if segment in self._places else none)
        return np.concatenate(parts)

    # ------------------------------------------------------------------ keeping

    def to_record(self) -> Record:
        """Return plain data."""
        plain = {name: list(levels) for name, levels in self.factors.items()}
        record: Record = {"names": [] if plain else list(self.names), "factors": plain or None, "limit": self.limit}
        return record if self.features is None else {**record, "features": self.features}

    @classmethod
    def from_record(cls, record: Record) -> "Segments":
        """Return what `to_record` returned.

        Parameters
        ----------
        record
            Plain data.
        """
        factors, names = record.get("factors"), record.get("names")
        made = cls(None if factors else names, factors=factors or None, limit=record.get("limit"))
        if record.get("features") is not None:
            made.features = np.array(record["features"], dtype=np.float64)  # as they were scaled
            made.features.setflags(write=False)
        return made

    @property
    def _says(self) -> tuple[Any, ...]:
        features = None if self.features is None else self.features.tobytes()
        return self.names, tuple(self.factors.items()), self.limit, features

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Segments) and self._says == other._says

    def __hash__(self) -> int:
        return hash(self._says)

    def __repr__(self) -> str:
        parts = [_short(list(self.names))] if self.names else []
        if self.factors:
            parts = [f"factors={_short({name: list(one) for name, one in self.factors.items()})}"]
        if self.features is not None:
            parts.append(f"features of {self.features.shape[1]} columns")
        if self.limit is not None:
            parts.append(f"limit={self.limit}")
        return f"Segments({', '.join(parts)})"


def segment_text(segment: Segment) -> str:
    """Say a segment in a word or two.

    Parameters
    ----------
    segment
        As `Segments.key` returns it.

    Examples
    --------
    >>> segment_text("phone"), segment_text(("phone", "it"))
    ('phone', 'phone, it')
    """
    return ", ".join(map(str, segment)) if isinstance(segment, tuple) else str(segment)


def _is_name(value: Any) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _unknown(what: str, given: Any, known: Sequence[Any]) -> UnknownSegment:
    shown = ", ".join(repr(one) for one in known[:_SHOWN]) + (", ..." if len(known) > _SHOWN else "")
    close = difflib.get_close_matches(str(given), [str(one) for one in known], n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    return UnknownSegment(f"{what} must be one of {shown}, got {_short(given)}{hint}")


def _word(name: Any) -> str:
    if not isinstance(name, str) or not name:
        raise TypeError(f"the name of a factor must be a text, got {name!r}")
    return name


def _levels(what: str, given: Any) -> tuple[str | int, ...]:
    levels = () if isinstance(given, str) or not isinstance(given, Iterable) else tuple(map(_plain, given))
    wrong = [one for one in levels if not _is_name(one)]
    if wrong or isinstance(given, str) or not isinstance(given, Iterable):
        raise TypeError(f"{what} must be a list of texts or whole numbers, got {_short(wrong[0] if wrong else given)}")
    twice = [one for place, one in enumerate(levels) if one in levels[:place]] if len(set(levels)) < len(levels) else []
    if twice:
        raise ValueError(f"{what} of segments must all be different, and {twice[0]!r} is there twice")
    return levels


def _rows(features: Any, names: tuple[Segment, ...]) -> Floats:
    """Return features of segments, each column around 0, and all of them together of about the size of 1."""
    if not names:
        raise ValueError("features are of segments that are named: pass names or factors as well")
    if isinstance(features, Mapping):
        if set(features) != set(names):
            missing = [one for one in names if one not in features]
            raise ValueError(f"features must have a row for each segment; there is none for {_short(missing[:_SHOWN])}")
        features = [features[one] for one in names]
    try:
        rows: Floats = np.array(features, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("features must be numbers, a row for each segment") from None
    if rows.ndim == 1:
        rows = rows[:, None]
    if rows.ndim != 2 or len(rows) != len(names) or not rows.size or not np.isfinite(rows).all():
        raise ValueError(
            f"features must be finite numbers of the shape ({len(names)}, features), a row for each segment; got "
            f"{rows.shape}"
        )
    rows = rows - rows.mean(axis=0)
    size = np.sqrt((rows**2).mean(axis=0))
    if not (size > 0).all():
        raise ValueError("features have a column that is the same for all segments, and says nothing: leave it out")
    rows = rows / (size * np.sqrt(rows.shape[1]))
    rows.setflags(write=False)
    return rows


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:117]}..."
