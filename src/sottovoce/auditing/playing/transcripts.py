"""Play the real optimizer in one of two worlds, and write down what an adversary sees.

The one file of this package that knows the optimizer's insides: where its released values pass.
"""

import itertools
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from sottovoce._arrays import Floats
from sottovoce.auditing.playing.public_views import look, plain
from sottovoce.learning import PrivateBandit
from sottovoce.learning.actions import Action, Actions
from sottovoce.privacy import LocalDP, PrivacyStatement, local
from sottovoce.rounds.store import Compute


class Transcript:
    """What the adversary sees of one run.

    Attributes
    ----------
    released
        Round by round; reports one by one where owners privatise.
    actions
        All of them, in the order in which they were asked.
    wanted
        Whether an action's loss was asked for.
    rounds
        Which call of `ask` each came from: its round, where rounds are asked whole.
    counters
        How many rounds were closed after each call of `tell` (and `forget`).
    views
        All that is public, by name, at several times; of watched runs.
    changed
        Names of views that were another when they were looked at again.
    said
        Warnings, log lines, and what was printed.
    """

    def __init__(self) -> None:
        self.released: list[Floats] = []
        self.actions: list[Floats] = []
        self.wanted: list[bool] = []
        self.rounds: list[int] = []
        self.counters: list[int] = []
        self.views: list[dict[str, Any]] = []
        self.changed: list[str] = []
        self.said: list[str] = []


class Harness:
    """What a run is played on, and what an adversary can read of it: an optimizer, a study, or evaluations.

    Where there are segments, whom an event is for is public, and alike in both worlds: whole rounds are asked of one
    segment after another; otherwise segments take turns event by event, so that a person with several events is in
    several of them.

    Parameters
    ----------
    optimizer
        What is played on.
    people
        How many come often, and are counted; 0: nobody is.
    changes
        Sets that are changed to, each once so many events were asked.
    """

    def __init__(self, optimizer: Any, *, people: int = 0, changes: Sequence[tuple[int, Any]] = ()) -> None:
        self._optimizer, self.loss_range, self.people = optimizer, optimizer.loss_range, people
        self._changes, self._asked = list(changes), 0
        self.unsettled, self.own = ("beliefs",), dict[Any, str]()
        self.released: list[Floats] = []
        self._widths: dict[Any, int] = {}  # by id: of how many items a decision is
        declared = getattr(optimizer, "segments", None)
        self.segments = () if declared is None else tuple(declared.names)
        self._turns = itertools.cycle(self.segments)
        self._whose: dict[Any, Any] = {}  # segments, by id
        self._by_owners = isinstance(optimizer.privacy.guarantee, LocalDP)
        self._lock = threading.Lock()
        self._listen()

    @property
    def remaining(self) -> int | None:
        """Events that are left."""
        left: int | None = self._optimizer.remaining
        return left

    @property
    def closed(self) -> int:
        """How many rounds are closed."""
        return int(self._optimizer.round)

    @property
    def patient(self) -> bool:
        """Whether rounds wait for ever, until their losses are told or forgotten."""
        return self._optimizer.patience is None

    @property
    def privacy(self) -> PrivacyStatement:
        """What is promised."""
        promised: PrivacyStatement = self._optimizer.privacy
        return promised

    @property
    def plan(self) -> Any:
        """The plan in force."""
        return self._optimizer.plan

    def ask(self, size: int | None) -> Any:
        """Return so many actions, or the rest of the round; of another set, if it is time for that."""
        while self._changes and self._asked >= self._changes[0][0]:
            self._optimizer.change(domain=self._changes[0][1])
            del self._changes[0]
        whom = whose_turn(self.people, self._asked, self.remaining if size is None else size)
        segments = [next(self._turns) for _ in range(size or 1)] if self.segments else []
        if segments:
            whom |= {"segment": segments if len(segments) > 1 else segments[0]}
        if size == 1:
            actions = alone(self._optimizer.ask(**one_of(whom)))
        else:
            actions = self._optimizer.ask_round(**whom) if size is None else self._optimizer.ask(size, **whom)
        self._asked += len(actions)
        if segments:
            self._whose |= dict(zip(actions.ids.tolist(), itertools.cycle(segments), strict=False))
        if self._optimizer.plan.exploration == "items":
            self._widths |= {one.id: int(one.x.sum()) for one in actions}
        return actions

    def tell(self, ids: Any, losses: Any) -> None:
        """Tell losses, or what their owners make of them.

        Where each item has one, of items that low losses and high ones have not in common.
        """
        if self._by_owners:
            reports: Any = [local.privatise(loss, self._optimizer.channel) for loss in np.atleast_1d(losses)]
            with self._lock:
                self.released.extend(np.array([report], dtype=np.float64) for report in reports)
            self._optimizer.tell(ids, report=reports if np.ndim(ids) else reports[0])
            return
        if self._widths:
            told = zip(np.atleast_1d(ids).tolist(), np.atleast_1d(losses).tolist(), strict=True)
            rows = [disjoint_items(loss, self._widths[one], self.loss_range) for one, loss in told]
            alike = np.stack(rows) if len({len(row) for row in rows}) == 1 else rows  # in blocks, as they are usual
            losses = alike if np.ndim(ids) else rows[0]
        self._optimizer.tell(ids, losses)

    def forget(self, ids: Any) -> None:
        """Say that losses will not come; an owner who says nothing sends no report either."""
        if self._by_owners:
            with self._lock:
                self.released.extend(np.zeros(1) for _ in np.atleast_1d(ids))
        self._optimizer.forget(ids)

    def renew(self, how: str) -> None:
        """Go on from what is stored, or from a backup of it."""
        raise NotImplementedError(f"this cannot be {how}")

    def parts(self, ids: list[Any]) -> list[list[int]]:
        """Return the places of ids whose rounds are released together, segment by segment, as these were asked for."""
        if not self.segments:
            return [list(range(len(ids)))]
        return [
            [place for place, one in enumerate(ids) if self._whose[one] == segment]
            for segment in dict.fromkeys(self._whose.values())
        ]

    def look(self) -> dict[str, Any]:
        """Return all that is public, and what is stored of what later rounds follow from."""
        seen = look(self._optimizer, segments=self.segments)
        return seen | {"beliefs": plain(self._optimizer._store.believed({}))}

    def close(self) -> None:
        """End the run; from here on `released` is complete."""

    def _listen(self) -> None:
        """Read every release, in the order of the draws, as it is kept once its round is closed."""
        if self._by_owners:  # reports are all that is to be read
            return
        store = self._optimizer._store
        release = store.release

        def read(streams: set[int], compute: Compute) -> set[int]:
            known = {stream: store.closed().get(stream, 0) for stream in sorted(streams)}
            more: set[int] = release(streams, compute)
            for stream, before in known.items():
                numbers = (one.numbers for one in store.releases(stream, before))
                # All but the weights, which are public:
                drawn = (np.concatenate([found[0], *found[2:]]) for found in numbers if found is not None)
                self.released += [np.array(found, dtype=np.float64) for found in drawn]
            return more

        store.release = read


