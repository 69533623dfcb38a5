"""Decisions without the room that they take: a few, of which each event plays one.

Among 10^5 coordinates, of which 20 are chosen, a block of 256 decisions written out takes 200 MB to say 5,000 numbers.
A round of posterior probes has a dozen decisions at most, and its events share them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from sottovoce._arrays import Floats, Integers
from sottovoce.domains import Domain
from sottovoce.domains.naming import own_copy
from sottovoce.models.measurements import stacked, written

_MANY = 600  # coordinates up to which decisions are written out
_THIN = 4  # beyond, one of which less than one in so many entries is not 0 is kept by these


def kept(rows: Any) -> Any:
    """Return decisions read-only; sparse, if most of many entries are 0.

    Parameters
    ----------
    rows
        (m, n), written out; or sparse already.

    Examples
    --------
    >>> kept(np.eye(800)[[2, 5]]).nnz, kept(np.eye(8)[[2, 5]]).shape
    (2, (2, 8))
    """
    if not isinstance(rows, np.ndarray):
        return rows
    many = rows.shape[1] > _MANY and _THIN * np.count_nonzero(rows) < rows.size
    return csr_array(rows) if many else _locked(rows.view())


def by_entries(columns: Sequence[Integers], entries: Sequence[Floats], dimension: int) -> Any:
    """Return decisions, sparse, by where each is not 0, in increasing order, and what it is there."""
    starts = np.cumsum([0, *map(len, columns)])
    rows = np.concatenate(entries), np.concatenate(columns), starts
    return csr_array(rows, shape=(len(columns), dimension))


def choices(chosen: Sequence[Integers], dimension: int) -> Any:
    """Return 0/1 decisions, each by the coordinates that it chooses."""
    rows = by_entries(chosen, [np.ones(len(one)) for one in chosen], dimension)
    return _locked(written(rows)) if dimension <= _MANY else rows


@dataclass(frozen=True, eq=False)
class Decisions:
    """The decisions of consecutive events: a few, and which of them each event plays.

    Parameters
    ----------
    rows
        The decisions that there are, (m, n): as `kept` returns them.
    index
        Which of them each event plays.

    Examples
    --------
    >>> decisions = Decisions(kept(np.eye(8)[[2, 5]]), np.array([1, 0, 1]))
    >>> decisions.shape, [one.tolist() for one in decisions[1:].chosen]
    ((3, 8), [[2], [5]])
    >>> decisions.written().argmax(axis=1)
    array([5, 2, 5])
    """

    rows: Any
    index: Integers

    def __len__(self) -> int:
        return len(self.index)

    def __getitem__(self, within: slice | Integers) -> "Decisions":
        return Decisions(self.rows, self.index[within])

    @property
    def shape(self) -> tuple[int, int]:
        """As if they were written out."""
        return len(self.index), self.rows.shape[1]

    def played(self) -> tuple[Any, Integers]:
        """Return the decisions that are played, as they are kept, and which of these each event plays."""
        used, index = np.unique(self.index, return_inverse=True)
        return self.rows[used], index

    def written(self) -> Floats:
        """Return a row for each event."""
        rows, index = self._written_once()
        return np.asarray(rows[index])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Floats:
        """Let numpy write them out, wherever it is handed them."""
        return np.asarray(self.written(), dtype=dtype)

    def shared(self) -> list[Floats]:
        """Return a row for each event, read-only: events that play the same decision share it."""
        rows, index = self._written_once()
        each = list(rows)
        return [each[one] for one in index.tolist()]

    def _written_once(self) -> tuple[Floats, Integers]:
        """Return decisions written out, read-only, those that are played among them, and which each event plays."""
        rows, index = (self.rows, self.index) if isinstance(self.rows, np.ndarray) else self.played()
        return _locked(written(rows)), index

    @property
    def chosen(self) -> tuple[Integers, ...]:
        """What each event's decision chooses: the coordinates that are 1, if all others are 0."""
        rows, index = self.played()
        chosen = indices_of(rows)
        return tuple(chosen[one] for one in index.tolist())


