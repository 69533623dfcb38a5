"""What was released of probes: all that a belief rests on, as one value that nothing changes later."""

import itertools
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy import sparse

from sottovoce._arrays import Floats, Integers
from sottovoce._records import Record
from sottovoce.models.known_names import widened


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """What one round has released: the mean loss of each probe, the events behind it, and when the round was over.

    Attributes
    ----------
    probes
        The decisions, in rows.
    means
        The mean loss of each.
    counts
        The events behind each.
    end
        Events that had passed when the round was over.
    squares
        The mean of (x - middle)^2/B over the losses x of each, as it was released; None if it was not.
    """

    probes: Floats  # (m, n)
    means: Floats  # (m,)
    counts: Floats  # (m,)
    end: int  # events passed, this round's included
    squares: Floats | None = None  # (m,)


@dataclass(frozen=True, eq=False)
class Tried:
    """Decisions that were played, each once, with all that was released of it taken together.

    Attributes
    ----------
    decisions
        (U, n), a row each; sparse where there are many coordinates.
    precisions, pulls
        (U,): one over the variance of its mean loss, and that times the mean loss.
    events
        (U,): the events behind it; older ones count for less where the world was seen to change.
    """

    decisions: Any
    precisions: Floats
    pulls: Floats
    events: Floats

    def times(self, share: float) -> "Tried":
        """Return the same, counting for a share of what it does."""
        return Tried(self.decisions, share * self.precisions, share * self.pulls, share * self.events)

    def written(self, *, many: bool) -> "Tried":
        """Return the same with decisions kept sparse if there are many coordinates, and written out if not."""
        return replace(self, decisions=written(self.decisions, many=many))

    def with_more(self, other: "Tried") -> "Tried":
        """Return both together; a decision of both is kept once."""
        rows = stacked(self.decisions, other.decisions)
        index = numbered(rows)
        summed = [
            np.bincount(index, np.append(getattr(self, name), getattr(other, name)))
            for name in ("precisions", "pulls", "events")
        ]
        firsts = np.unique(index, return_index=True)[1]
        return Tried(rows[firsts], *(one.astype(np.float64) for one in summed))


@dataclass(frozen=True, eq=False)
class Measurements:
    """Released means, oldest first; a decision that was played more than once is kept once.

    Attributes
    ----------
    decisions
        (U, n), a row for each decision that was played; sparse where there are many coordinates.
    index, means, counts, ends
        (N,): which decision, its mean loss in that round, the events behind it, and when its round was over.

    Examples
    --------
    >>> numbers = Numbers(np.eye(3)[[0, 1, 0]], np.array([0.5, 0.4, 0.6]), np.full(3, 8.0), end=24)
    >>> measurements = Measurements.empty(3).add(numbers)
    >>> measurements.decisions.shape, measurements.index.tolist(), len(measurements)
    ((2, 3), [0, 1, 0], 3)
    """

    decisions: Any
    index: Integers
    means: Floats
    counts: Floats
    ends: Floats
    _places: Mapping[bytes, int] = field(default_factory=dict, repr=False)

    @classmethod
    def empty(cls, dimension: int, *, many: bool = False) -> Self:
        """Return no measurements; `many` coordinates are kept sparse.

        Parameters
        ----------
        dimension
            Of the decisions.
        many
            Whether they are kept sparse.
        """
        rows = sparse.csr_array((0, dimension)) if many else np.empty((0, dimension))
        none = np.empty(0)
        return cls(rows, np.empty(0, dtype=np.int64), none, none, none)

    def __len__(self) -> int:
        return len(self.means)

    @property
    def many(self) -> bool:
        """Whether there are so many coordinates that decisions are kept sparse."""
        return not isinstance(self.decisions, np.ndarray)

    @property
    def rounds(self) -> int:
        """How many rounds it is of."""
        return len(np.unique(self.ends))

    def add(self, numbers: Numbers) -> "Measurements":
        """Return the measurements with one more round.

        Parameters
        ----------
        numbers
            What the round has released.
        """
        rows, places = written(numbers.probes, many=self.many), dict(self._places)
        index = numbered(rows, places)
        found, firsts = np.unique(index, return_index=True)
        fresh = rows[firsts[found >= len(self._places)]]
        return Measurements(
            stacked(self.decisions, fresh) if fresh.shape[0] else self.decisions,
            np.append(self.index, index),
            np.append(self.means, numbers.means),
            np.append(self.counts, numbers.counts),
            np.append(self.ends, np.full(len(index), float(numbers.end))),
            places,
        )

    @cached_property
    def alike(self) -> Floats:
        """For each number, how many numbers of its round are of its decision."""
        _, rounds = np.unique(self.ends, return_inverse=True)
        _, group, size = np.unique(
            rounds.ravel() * self.decisions.shape[0] + self.index, return_inverse=True, return_counts=True
        )
        return np.asarray(size[group.ravel()], dtype=np.float64)

    def in_room(self, like: "Measurements") -> "Measurements":
        """Return the same with as many coordinates as others have, which are 0, and kept as those are.

        Parameters
        ----------
        like
            The others.
        """
        if self.decisions.shape[1] == like.decisions.shape[1] and self.many == like.many:
            return self
        rows = written(widened(self.decisions, like.decisions.shape[1]), many=like.many)
        return Measurements.from_record(replace(self, decisions=rows).record())

    def tried(self, weights: Floats, events: Floats) -> Tried:
        """Return what was released of each decision, each number by its weight.

        Parameters
        ----------
        weights, events
            One for each released number: its precision, and the events that it counts for.
        """
        return Tried(self.decisions, *self.pooled(weights), self.pooled(events)[0])

    def pooled(self, weights: Floats) -> tuple[Floats, Floats]:
        """Return, for each decision, the sum of the weights of its numbers, and of weight times mean.

        Parameters
        ----------
        weights
            One for each released number.
        """
        size = self.decisions.shape[0]
        summed: Floats = np.bincount(self.index, weights, minlength=size).astype(np.float64)
        return summed, np.bincount(self.index, weights * self.means, minlength=size).astype(np.float64)

    def record(self) -> Record:
        """Return it as plain arrays."""
        plain = {"index": self.index, "means": self.means, "counts": self.counts, "ends": self.ends}
        return plain | rows_record(self.decisions)

    @classmethod
    def from_record(cls, record: Record) -> Self:
        """Return what `record` returned."""
        rows = rows_in(record)
        index, means, counts, ends = (np.array(record[name]) for name in ("index", "means", "counts", "ends"))
        return cls(rows, index, means, counts, ends, {key: place for place, key in enumerate(_keys_of(rows))})


