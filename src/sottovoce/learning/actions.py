"""Actions: decisions to carry out, one or a block of them, which answer in the names of their set."""

import itertools
import math
from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple
from weakref import WeakKeyDictionary, ref

import numpy as np
from numpy.typing import NDArray

from sottovoce._arrays import Floats, Integers
from sottovoce._printed import Part, Printed
from sottovoce.domains import Domain
from sottovoce.domains.naming import by_numbers, in_words, own_copy
from sottovoce.errors import UnknownAction
from sottovoce.plans.decisions import Decisions, OfSeveralSets, indices_of, said_of

_SHOWN = 8  # actions of a block, in a notebook
_MOST_CARRIED = 1_000_000  # numbers of a block that takes what its set says of them along when it is pickled


class _Fields(NamedTuple):
    id: int | str
    x: Floats
    wants_loss: bool = True


class Action(_Fields):
    """One decision to carry out: its id, the decision itself, and whether its loss is of any use."""

    __slots__ = ()
    _domain: ClassVar[Domain | None] = None  # of a kind that `speaking` made

    @property
    def indices(self) -> Integers:
        """What it chooses: the coordinates that are 1, in increasing order; refused if others are not 0."""
        return indices_of(self.x[None, :])[0]

    @property
    def chosen(self) -> Any:
        """What it is in the names of the set's coordinates: see `Domain.chosen`."""
        return by_numbers(self.x) if self._domain is None else self._domain.chosen(self.x)

    def _items(self) -> list[Any]:
        """Return what it has chosen, by name, in the order in which losses of items are told."""
        domain = self._domain
        return list(self.indices.tolist()) if domain is None else domain.names_at(domain.in_order(self.indices))

    def __repr__(self) -> str:
        if self._domain is None or self._domain.labels is None:
            return super().__repr__()
        return f"Action(id={self.id!r}, chosen={self.chosen!r}, wants_loss={self.wants_loss!r})"

    def __reduce__(self) -> Any:
        # The set may hold functions, which cannot be pickled; what it says of the decision can be.
        return (Action, tuple(self)) if self._domain is None else (_carried, (tuple(self), self.chosen))


def speaking(domain: Domain) -> type[Action]:
    """Return the kind of actions that answer in a domain's names.

    It is a kind of its own for each domain, so that actions, of which there are many, hold nothing of it.

    Examples
    --------
    >>> import sottovoce as sv
    >>> speaking(sv.domains.Simplex(["tea", "coffee"]))(7, np.array([0.0, 1.0]))
    Action(id=7, chosen=['coffee'], wants_loss=True)
    """
    known = _kinds.get(domain)
    kind = None if known is None else known()
    if kind is None:
        kind = type("Action", (Action,), {"__slots__": (), "__doc__": Action.__doc__, "_domain": domain})
        _kinds[domain] = ref(kind)
    return kind


_kinds: "WeakKeyDictionary[Domain, ref[type[Action]]]" = WeakKeyDictionary()


class _Carried(Action):
    """An action whose set is not at hand: it holds what it is in the set's names, and may print it."""

    _chosen: Any
    _named: bool

    @property
    def chosen(self) -> Any:
        return own_copy(self._chosen)

    def __repr__(self) -> str:
        if not self._named:
            return super().__repr__()
        return f"Action(id={self.id!r}, chosen={self.chosen!r}, wants_loss={self.wants_loss!r})"

    def __reduce__(self) -> Any:
        return _carried, (tuple(self), self._chosen, self._named)


_Carried.__name__ = _Carried.__qualname__ = Action.__name__


def _carried(fields: tuple[Any, ...], chosen: Any, named: bool = False) -> Action:
    action = _Carried(*fields)
    action._chosen, action._named = chosen, named
    return action


def named_action(action_id: int | str, x: Floats, wants_loss: bool, chosen: Any) -> Action:
    """Return an action of a set that is not at hand, with what it is in the names of that set.

    Examples
    --------
    >>> named_action("a", np.array([0.0, 1.0]), True, ["coffee"])
    Action(id='a', chosen=['coffee'], wants_loss=True)
    """
    return _carried((action_id, x, wants_loss), chosen, True)