def said_of(decisions: Any, domain: Domain) -> list[Any]:
    """Return what each of several decisions is in the names of a domain.

    Parameters
    ----------
    decisions
        Rows, or `Decisions`.
    domain
        Whose names they are.

    Examples
    --------
    >>> import sottovoce as sv
    >>> said_of(np.eye(3)[[2, 0]], sv.domains.Simplex(["tea", "coffee", "cocoa"]))
    [['cocoa'], ['tea']]
    """
    if not isinstance(decisions, Decisions):
        return [domain.chosen(row) for row in decisions]
    rows, index = decisions.played()
    if isinstance(rows, np.ndarray):
        said = [domain.chosen(row) for row in rows]
    else:
        places, entries = (np.split(one, rows.indptr[1:-1]) for one in (rows.indices, rows.data))
        said = [domain.chosen_at(where, own) for where, own in zip(places, entries, strict=True)]
    return [own_copy(said[one]) for one in index.tolist()]


def joined(pieces: Sequence[Any]) -> Any:
    """Return pieces one after another: arrays, or decisions that stay as they are.

    Parameters
    ----------
    pieces
        All of one kind, of one round or of several.

    Examples
    --------
    >>> joined([np.array([1.0, 2.0]), np.array([3.0])])
    array([1., 2., 3.])
    """
    if len(pieces) == 1:
        return pieces[0]
    if not all(isinstance(piece, Decisions) for piece in pieces):
        return np.concatenate(pieces)  # which writes out decisions
    if all(piece.rows is pieces[0].rows for piece in pieces):
        return Decisions(pieces[0].rows, np.concatenate([piece.index for piece in pieces]))
    starts = np.cumsum([0, *(piece.rows.shape[0] for piece in pieces)])
    index = np.concatenate([piece.index + start for piece, start in zip(pieces, starts[:-1], strict=True)])
    return Decisions(stacked(*(piece.rows for piece in pieces)), index)


def indices_of(rows: Any) -> tuple[Integers, ...]:
    """Return where each row is 1; refuse rows with other entries than 0 and 1.

    Parameters
    ----------
    rows
        0/1 decisions, sparse or written out.

    Examples
    --------
    >>> indices_of(np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 0.0]]))
    (array([1, 2]), array([0]))
    """
    which, where = rows.nonzero()
    if not (rows[which, where] == 1).all():
        raise ValueError(
            "indices are of decisions whose coordinates are 0 or 1, and this one has others: read x, or play vertices "
            "of a set of choices (integral=True, or losses='linear')"
        )
    ends = np.searchsorted(which, np.arange(rows.shape[0] + 1)).tolist()
    where = _locked(where.astype(np.int64))
    return tuple(where[start:end] for start, end in pairwise(ends))


def in_told_order(domain: Domain, rows: Floats) -> Integers:
    """Return the items of 0/1 decisions in the order in which their losses are told; -1 where one has fewer.

    Parameters
    ----------
    domain
        The set.
    rows
        Decisions, of which many are the same.

    Examples
    --------
    >>> import sottovoce as sv
    >>> in_told_order(sv.domains.Hypersimplex(4, 2), np.array([[0.0, 1.0, 1.0, 0.0], [1.0, 0.0, 0.0, 1.0]]))
    array([[1, 2],
           [0, 3]])
    """
    bits = np.packbits(np.asarray(rows) > 0.5, axis=1)
    _, firsts, which = np.unique(bits, axis=0, return_index=True, return_inverse=True)
    told = np.full((len(firsts), domain.most_chosen), -1, dtype=np.int64)
    for row, first in zip(told, firsts.tolist(), strict=True):
        places = domain.in_order(np.flatnonzero(rows[first] > 0.5))
        row[: len(places)] = places
    return np.asarray(told[which.ravel()])


def _locked(values: Any) -> Any:
    values.setflags(write=False)
    return values