def written(rows: Any, *, many: bool = False) -> Any:
    """Return rows sparse if there are many coordinates, and written out if not."""
    if many:
        return sparse.csr_array(rows)
    return np.ascontiguousarray(rows) if isinstance(rows, np.ndarray) else rows.toarray()


def stacked(*rows: Any) -> Any:
    """Return rows above others: sparse, if any are."""
    if all(isinstance(one, np.ndarray) for one in rows):
        return np.vstack(rows)
    return sparse.vstack([sparse.csr_array(one) for one in rows], format="csr")


def numbered(rows: Any, places: MutableMapping[bytes, int] | None = None) -> Integers:
    """Return the same number for rows that are the same, dense or sparse; new ones are added to places.

    Examples
    --------
    >>> numbered(np.array([[0.0, 1.0], [1.0, 0.0], [-0.0, 1.0]]))
    array([0, 1, 0])
    """
    known = {} if places is None else places
    return np.array([known.setdefault(key, len(known)) for key in _keys_of(rows)], dtype=np.int64)


def _keys_of(rows: Any) -> list[bytes]:
    """Return something for each row that is the same for equal ones alone: their bytes, for sorting takes long."""
    if isinstance(rows, np.ndarray):
        return [row.tobytes() for row in rows + 0.0]  # 0 and -0 are the same
    columns, entries = rows.indices.astype(np.int64), rows.data.astype(np.float64)
    ends = itertools.pairwise(rows.indptr.tolist())
    return [columns[first:end].tobytes() + entries[first:end].tobytes() for first, end in ends]


def rows_record(rows: Any) -> Record:
    """Return decisions as plain arrays, which hold no zeros if they are sparse."""
    if isinstance(rows, np.ndarray):
        return {"decisions": rows}
    rows.sort_indices()
    return {
        "columns": rows.indices.astype(np.int64),
        "starts": rows.indptr.astype(np.int64),
        "entries": rows.data.astype(np.float64),
        "dimension": int(rows.shape[1]),
    }


def rows_in(record: Record) -> Any:
    """Return the decisions that `rows_record` wrote down; refuse arrays that are none."""
    if "decisions" in record:
        return np.array(record["decisions"])
    shape = (len(record["starts"]) - 1, int(record["dimension"]))
    rows = sparse.csr_array(tuple(np.array(record[name]) for name in ("entries", "columns", "starts")), shape=shape)
    rows.check_format()
    return rows