def disjoint_items(losses: Any, width: int, loss_range: tuple[float, float]) -> Floats:
    """Return losses of items, a row for each: high ones are on the second half of the items, low ones on the first.

    Two persons who lose far too little and far too much of a decision so lose far too much of disjoint items of it.

    Examples
    --------
    >>> disjoint_items([0.0, 1e9], 3, (-1.0, 0.0))
    array([[-0.e+00, -0.e+00, -5.e-01],
           [-0.e+00, -0.e+00, -1.e+09]])
    >>> disjoint_items(-1e9, 3, (0.0, 1.0))
    array([1.e+09, 1.e+09, 0.e+00])
    """
    low, high = loss_range
    values = np.asarray(losses, dtype=np.float64)[..., None]
    off, first = np.abs(values - (low + high) / 2), np.arange(width) < (width + 1) // 2
    lost = np.where((values < (low + high) / 2) == first, off, 0.0)
    return np.asarray(-lost if high == 0 else low + lost)


def whose_turn(people: int, asked: int, size: int | None) -> dict[str, Any]:
    """Return whom a call is for, after so many events: every third is of those who come often, in turn.

    Examples
    --------
    >>> whose_turn(2, 3, 4), whose_turn(0, 4, 2)
    ({'person': ['often 1', 'once 4', 'once 5', 'often 0']}, {})
    """
    if not people:
        return {}
    events = range(asked, asked + (size or 1))
    return {"person": [f"once {one}" if one % 3 else f"often {one // 3 % people}" for one in events]}


def events_of(person: int, people: int, events: int) -> tuple[int, ...]:
    """Return all events of somebody who comes often.

    Examples
    --------
    >>> events_of(1, 2, 12)
    (3, 9)
    """
    return tuple(range(3 * person, events, 3 * people))


def one_of(whom: dict[str, Any]) -> dict[str, Any]:
    """Return whom a call for one event is for."""
    return whom | {"person": whom["person"][0]} if "person" in whom else whom


def alone(action: Action) -> Actions:
    """Return an action, asked by itself, as a block of one."""
    return Actions(np.array([action.id]), action.x[None], np.array([action.wants_loss]))


def harness_for(made: Any) -> Harness:
    """Return a harness for what a subject has made: an optimizer, or what is one already."""
    return Harness(made) if isinstance(made, PrivateBandit) else made
