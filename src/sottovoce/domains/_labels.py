"""Names of coordinates: how they are read, and what a decision is called in them.

Names are public facts of a set. They change nothing that is computed: a set with names has the oracle, the geometry and
the random choices of the same set without.
"""

import copy
import inspect
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import product
from typing import Any, ClassVar, Self

import numpy as np

from sottovoce._arrays import Integers, Vector
from sottovoce._checks import choice, vector, whole
from sottovoce.domains._arguments import RemembersArguments
from sottovoce.errors import DomainError

Labels = tuple[Hashable, ...]
"""Names, one for each coordinate, all different."""

Count = int | Iterable[Hashable]
"""A number of things, or their names."""

Sides = tuple[Labels, Labels]
"""Names of rows and of columns."""

_WAYS = ("choices", "amounts", "amounts that are not 0")
_ROUNDING = 1e-9  # of the largest entry: less than that is 0


def read_labels(argument: str, given: Any, count: int | None = None) -> Labels:
    """Return names from a list, a tuple, an array or a pandas Index or Series; or say what is wrong with them.

    Examples
    --------
    >>> read_labels("labels", np.array(["tea", "coffee"]), 2)
    ('tea', 'coffee')
    >>> read_labels("labels", "tea")
    Traceback (most recent call last):
    TypeError: labels must be a list of names, in the order of the coordinates, got 'tea'
    """
    if isinstance(given, str | bytes | Mapping | set | frozenset) or not isinstance(given, Iterable):
        raise TypeError(f"{argument} must be a list of names, in the order of the coordinates, got {given!r}")
    listed = given.tolist() if hasattr(given, "tolist") else given
    names = tuple(one.item() if isinstance(one, np.generic) else one for one in listed)
    if count is not None and len(names) != count:
        raise ValueError(f"{argument} must be {count} names, one for each coordinate, got {len(names)}")
    seen: dict[Hashable, int] = {}
    for number, name in enumerate(names):
        if not _is_name(name):
            raise ValueError(
                f"{argument} must not be empty, and texts, numbers or tuples of these; number {number} is {name!r}"
            )
        if seen.setdefault(name, number) != number:
            raise ValueError(f"{argument} must all be different, and {name!r} is number {seen[name]} and {number}")
    return names


def _is_name(one: Any) -> bool:
    """Whether something can be a name, and be written where others read it: half of a surrogate pair is no text."""
    if isinstance(one, tuple):
        return all(map(_is_name, one))
    try:
        return one is not None and one == one and hash(one) is not None and bool(str(one).encode().strip())
    except (TypeError, UnicodeEncodeError):
        return False


def count_or_names(argument: str, value: Any, labels: Any = None, *, least: int = 1) -> tuple[int, Labels | None]:
    """Return how many there are, and their names if they were given in place of a number, or beside it.

    Examples
    --------
    >>> count_or_names("n", ["tea", "coffee"], None)
    (2, ('tea', 'coffee'))
    >>> count_or_names("n", 2, None)
    (2, None)
    """
    if isinstance(value, str | bytes):
        raise TypeError(f"{argument} must be a whole number or a list of names, got the text {value!r}")
    names = None
    if isinstance(value, Iterable) and getattr(value, "ndim", True):
        names = read_labels(f"the names in {argument}", value)
        value, argument = len(names), f"the number of names in {argument}"
    count = whole(argument, value, least=least)
    return count, names if labels is None else read_labels("labels", labels, count)


def two_sides(
    arguments: tuple[str, str], values: tuple[Any, Any], labels: Any, *, least: int = 1
) -> tuple[tuple[int, int], Sides | None]:
    """Return the sizes of two sides, and their names; a side without names, beside one that has them, has numbers."""
    given = (None, None) if labels is None else labels
    if isinstance(given, str | bytes) or not isinstance(given, Sequence) or len(given) != 2:
        raise ValueError(f"labels must be two lists of names, of {arguments[0]} and {arguments[1]}, got {labels!r}")
    sides = zip(arguments, values, given, strict=True)
    (rows, first), (columns, second) = (count_or_names(*one, least=least) for one in sides)
    if first is None and second is None:
        return (rows, columns), None
    return (rows, columns), (first or tuple(range(rows)), second or tuple(range(columns)))


