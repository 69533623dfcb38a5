"""Decisions without the room that they take: a menu of a few, from which each event plays one.

Among 10^5 coordinates, of which 20 are chosen, a block of 256 decisions written out takes 200 MB to say 5,000 numbers.
A round of posterior probes has a dozen decisions at most, and its events share them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from sottovoce._arrays import Floats, Integers
from sottovoce.domains import Domain
from sottovoce.domains.naming import own_copy

_MANY = 600  # coordinates up to which decisions are written out
_THIN = 4  # beyond, one of which less than one in so many entries is not 0 is kept by these


@dataclass(frozen=True, eq=False)
class Menu:
    """A few decisions, each by its entries that are not 0, or written out where these are many.

    Parameters
    ----------
    rows
        (m, n) written out; or None.
    columns, entries
        For each decision, where it is not 0, in increasing order, and what it is there; empty if it is written out.
    dimension
        The coordinates (n).

    Examples
    --------
    >>> menu = Menu.of(np.eye(800)[[2, 5]])
    >>> menu.rows is None, [one.tolist() for one in menu.columns], len(menu)
    (True, [[2], [5]], 2)
    """

    rows: Floats | None
    columns: tuple[Integers, ...]
    entries: tuple[Floats, ...]
    dimension: int

    @classmethod
    def of(cls, rows: Floats) -> "Menu":
        """Return the menu of decisions that are written out."""
        rows = np.asarray(rows)
        if rows.shape[1] <= _MANY or _THIN * np.count_nonzero(rows) >= rows.size:
            kept = rows.view()
            kept.setflags(write=False)
            return cls(kept, (), (), rows.shape[1])
        columns = tuple(_locked(np.flatnonzero(row)) for row in rows)
        entries = tuple(_locked(row[where]) for row, where in zip(rows, columns, strict=True))
        return cls(None, columns, entries, rows.shape[1])

    @classmethod
    def choosing(cls, chosen: Sequence[Integers], dimension: int) -> "Menu":
        """Return the menu of 0/1 decisions, each by the coordinates that it chooses."""
        menu = cls(None, tuple(map(_locked, chosen)), tuple(_locked(np.ones(len(one))) for one in chosen), dimension)
        return cls.of(menu.written()) if dimension <= _MANY else menu

    @classmethod
    def joined(cls, menus: Sequence["Menu"]) -> "Menu":
        """Return the menu of all decisions of several, in order."""
        if all(menu.rows is None for menu in menus):
            columns = tuple(one for menu in menus for one in menu.columns)
            return cls(None, columns, tuple(one for menu in menus for one in menu.entries), menus[0].dimension)
        return cls(np.vstack([menu.written() for menu in menus]), (), (), menus[0].dimension)

    def only(self, which: Integers) -> "Menu":
        """Return the menu of some of these decisions."""
        if self.rows is not None:
            return Menu(self.rows[which], (), (), self.dimension)
        pick = which.tolist()
        return Menu(None, tuple(self.columns[i] for i in pick), tuple(self.entries[i] for i in pick), self.dimension)

    def __len__(self) -> int:
        return len(self.columns) if self.rows is None else len(self.rows)

    def written(self) -> Floats:
        """Return the decisions as rows."""
        if self.rows is not None:
            return self.rows
        rows = np.zeros((len(self), self.dimension))
        for row, where, entries in zip(rows, self.columns, self.entries, strict=True):
            row[where] = entries
        return rows

    def said(self, domain: Domain) -> list[Any]:
        """Return what each decision is in the names of a domain, without writing it out if it is not."""
        if self.rows is not None:
            return [domain.chosen(row) for row in self.rows]
        return [domain.chosen_at(where, own) for where, own in zip(self.columns, self.entries, strict=True)]

    @cached_property
    def chosen(self) -> tuple[Integers, ...]:
        """What each decision chooses: the coordinates that are 1, if all others are 0."""
        if self.rows is not None:
            return indices_of(self.rows)
        if not all((one == 1).all() for one in self.entries):
            raise _not_chosen()
        return self.columns


@dataclass(frozen=True, eq=False)
class Decisions:
    """The decisions of consecutive events: a menu, and which of it each event plays.

    Parameters
    ----------
    menu
        The decisions that there are.
    index
        Which of them each event plays.

    Examples
    --------
    >>> decisions = Decisions(Menu.of(np.eye(8)[[2, 5]]), np.array([1, 0, 1]))
    >>> decisions.shape, [one.tolist() for one in decisions[1:].chosen]
    ((3, 8), [[2], [5]])
    >>> decisions.written().argmax(axis=1)
    array([5, 2, 5])
    """

    menu: Menu
    index: Integers

    @classmethod
    def joined(cls, pieces: Sequence["Decisions"]) -> "Decisions":
        """Return pieces one after another.

        Parameters
        ----------
        pieces
            Of one menu or of several.
        """
        if all(piece.menu is pieces[0].menu for piece in pieces):
            return cls(pieces[0].menu, np.concatenate([piece.index for piece in pieces]))
        starts = np.cumsum([0, *(len(piece.menu) for piece in pieces)])
        index = np.concatenate([piece.index + start for piece, start in zip(pieces, starts[:-1], strict=True)])
        return cls(Menu.joined([piece.menu for piece in pieces]), index)

    def __len__(self) -> int:
        return len(self.index)

    def __getitem__(self, within: slice | Integers) -> "Decisions":
        return Decisions(self.menu, self.index[within])

    @property
    def shape(self) -> tuple[int, int]:
        """As if they were written out."""
        return len(self.index), self.menu.dimension

    def written(self) -> Floats:
        """Return a row for each event."""
        rows, index = self._used()
        return np.asarray(rows[index])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Floats:
        """Let numpy write them out, wherever it is handed them."""
        return np.asarray(self.written(), dtype=dtype)

    def shared(self) -> list[Floats]:
        """Return a row for each event, read-only: events that play the same decision share it."""
        rows, index = self._used()
        each = list(rows)
        return [each[one] for one in index.tolist()]

    def _used(self) -> tuple[Floats, Integers]:
        """Return the decisions that are played, written out, read-only, and which of these each event plays."""
        if self.menu.rows is not None:
            return _locked(self.menu.rows), self.index
        used, index = np.unique(self.index, return_inverse=True)
        return _locked(self.menu.only(used).written()), index

    @property
    def chosen(self) -> tuple[Integers, ...]:
        """What each event's decision chooses, by coordinates."""
        chosen = self.menu.chosen
        return tuple(chosen[one] for one in self.index.tolist())


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
    used, which = np.unique(decisions.index, return_inverse=True)
    said = decisions.menu.only(used).said(domain)
    return [own_copy(said[one]) for one in which.tolist()]


