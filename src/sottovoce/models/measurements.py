"""What was released of probes: all that a belief rests on, as one value that nothing changes later."""

import itertools
from collections.abc import Mapping
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
        return replace(self, decisions=_written(self.decisions, many=many))

    def with_more(self, other: "Tried") -> "Tried":
        """Return both together; a decision of both is kept once."""
        rows: Any = sparse.vstack([sparse.csr_array(one.decisions) for one in (self, other)], format="csr")
        places: dict[bytes, int] = {}
        index: Integers = np.array([places.setdefault(key, len(places)) for key in keys_of(rows)], dtype=np.int64)
        summed = [
            np.bincount(index, np.append(getattr(self, name), getattr(other, name)), minlength=len(places))
            for name in ("precisions", "pulls", "events")
        ]
        joined = rows[np.unique(index, return_index=True)[1]]
        both = isinstance(self.decisions, np.ndarray) and isinstance(other.decisions, np.ndarray)
        return Tried(_written(joined, many=not both), *(one.astype(np.float64) for one in summed))


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
        places, index, fresh = dict(self._places), [], []
        many = not isinstance(self.decisions, np.ndarray)
        for row in numbers.probes:
            key = _short_key(np.flatnonzero(row), row[row != 0]) if many else row.tobytes()
            if key not in places:
                places[key] = len(places)
                fresh.append(row)
            index.append(places[key])
        return Measurements(
            self._joined(fresh),
            np.append(self.index, np.array(index, dtype=np.int64)),
            np.append(self.means, numbers.means),
            np.append(self.counts, numbers.counts),
            np.append(self.ends, np.full(len(index), float(numbers.end))),
            places,
        )

    def _joined(self, fresh: list[Floats]) -> Any:
        if not fresh:
            return self.decisions
        if isinstance(self.decisions, np.ndarray):
            return np.vstack([self.decisions, *fresh])
        return sparse.vstack([self.decisions, sparse.csr_array(np.array(fresh))], format="csr")

    @cached_property
    def alike(self) -> Floats:
        """For each number, how many numbers of its round are of its decision."""
        if not len(self):
            return np.empty(0)
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
        many = not isinstance(like.decisions, np.ndarray)
        if self.decisions.shape[1] == like.decisions.shape[1] and isinstance(self.decisions, np.ndarray) != many:
            return self
        rows = _written(widened(self.decisions, like.decisions.shape[1]), many=many)
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
        if isinstance(self.decisions, np.ndarray):
            return plain | {"decisions": self.decisions}
        return plain | sparse_record(self.decisions)

    @classmethod
    def from_record(cls, record: Record) -> Self:
        """Return what `record` returned."""
        rows = np.array(record["decisions"]) if "decisions" in record else from_sparse_record(record)
        keys = [row.tobytes() for row in rows] if isinstance(rows, np.ndarray) else keys_of(rows)
        index, means, counts, ends = (np.array(record[name]) for name in ("index", "means", "counts", "ends"))
        return cls(rows, index, means, counts, ends, {key: place for place, key in enumerate(keys)})


def _written(rows: Any, *, many: bool) -> Any:
    """Return rows sparse if there are many coordinates, and written out if not."""
    kept = sparse.csr_array(rows)
    return kept if many else kept.toarray()


def groups_of(rows: Floats) -> Integers:
    """Return the same number for rows that are the same: by their bytes, for sorting them takes long."""
    places: dict[bytes, int] = {}
    keys = ((row + 0.0).tobytes() for row in rows)  # 0 and -0 are the same
    return np.array([places.setdefault(key, len(places)) for key in keys], dtype=np.int64)


def sparse_record(rows: Any) -> Record:
    """Return rows as plain arrays that hold no zeros."""
    rows = sparse.csr_array(rows)
    rows.sort_indices()
    return {
        "columns": rows.indices.astype(np.int64),
        "starts": rows.indptr.astype(np.int64),
        "entries": rows.data.astype(np.float64),
        "dimension": int(rows.shape[1]),
    }


def from_sparse_record(record: Record) -> Any:
    """Return the rows that `sparse_record` wrote down, sparse; refuse arrays that are none."""
    shape = (len(record["starts"]) - 1, int(record["dimension"]))
    rows = sparse.csr_array(tuple(np.array(record[name]) for name in ("entries", "columns", "starts")), shape=shape)
    rows.check_format()
    return rows


def keys_of(rows: Any) -> list[bytes]:
    """Return something for each sparse row that is the same for equal ones alone, and as short as its entries."""
    return [_short_key(rows.indices[first:end], rows.data[first:end]) for first, end in itertools.pairwise(rows.indptr)]


def _short_key(columns: Any, entries: Any) -> bytes:
    return bytes(columns.astype(np.int64).tobytes() + entries.astype(np.float64).tobytes())
