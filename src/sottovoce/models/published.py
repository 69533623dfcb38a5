"""What is believed, as a public record: a function of released numbers, to look at, to keep, to begin with later."""

import math
import os
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from scipy import sparse

from sottovoce._arrays import Floats, Integers
from sottovoce._disk import write_atomically
from sottovoce._extras import data_frame
from sottovoce._printed import Part, Printed
from sottovoce._records import DamagedRecord, Record, checksum, pack, unpack
from sottovoce.domains.naming import label_text, read_labels
from sottovoce.domains.specification import labels_from, plain_labels
from sottovoce.models.fit_check import FitCheck
from sottovoce.models.known_names import KnownNames, columns_of_names
from sottovoce.models.measurements import Tried, rows_in, rows_record
from sottovoce.privacy.promise import Promise

VERSION = 1
_FORMAT = "sottovoce posterior"
MOST_COVARIANCES = 300
"""Coordinates up to which a posterior holds a covariance of all of them."""


@dataclass(frozen=True, eq=False, repr=False)
class Posterior(Printed):
    """What an optimizer or a study believes about mean losses: a Gaussian, from released numbers alone.

    With `direction="maximize"` all of it is about rewards.

    The mean loss of x is believed to be level + <slopes, x - center>; for convex losses, plus
    curvature |(x - center)/scale|^2/size.

    Attributes
    ----------
    model
        "linear", "radial" for convex losses, or "items" where each item has a loss of its own.
    loss_range
        That losses were clipped to.
    decisions
        (U, n), those that were played; sparse where there are many coordinates. Columns of `others` come last.
    means, precisions, events
        (U,): the mean loss that was released of each, one over its variance, and the events behind it.
    center
        (n,), what decisions are measured from.
    slopes, level, curvature
        Posterior means; the curvature is 0 for linear losses.
    deviations
        (n,), of the slopes; None where there are too many coordinates.
    covariance
        Of slopes, level and curvature, in this order; None beyond a few hundred coordinates.
    scale, size
        Of the curved part.
    rounds
        Rounds that it rests on.
    fit_check
        How well the released numbers fit the model.
    labels
        Names of the coordinates, if the set has any: by these, `prior` finds them again, in whatever order.
    others
        Names of what some of the decisions had, and the set no longer has.
    promises
        What was promised to everybody whose losses are in it: by the run that it is of, then by those behind its prior.
    direction
        "minimize", or "maximize" if it is about rewards.

    Examples
    --------
    >>> import sottovoce as sv
    >>> optimizer = sv.PrivateBandit(
    ...     sv.domains.Simplex(4),
    ...     horizon=2_000,
    ...     loss_range=(0.0, 1.0),
    ...     privacy=sv.NoPrivacy(),
    ...     losses="linear",
    ...     exploration="posterior",
    ...     seed=1,
    ... )
    >>> actions = optimizer.ask(1_500)
    >>> optimizer.tell(actions.ids, actions.x @ [0.9, 0.2, 0.8, 0.7])
    >>> posterior = optimizer.posterior()
    >>> loss, deviation = posterior.predict([0.0, 1.0, 0.0, 0.0])
    >>> abs(loss - 0.2) < 3 * deviation
    True
    """

    model: str
    loss_range: tuple[float, float]
    decisions: Any
    means: Floats
    precisions: Floats
    events: Floats
    center: Floats
    slopes: Floats
    level: float
    curvature: float = 0.0
    deviations: Floats | None = None
    covariance: Floats | None = None
    scale: Floats | None = None
    size: int = 1
    rounds: int = 0
    fit_check: FitCheck = field(default_factory=lambda: FitCheck(0.0, 0.0, 1.0))
    promises: tuple[Promise, ...] = ()
    labels: tuple[Hashable, ...] | None = None
    direction: str = "minimize"
    others: tuple[Hashable, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "promises", tuple(self.promises) or (Promise(None),))

    @property
    def privacy(self) -> str:
        """All promises, in words."""
        return "; before, in the prior: ".join(map(str, self.promises))

    @property
    def private(self) -> bool:
        """Whether everybody whose losses are in it is protected by the promise of their run."""
        return all(one.private for one in self.promises)

    @property
    def simulated(self) -> bool:
        """Whether any of the noise was simulated, and so protects nobody."""
        return any(one.simulated for one in self.promises)

    @property
    def dimension(self) -> int:
        """Coordinates."""
        return len(self.center)

    def turned(self) -> Self:
        """Return the same about rewards in place of losses, or about losses in place of rewards."""
        low, high = self.loss_range
        return replace(
            self,
            direction="minimize" if self.direction == "maximize" else "maximize",
            loss_range=(0.0 - high, 0.0 - low),
            means=-self.means,
            slopes=-self.slopes,
            level=-self.level,
            curvature=0.0 - self.curvature,
        )

    @property
    def best_first(self) -> Integers:
        """Coordinates in the order of their slopes, the best first."""
        return np.argsort(self.slopes if self.direction == "minimize" else -self.slopes, kind="stable")

    @property
    def names(self) -> tuple[Hashable, ...] | None:
        """Names of all that it is about: the coordinates, and `others`."""
        return None if self.labels is None else self.labels + self.others

    def of_set(self, known: KnownNames | None, labels: tuple[Hashable, ...] | None) -> Self:
        """Return what it says of the set, where it is about all that something is known of.

        Parameters
        ----------
        known
            What it is about; None if that is the set alone.
        labels
            Names of the set's coordinates.
        """
        if known is None:
            return replace(self, labels=labels)
        places, n = known.places, self.dimension
        more = 0 if self.covariance is None else len(self.covariance) - n
        full = np.concatenate([places, n + np.arange(more)])
        return replace(
            self,
            labels=labels,
            others=tuple(known.names[place] for place in known.others.tolist()),
            decisions=self.decisions[:, known.order],
            center=self.center[places],
            slopes=self.slopes[places],
            deviations=None if self.deviations is None else self.deviations[places],
            covariance=None if self.covariance is None else self.covariance[np.ix_(full, full)],
        )

    def _among(self, names: tuple[Hashable, ...] | None) -> Any:
        """Return the decisions with a column for each of these names; as they are, where one of both has none."""
        if names is None or self.names is None or self.names == names:
            return self.decisions
        place = {name: number for number, name in enumerate(self.names)}
        return columns_of_names(self.decisions, np.array([place.get(name, -1) for name in names]))

    def of_items(self, names: tuple[Hashable, ...] | None = None) -> tuple[Floats, Floats]:
        """Return the mean loss of each item of these names and its variance, as released: NaN where nothing was.

        Parameters
        ----------
        names
            All that it knows among them.
        """
        rows = sparse.csr_array(self._among(names))
        means, variances = np.full((2, rows.shape[1]), np.nan)
        means[rows.indices], variances[rows.indices] = self.means, 1 / self.precisions
        return means, variances

    def predict(self, x: Any) -> tuple[float, float | None]:
        """Return the mean loss that is expected of a decision, and its standard deviation where that is known.

        Parameters
        ----------
        x
            A decision, of shape (n,), or rows of them.
        """
        offset = np.asarray(x, dtype=np.float64) - self.center
        if offset.shape != self.center.shape:
            raise ValueError(f"x must have the shape ({self.dimension},), got {np.shape(x)}")
        row = np.append(offset, 1.0)
        if self.scale is not None:
            row = np.append(row, float(((offset / self.scale) ** 2).sum()) / self.size)
        means = np.concatenate([self.slopes, [self.level], [self.curvature][: len(row) - len(self.slopes) - 1]])
        if self.covariance is None:
            if self.model != "items" or self.deviations is None:
                return float(row @ means), None
            return float(row @ means), math.sqrt(float(((offset * self.deviations) ** 2).sum()))
        return float(row @ means), float(np.sqrt(max(0.0, float(row @ self.covariance @ row))))

    def as_tried(self, middle: float, names: tuple[Hashable, ...] | None = None) -> Tried:
        """Return the decisions and their means, measured from `middle`, as a belief takes in what came earlier.

        Parameters
        ----------
        middle
            Of the loss range.
        names
            What decisions are to have a column for: all that it knows among them.
        """
        return Tried(self._among(names), self.precisions, self.precisions * (self.means - middle), self.events)

    def __repr__(self) -> str:
        tried = f"{len(self.means)} decisions in {self.rounds} rounds"
        return f"Posterior({self.model}, {self.dimension} coordinates, {tried})"

    @property
    def _names(self) -> list[Any]:
        return list(range(self.dimension)) if self.labels is None else list(map(label_text, self.labels))

    _name_width = 10

    def _parts(self) -> list[Part]:
        by_item, events = self.model == "items", f"{self.events.sum():,.0f}"
        rows = [("items", f"{len(self.means):,} were shown, {events} times in all")]
        if not by_item:
            tried = f"{len(self.means):,} were tried, {events} events in all"
            rows = [("decisions", tried), ("level", f"{self.level:.4g}")]
        if self.deviations is not None:
            order = self.best_first
            shown = [
                f"{self._names[place]}: {self.slopes[place]:.3g} ± {self.deviations[place]:.2g}" for place in order[:5]
            ]
            what = "coordinate" if self.labels is None else "name"
            rows.append(
                ("best", f"{', '.join(shown)} ({what}: {quantity(self.direction) if by_item else 'slope'} ± deviation)")
            )
        rows.append(("fit", str(self.fit_check)))
        rows += [("prior" if place else "privacy", str(one)) for place, one in enumerate(self.promises)]
        model = "each of" if by_item else f"a {self.model} model of"
        heading = (
            f"Posterior of {self.rounds:,} rounds: {model} {self.dimension:,} {'items' if by_item else 'coordinates'}"
        )
        return [(heading, rows)]

    def to_frame(self) -> Any:
        """Return a pandas table with a row for each coordinate: what it adds to the loss, and how far off that may be.

        For items, that is the loss of each.
        """
        deviations = np.full(self.dimension, np.nan) if self.deviations is None else self.deviations
        return data_frame({"name": self._names, "slope": self.slopes, "deviation": deviations})

    # ------------------------------------------------------------------ keeping

    def to_record(self) -> Record:
        """Return plain values and arrays by name."""
        record = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "decisions"}
        record |= {name: plain(record[name]) for name, (plain, _) in _CODED.items()}
        return record | rows_record(self.decisions)

    @classmethod
    def from_record(cls, record: Record) -> Self:
        """Return what `to_record` returned, its shapes checked.

        Parameters
        ----------
        record
            Plain values and arrays by name.
        """
        given = {one.name: record[one.name] for one in fields(cls) if one.name != "decisions"}
        given |= {name: made(given[name]) for name, (_, made) in _CODED.items()}
        one = cls(decisions=rows_in(record), **given)
        one._check()
        return one

    def _check(self) -> None:
        """Refuse arrays that do not belong together, or hold what no run can have released."""
        count, n = len(self.means), self.dimension
        more = n + 1 + (self.scale is not None)
        shapes = [
            (self.decisions, (count, n + len(self.others))),
            *((one, (count,)) for one in (self.precisions, self.events)),
            *((one, (n,)) for one in (self.slopes, self.deviations, self.scale)),
            (self.covariance, (more, more)),
        ]
        if any(array is not None and array.shape != shape for array, shape in shapes):
            raise ValueError("its arrays do not belong together")
        if self.labels is not None:
            read_labels("its labels", self.names, n + len(self.others))
        numbers = [self.means, self.precisions, self.events, self.center, self.slopes]
        numbers.append(self.decisions if isinstance(self.decisions, np.ndarray) else self.decisions.data)
        if not all(np.isfinite(one).all() for one in numbers) or not (self.precisions > 0).all():
            raise ValueError("it holds numbers that nothing releases")

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write it to one file (plain numbers with a checksum, no pickle) and return its path.

        Parameters
        ----------
        path
            Of the file.
        """
        return write_atomically(path, pack({"format": _FORMAT, "version": VERSION, **self.to_record()}))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read what `save` wrote.

        Parameters
        ----------
        path
            Of the file.
        """
        try:
            record = unpack(Path(path).read_bytes())
            if record.get("format") != _FORMAT:
                raise ValueError("another kind of file")
            if record.get("version") == VERSION:
                return cls.from_record(record)
        except (DamagedRecord, KeyError, TypeError, ValueError, IndexError, AttributeError) as problem:
            raise ValueError(
                f"{os.fspath(path)} is not a posterior saved by sottovoce, or is damaged: {problem}"
            ) from None
        raise ValueError(
            f"{os.fspath(path)} has format version {record['version']!r}; this sottovoce reads {VERSION}: use the one "
            "that wrote it"
        )

    @cached_property
    def _digest(self) -> bytes:
        return checksum(pack(self.to_record()))

    def __eq__(self, other: object) -> bool:
        """Whether both are the same, to the last bit."""
        return isinstance(other, Posterior) and self._digest == other._digest

    def __hash__(self) -> int:
        return hash(self._digest)


def quantity(direction: str) -> str:
    """Return what people tell, in a word: a loss or a reward.

    Parameters
    ----------
    direction
        As for `PrivateBandit`.
    """
    return "reward" if direction == "maximize" else "loss"


def promises_in(record: Record) -> tuple[Promise, ...]:
    """Return the promises of a `record`."""
    return _promises(record["promises"])


def _promises(plain: list[Any]) -> tuple[Promise, ...]:
    return tuple(map(Promise.from_dict, plain))


# What is not kept as it is: how it is kept, and how it is read.
_CODED: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "loss_range": (list, lambda ends: (float(ends[0]), float(ends[1]))),
    "fit_check": (FitCheck.to_dict, lambda plain: FitCheck(**plain)),
    "labels": (plain_labels, labels_from),
    "others": (plain_labels, labels_from),
    "promises": (lambda promises: [one.to_dict() for one in promises], _promises),
}