def joined(pieces: Sequence[Any]) -> Any:
    """Return pieces one after another: arrays, or decisions that stay as they are.

    Parameters
    ----------
    pieces
        All of one kind.

    Examples
    --------
    >>> joined([np.array([1.0, 2.0]), np.array([3.0])])
    array([1., 2., 3.])
    """
    if len(pieces) == 1:
        return pieces[0]
    kinds = set(map(type, pieces))
    if kinds == {Decisions}:
        return Decisions.joined(pieces)
    if Decisions in kinds:
        pieces = [piece.written() if isinstance(piece, Decisions) else piece for piece in pieces]
    return np.concatenate(pieces)


def indices_of(rows: Floats) -> tuple[Integers, ...]:
    """Return where each row is 1; refuse rows with other entries than 0 and 1.

    Parameters
    ----------
    rows
        0/1 decisions.

    Examples
    --------
    >>> indices_of(np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 0.0]]))
    (array([1, 2]), array([0]))
    """
    which, where = np.nonzero(rows)
    if not (rows[which, where] == 1).all():
        raise _not_chosen()
    ends = np.searchsorted(which, np.arange(len(rows) + 1)).tolist()
    _locked(where)
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
    menu = np.full((len(firsts), domain.most_chosen), -1, dtype=np.int64)
    for row, first in zip(menu, firsts.tolist(), strict=True):
        places = domain.in_order(np.flatnonzero(rows[first] > 0.5))
        row[: len(places)] = places
    return np.asarray(menu[which.ravel()])


def _locked(values: Any) -> Any:
    values.setflags(write=False)
    return values


def _not_chosen() -> ValueError:
    return ValueError(
        "indices are of decisions whose coordinates are 0 or 1, and this one has others: read x, or play vertices of a "
        "set of choices (integral=True, or losses='linear')"
    )
