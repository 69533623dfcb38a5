"""Actions: decisions to carry out, one or a block of them, which answer in the names of their set."""

import itertools
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
from sottovoce.plans.decisions import Decisions, indices_of, said_of

_SHOWN = 8  # actions of a block, in a notebook


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
        if type(self) is Action or (self._domain is not None and self._domain.labels is None):
            return super().__repr__()
        return f"Action(id={self.id!r}, chosen={self.chosen!r}, wants_loss={self.wants_loss!r})"

    def __reduce__(self) -> Any:
        # The set may hold functions, which cannot be pickled; what it says of the decision can be.
        return (Action, tuple(self)) if type(self) is Action else (named_action, (*self, self.chosen))


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
    """An action whose set is not at hand: it holds what it is in the set's names."""

    _chosen: Any

    @property
    def chosen(self) -> Any:
        return own_copy(self._chosen)


_Carried.__name__ = _Carried.__qualname__ = Action.__name__


def named_action(action_id: int | str, x: Floats, wants_loss: bool, chosen: Any) -> Action:
    """Return an action of a set that is not at hand, with what it is in the names of that set.

    Examples
    --------
    >>> named_action("a", np.array([0.0, 1.0]), True, ["coffee"])
    Action(id='a', chosen=['coffee'], wants_loss=True)
    """
    action = _Carried(action_id, x, wants_loss)
    action._chosen = chosen
    return action


class Piece(NamedTuple):
    """Consecutive decisions of one set.

    Attributes
    ----------
    played
        (size, n), or the `Decisions` that it is to be made from.
    names
        The set, in whose names they are said; what each is in these, where it is not at hand; or None.
    """

    played: Any
    names: Domain | list[Any] | None = None

    def __len__(self) -> int:
        return len(self.played)

    def head(self) -> "Piece":
        """Return the first few."""
        return Piece(self.played[:_SHOWN], self.names[:_SHOWN] if isinstance(self.names, list) else self.names)

    def indices(self) -> tuple[Integers, ...]:
        """Return the coordinates that each decision chooses."""
        return self.played.chosen if isinstance(self.played, Decisions) else indices_of(self.played)

    def chosen(self) -> list[Any]:
        """Return what each decision is in the names of its set."""
        if isinstance(self.names, Domain):
            return said_of(self.played, self.names)
        return [by_numbers(x) for x in self.played] if self.names is None else list(map(own_copy, self.names))

    def items(self) -> list[list[Any]]:
        """Return what each has chosen, by name, in the order in which losses of items are told."""
        domain: Any = self.names
        return [domain.names_at(domain.in_order(one)) for one in self.indices()]

    def rows(self) -> list[Floats]:
        """Return a row for each, which those that are the same share."""
        return self.played.shared() if isinstance(self.played, Decisions) else list(self.played)

    def actions(self, fields: Iterator[tuple[Any, ...]]) -> Iterator[Action]:
        """Return single actions: an id, a row, and whether its loss is wanted, for each."""
        if isinstance(self.names, list):
            pairs = zip(fields, self.names, strict=True)
            return (named_action(one, x, wanted, chosen) for (one, x, wanted), chosen in pairs)
        return itertools.starmap(Action if self.names is None else speaking(self.names), fields)


class Actions(Printed):
    """A block of decisions: `ids` (size,), `x` (size, n), `wants_loss` (size,). Iterating gives single actions.

    Where there are many coordinates, `x` is written out when it is first read, and `indices` need not be.

    Parameters
    ----------
    ids
        An id for each.
    x
        (size, n), or the `Decisions` that it is to be made from; or a list of `Piece`, of one set each.
    wants_loss
        Whether the loss of each is of any use.
    names
        The set that they are decisions of, in whose names `chosen` answers; or what it is to answer.

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

    __slots__ = ("_pieces", "_written", "ids", "wants_loss")

    def __init__(self, ids: NDArray[Any], x: Any, wants_loss: NDArray[np.bool_], names: Any = None) -> None:
        self.ids, self.wants_loss = ids, wants_loss
        self._pieces: list[Piece] = x if isinstance(x, list) else [Piece(x, names)]
        self._written: Floats | None = None
        for piece in self._pieces:
            if isinstance(piece.played, np.ndarray):
                piece.played.setflags(write=False)  # what was handed out is on record as it was

    @property
    def _played(self) -> Any:
        """The decisions of the one set that they are of."""
        if len(self._pieces) > 1:
            raise ValueError(
                "the set has changed within this block, and its decisions have no coordinates in common: go through "
                "its actions one by one, or read `chosen`"
            )
        return self._pieces[0].played

    @property
    def x(self) -> Floats:
        """The decisions, a row each; read-only where it is written out here."""
        if self._written is None:
            written = np.asarray(self._played)
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
        return tuple(one for piece in self._pieces for one in piece.indices())

    @property
    def chosen(self) -> list[Any]:
        """What each decision is in the names of the set's coordinates: see `Domain.chosen`.

        Nothing of the size of `x` is made where few coordinates are chosen of many.
        """
        return [one for piece in self._pieces for one in piece.chosen()]

    def _items(self) -> list[list[Any]]:
        """Return what each has chosen, by name, in the order in which losses of items are told."""
        return [one for piece in self._pieces for one in piece.items()]

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[Action]:
        rows = [row for piece in self._pieces for row in piece.rows()]
        fields = zip(self.ids.tolist(), rows, self.wants_loss.tolist(), strict=True)
        each = [piece.actions(itertools.islice(fields, len(piece))) for piece in self._pieces]
        return itertools.chain.from_iterable(each)

    def __reduce__(self) -> Any:
        # A set may hold functions, which cannot be pickled; what it says of each decision can be.
        return Actions, (self.ids, [Piece(one.played, one.chosen()) for one in self._pieces], self.wants_loss)

    def __str__(self) -> str:
        return repr(self)

    def _parts(self) -> list[Part]:
        said = [one for piece in self._pieces for one in piece.head().chosen()]
        rows = [(str(one), in_words(chosen)) for one, chosen in zip(self.ids[:_SHOWN].tolist(), said, strict=False)]
        more = len(self) - len(rows)
        return [(repr(self), [*rows, ("", f"and {more:,} more")] if more else rows)]

    def __repr__(self) -> str:
        coordinates = "two sets" if len(self._pieces) > 1 else f"{self.dimension:,} coordinates"
        return f"Actions({len(self)} decisions of {coordinates})"


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
