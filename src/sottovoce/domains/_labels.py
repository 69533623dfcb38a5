"""Names of coordinates: how they are read, and what a decision is called in them.

Names are public facts of a set. They change nothing that is computed: a set with names has the oracle, the geometry and
the random choices of the same set without.
"""

import copy
import inspect
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cached_property
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
    TypeError: labels must be a list of names, got the text 'tea': write ['tea', ...]
    """
    if isinstance(given, str | bytes):
        raise TypeError(f"{argument} must be a list of names, got the text {given!r}: write [{given!r}, ...]")
    if isinstance(given, Mapping | set | frozenset) or not isinstance(given, Iterable):
        raise TypeError(f"{argument} must be a list of names, in the order of the coordinates, got {given!r}")
    names = tuple(_plain(one) for one in (given.tolist() if hasattr(given, "tolist") else given))
    if count is not None and len(names) != count:
        raise ValueError(f"{argument} must be {count} names, one for each coordinate, got {len(names)}")
    plain_texts = set(map(type, names)) == {str} and all(map(str.strip, names)) and len(set(names)) == len(names)
    if not plain_texts or not _writable("".join(names)):  # there may be a million; what is wrong is found one by one
        _refuse_what_is_no_name(argument, names)
    return names


def _refuse_what_is_no_name(argument: str, names: Labels) -> None:
    seen: dict[Hashable, int] = {}
    for number, name in enumerate(names):
        if name is None or (isinstance(name, str) and not name.strip()) or (isinstance(name, float) and name != name):
            raise ValueError(f"{argument} must not be empty, and number {number} is {name!r}")
        if not _writable(name):
            raise ValueError(f"{argument} must be valid Unicode, and number {number} is not")
        if not _hashable(name):
            raise TypeError(f"{argument} must be texts, numbers or tuples of these, and number {number} is {name!r}")
        if seen.setdefault(name, number) != number:
            raise ValueError(f"{argument} must all be different, and {name!r} is number {seen[name]} and {number}")


def _plain(name: Any) -> Any:
    return name.item() if isinstance(name, np.generic) else name


def _writable(name: Any) -> bool:
    """Whether a name can be written where others read it: half of a surrogate pair is no text."""
    if isinstance(name, tuple):
        return all(map(_writable, name))
    try:
        name.encode() if isinstance(name, str) else None
    except UnicodeEncodeError:
        return False
    return True


def _hashable(name: Any) -> bool:
    try:
        hash(name)
    except TypeError:
        return False
    return True


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
    if not isinstance(value, Iterable) or (isinstance(value, np.ndarray) and value.ndim == 0):
        count = whole(argument, value, least=least)
        return count, None if labels is None else read_labels("labels", labels, count)
    names = read_labels(f"the names in {argument}", value)
    if labels is not None:
        raise ValueError(f"{argument} holds names already: leave out labels, or give a number as {argument}")
    whole(f"the number of names in {argument}", len(names), least=least)
    return len(names), names


def two_sides(
    arguments: tuple[str, str], values: tuple[Any, Any], labels: Any, *, least: int = 1
) -> tuple[tuple[int, int], Sides | None]:
    """Return the sizes of two sides, and their names; a side without names, beside one that has them, has numbers."""
    counted = [count_or_names(one, value, None, least=least) for one, value in zip(arguments, values, strict=True)]
    (rows, first), (columns, second) = counted
    if labels is not None:
        if isinstance(labels, str | bytes) or not isinstance(labels, Sequence) or len(labels) != 2:
            raise ValueError(f"labels must be two lists of names, of {arguments[0]} and {arguments[1]}, got {labels!r}")
        if first is not None or second is not None:
            raise ValueError(f"{arguments[0]} or {arguments[1]} holds names already: leave out labels")
        first = read_labels(f"labels of {arguments[0]}", labels[0], rows)
        second = read_labels(f"labels of {arguments[1]}", labels[1], columns)
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
            return self._own_labels()
        if len(given) != self.dimension:
            raise DomainError(f"labels must be {self.dimension} names, one for each coordinate, got {len(given)}")
        return given

    @labels.setter
    def labels(self, given: Any) -> None:
        vars(self)["_labels"] = None if given is None else read_labels("labels", given)

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
        if "labels" not in inspect.signature(make).parameters:
            other = copy.copy(self)
            vars(other)["_labels"] = read_labels("labels", labels, self.dimension)
            return other
        made: Self = make(**{**self.made_with, "labels": labels})
        return made

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
        names = self.coordinate_names
        if self.chosen_as == "amounts":
            numbers = dict.fromkeys(names, 0.0)
            numbers.update(zip((names[i] for i in places.tolist()), entries.tolist(), strict=True))
            return numbers
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
        names = self.coordinate_names
        return {names[i]: entry for i, entry in zip(places.tolist(), entries.tolist(), strict=True)}

    def _written(self, places: Integers, entries: Vector) -> Vector:
        x = np.zeros(self.dimension)
        x[places] = entries
        return x

    @property
    def coordinate_names(self) -> Sequence[Hashable]:
        """What coordinates are called: their `labels`, or their numbers if they have none."""
        labels = self.labels
        return range(self.dimension) if labels is None else labels

    def _take_names(self, labels: Labels | None, **counts: Any) -> None:
        """Keep names, and remember them as `labels` and numbers in place of them: so are all sets remembered alike."""
        if labels is not None:
            vars(self)["_labels"] = labels
            self._remember_names(labels, **counts)

    def _name(self, labels: Any) -> None:
        """Keep names that were given for all coordinates, if any were."""
        self._take_names(None if labels is None else read_labels("labels", labels, self.dimension))

    def _remember_names(self, labels: Any, **counts: Any) -> None:
        remembered = vars(self).get("_made_with", {})
        if labels is not None and "labels" in inspect.signature(type(self)).parameters:
            remembered.update({name: count for name, count in counts.items() if name in remembered}, labels=labels)


class TwoSided(HasLabels):
    """A mixin for sets of tables, row after row: rows and columns may have names, a coordinate has both."""

    _sides: Sides | None

    def _take_sides(self, sides: Sides | None, **counts: Any) -> None:
        self._sides = sides
        self._remember_names(sides, **counts)

    def _cells(self) -> Iterable[tuple[int, int]]:
        """Return the row and the column of every coordinate."""
        raise NotImplementedError

    @cached_property
    def _pairs_of_names(self) -> Labels | None:
        return None if self._sides is None else tuple((self._sides[0][i], self._sides[1][j]) for i, j in self._cells())

    def _own_labels(self) -> Labels | None:
        return self._pairs_of_names

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