class Actions(Printed):
    """A block of decisions: `ids` (size,), `x` (size, n), `wants_loss` (size,). Iterating gives single actions.

    Where there are many coordinates, `x` is written out when it is first read, and `indices` need not be.

    Parameters
    ----------
    ids
        An id for each.
    x
        (size, n), or the `Decisions` that it is to be made from.
    wants_loss
        Whether the loss of each is of any use.
    domain
        The set that they are decisions of, in whose names `chosen` answers.

    Examples
    --------
    >>> import sottovoce as sv
    >>> optimizer = sv.PrivateBandit(
    ...     sv.domains.Hypersimplex(10_000, 3),
    ...     horizon=100_000,
    ...     loss_range=(0.0, 1.0),
    ...     privacy=sv.PureDP(epsilon=1.0),
    ...     integral=True,
    ... )
    >>> actions = optimizer.ask(256)
    >>> len(actions.indices), actions.indices[0].shape
    (256, (3,))
    """

    __slots__ = ("_domain", "_named", "_played", "_said", "_written", "ids", "wants_loss")

    def __init__(self, ids: NDArray[Any], x: Any, wants_loss: NDArray[np.bool_], domain: Domain | None = None) -> None:
        self._domain = domain
        self._said: list[Any] | None = None  # of a block that was pickled, which does not take its set along
        self._named = False  # its actions print what they are in the set's names
        self.ids, self.wants_loss, self._played = ids, wants_loss, x
        self._written: Floats | None = None if isinstance(x, Decisions | OfSeveralSets) else x
        if isinstance(x, np.ndarray):
            x.setflags(write=False)  # what was handed out is on record as it was

    @property
    def x(self) -> Floats:
        """The decisions, a row each; read-only where it is written out here."""
        if self._written is None:
            written = self._played.written()
            written.setflags(write=False)
            self._written = written
        return self._written

    @property
    def dimension(self) -> int:
        """How many coordinates each decision has; `x` need not be written out for that."""
        return int(self._played.shape[1])

    @property
    def indices(self) -> tuple[Integers, ...]:
        """What each decision chooses: the coordinates that are 1, in increasing order; refused if others are not 0.

        Decisions that are the same share an array, which is read-only. Nothing of the size of `x` is made.
        """
        return self._played.chosen if isinstance(self._played, Decisions | OfSeveralSets) else indices_of(self.x)

    @property
    def chosen(self) -> list[Any]:
        """What each decision is in the names of the set's coordinates: see `Domain.chosen`.

        Nothing of the size of `x` is made where few coordinates are chosen of many.
        """
        if self._domain is not None:
            return said_of(self._played, self._domain)
        if self._said is not None:
            if len(self._said) < len(self):
                raise ValueError("this block was pickled, and is too large to take names along: call domain.chosen(x)")
            return [own_copy(one) for one in self._said]
        return [by_numbers(row) for row in self.x]

    def _items(self) -> list[list[Any]]:
        """Return what each has chosen, by name, in the order in which losses of items are told."""
        domain = self._domain
        if domain is None:
            return [one._items() for one in self]
        return [domain.names_at(domain.in_order(places)) for places in self.indices]

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[Action]:
        rows = self._played.shared() if self._written is None else self._written
        fields = zip(self.ids.tolist(), rows, self.wants_loss.tolist(), strict=True)
        sets = self._played.domains() if isinstance(self._played, OfSeveralSets) else ()
        if sets:
            return (speaking(domain)(*one) for domain, one in zip(sets, fields, strict=True))
        if self._said:
            return map(_carried, fields, self._said, itertools.repeat(self._named))
        return itertools.starmap(Action if self._domain is None else speaking(self._domain), fields)

    def __reduce__(self) -> Any:
        # A set may hold functions, which cannot be pickled; what it says of each decision can be.
        said = self._said
        if self._domain is not None:
            thin = isinstance(self._played, Decisions) and self._played.menu.rows is None
            said = self.chosen if thin or math.prod(self._played.shape) <= _MOST_CARRIED else []
        return _carried_block, (self.ids, self._played, self.wants_loss, said, self._named)

    def __str__(self) -> str:
        return repr(self)

    def _parts(self) -> list[Part]:
        first = Actions(self.ids[:_SHOWN], self._played[:_SHOWN], self.wants_loss[:_SHOWN], self._domain)
        said = self._said[:_SHOWN] if self._said else first.chosen
        rows = [(str(one), in_words(chosen)) for one, chosen in zip(first.ids.tolist(), said, strict=True)]
        more = len(self) - len(rows)
        return [(repr(self), [*rows, ("", f"and {more:,} more")] if more else rows)]

    def __repr__(self) -> str:
        several = isinstance(self._played, OfSeveralSets)
        return f"Actions({len(self)} decisions of {'two sets' if several else f'{self.dimension:,} coordinates'})"


def _carried_block(
    ids: NDArray[Any], x: Any, wants_loss: NDArray[np.bool_], said: list[Any] | None, named: bool
) -> Actions:
    actions = Actions(ids, x, wants_loss)
    actions._said, actions._named = said, named
    return actions


def named_actions(ids: NDArray[Any], x: Any, wants_loss: NDArray[np.bool_], chosen: list[Any]) -> Actions:
    """Return a block of actions of a set that is not at hand, with what each is in the names of that set.

    Examples
    --------
    >>> named_actions(np.array(["a"]), np.array([[0.0, 1.0]]), np.array([True]), [["coffee"]]).chosen
    [['coffee']]
    """
    return _carried_block(ids, x, wants_loss, chosen, True)


def refuse_actions(ids: Any) -> None:
    """Say what to pass, if actions were passed instead of their ids."""
    if isinstance(ids, Action):
        raise TypeError("ids is an Action: pass its id, as in tell(action.id, loss)")
    if isinstance(ids, Actions):
        raise TypeError("ids is a block of Actions: pass their ids, as in tell(actions.ids, losses)")


_KINDS = {"U": "texts", "S": "texts", "f": "numbers that are not whole", "b": "true or false"}


def as_ids(ids: Any) -> Integers:
    """Return ids as integers."""
    refuse_actions(ids)
    given = np.asarray(ids)
    if given.size == 0:
        return given.astype(np.int64)
    if given.dtype.kind not in "iu":
        found = _KINDS.get(given.dtype.kind, "something else")
        raise UnknownAction(f"ids must be the whole numbers that ask returned (action.id, actions.ids), got {found}")
    return given.astype(np.int64)