class HasLabels(RemembersArguments):
    """A mixin for sets whose coordinates may have names."""

    dimension: int

    chosen_as: ClassVar[str] = "choices"
    """How `chosen` answers. "choices": what is chosen, by name, if all coordinates are 0 or 1, and otherwise the shares
    of those that are not 0; "amounts": every coordinate's number by its name; "amounts that are not 0": those only."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        choice(f"chosen_as of {cls.__name__}", cls.chosen_as, _WAYS)

    @property
    def labels(self) -> Labels | None:
        """Names of the coordinates, in their order; None if they have none.

        They are given to the constructor; a class of your own sets `self.labels`.
        """
        given: Labels | None = vars(self).get("_labels")
        if given is None:
            return self._own_labels
        if len(given) != self.dimension:
            raise DomainError(f"labels must be {self.dimension} names, one for each coordinate, got {len(given)}")
        return given

    @labels.setter
    def labels(self, given: Any) -> None:
        vars(self)["_labels"] = None if given is None else read_labels("labels", given)

    @property
    def _own_labels(self) -> Labels | None:
        """Return the names that follow from what the set is made of, where none were given."""
        return None

    def labelled(self, labels: Any) -> Self:
        """Return the same set under other names, given as the constructor takes them.

        Parameters
        ----------
        labels
            A name for each coordinate, or what else the constructor takes; None for no names.

        Examples
        --------
        >>> import sottovoce as sv
        >>> sv.domains.Hypersimplex(3, 2).labelled(["tea", "coffee", "cocoa"]).chosen([1.0, 0.0, 1.0])
        ['tea', 'cocoa']
        """
        make: Any = type(self)
        if make._said is not HasLabels._said:
            raise TypeError(f"{make.__name__} has no names of its own: name what it is made of")
        if "labels" in inspect.signature(make).parameters:
            made: Self = make(**{**self.made_with, "labels": labels})
            return made
        other = copy.copy(self)
        vars(other)["_labels"] = read_labels("labels", labels, self.dimension)
        return other

    @property
    def label_counts(self) -> tuple[int, ...]:
        """How many names `labels` takes: one for each coordinate, or so many for rows and so many for columns."""
        return (self.dimension,)

    def chosen(self, x: Any) -> Any:
        """Return what a decision is in the names of the coordinates, or in their numbers if they have none.

        - A decision of zeros and ones: the list of what is chosen; of a path, its edges in the order of travel.
        - A ranking: the items, the one with the largest weight first.
        - A matching: a dict from each row that is matched to its column.
        - Amounts (of balls, boxes, flows): a dict from names to numbers.
        - A product: a list with what each part says, or a dict if the parts have names.
        - Any other point of a set of choices, which is a mixture of several: a dict from names to shares, of all that
          are not 0.

        Parameters
        ----------
        x
            A decision, of shape (n,).

        Examples
        --------
        >>> import sottovoce as sv
        >>> drinks = sv.domains.Hypersimplex(["tea", "coffee", "cocoa"], k=2)
        >>> drinks.chosen([1.0, 0.0, 1.0])
        ['tea', 'cocoa']
        >>> drinks.chosen([1.0, 0.25, 0.75])
        {'tea': 1.0, 'coffee': 0.25, 'cocoa': 0.75}
        """
        x = vector("x", x, self.dimension)
        places = np.flatnonzero(x)
        return self._said(places, x[places])

    def chosen_at(self, places: Any, entries: Any = None) -> Any:
        """Return the same for a decision that is given by where it is not 0, in increasing order, and what it is there.

        Without `entries` it is 1 there. Sets of choices never write it out.

        Parameters
        ----------
        places
            Coordinates.
        entries
            What the decision is at each of them; None for 1.
        """
        where = np.asarray(places, dtype=np.int64).ravel()
        if where.size and not (where[0] >= 0 and where[-1] < self.dimension and (np.diff(where) > 0).all()):
            raise ValueError(f"places must be coordinates from 0 to {self.dimension - 1}, in increasing order")
        return self._said(where, np.ones(len(where)) if entries is None else vector("entries", entries, len(where)))

    def _said(self, places: Integers, entries: Vector) -> Any:
        if entries.size and not (entries == 1.0).all() and self.chosen_as != "amounts":
            sizes = np.abs(entries)  # what rounding has left of a 0 or of a 1 is none of these
            seen = sizes > _ROUNDING * float(sizes.max())
            places, entries = places[seen], entries[seen]
            entries = np.where(np.abs(entries - 1.0) <= _ROUNDING, 1.0, entries)
        return self._chosen(places, entries)

    def _chosen(self, places: Integers, entries: Vector) -> Any:
        """Return what is said of a decision; a family with words of its own says them here."""
        if self.chosen_as == "amounts":
            return dict.fromkeys(self.coordinate_names, 0.0) | self._shares(places, entries)
        if self.chosen_as == "choices" and (entries == 1.0).all():
            return self.names_at(places)
        return self._shares(places, entries)

    def in_order(self, places: Integers) -> Integers:
        """Return the coordinates of a choice, which are given in increasing order, in the order of `chosen`.

        Parameters
        ----------
        places
            Coordinates that are 1.
        """
        return places

    def names_at(self, places: Integers) -> list[Hashable]:
        """Return the names of coordinates.

        Parameters
        ----------
        places
            Coordinates, in any order.
        """
        names = self.coordinate_names
        return [names[i] for i in places.tolist()]

    def _shares(self, places: Integers, entries: Vector) -> dict[Hashable, float]:
        return dict(zip(self.names_at(places), entries.tolist(), strict=True))

    def _written(self, places: Integers, entries: Vector) -> Vector:
        x = np.zeros(self.dimension)
        x[places] = entries
        return x

    @property
    def coordinate_names(self) -> Sequence[Hashable]:
        """What coordinates are called: their `labels`, or their numbers if they have none."""
        labels = self.labels
        return range(self.dimension) if labels is None else labels

    def _count(self, argument: str, value: Any, labels: Any, *, least: int = 1) -> None:
        """Set the number of coordinates, and keep their names, given in its place or beside it."""
        self.dimension, names = count_or_names(argument, value, labels, least=least)
        self._name(names)

    def _name(self, labels: Any) -> None:
        """Keep names that were given for all coordinates, if any were."""
        if labels is not None:
            vars(self)["_labels"] = read_labels("labels", labels, self.dimension)


class TwoSided(HasLabels):
    """A mixin for sets of tables, row after row: rows and columns may have names, a coordinate has both."""

    _counts: tuple[int, int]
    _sides: Sides | None

    @property
    def label_counts(self) -> tuple[int, ...]:
        """Rows, and columns."""
        return self._counts

    def _cells(self) -> Iterable[tuple[int, int]]:
        """Return the row and the column of every coordinate: of a whole table, unless a set says otherwise."""
        rows, columns = self._counts
        return product(range(rows), range(columns))

    @cached_property
    def _own_labels(self) -> Labels | None:
        return None if self._sides is None else tuple((self._sides[0][i], self._sides[1][j]) for i, j in self._cells())

    @property
    def coordinate_names(self) -> Sequence[Hashable]:
        """The names of the pairs, or the numbers of row and column in their place."""
        return self.labels or tuple(self._cells())

    def _matched(self, cells: Iterable[tuple[int, int]]) -> dict[Hashable, Hashable]:
        """Return who is matched to whom."""
        if self._sides is None:
            return dict(cells)
        first, second = self._sides
        return {first[row]: second[column] for row, column in cells}
