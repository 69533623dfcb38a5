"""The engine room: transactions in which a process's state follows the storage, changes, and is written back.

There are two kinds of calls. Those that reserve events, open rounds or close them hold the study's lock, and the state
follows the storage first. Those that tell losses touch the cells of their events and nothing else, so that processes
do not wait for one another.

Rounds are what has cells: rounds of a study, or evaluations. What else there is to follow is up to the state.
"""

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from sqlalchemy import Connection

from sottovoce._arrays import Floats, Integers
from sottovoce.errors import StorageError, StudyBehind
from sottovoce.studies.database.cells import CellTable, pack_losses
from sottovoce.studies.database.errors import Deadlock
from sottovoce.studies.database.storage import Storage, driver_of
from sottovoce.studies.session._cells_at_once import Group, KnownCells, Waiting, in_groups
from sottovoce.studies.session._group_commit import Committer, Operation
from sottovoce.studies.session.counters import Counters, load_counters, save_counters

__all__ = [
    "CONSEQUENCES",
    "NOWHERE",
    "WENT_BACK",
    "AtOnce",
    "Engine",
    "Following",
    "LastTold",
    "NotHere",
    "Receiving",
    "Refusal",
    "Telling",
    "Told",
    "Waiting",
]

CONSEQUENCES = (
    "Losses that were not released are dropped, and ids handed out before are refused from now on; ask for new actions"
)

NOWHERE = (-1, -1)  # where no cell is

WENT_BACK = (
    "the storage is older than what this process has seen: it was restored from a backup under running processes, or "
    "has lost its latest changes"
)


class Refusal(Exception):
    """Carries an error out of a call that has changed nothing: the other calls of the transaction may go on."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error


class NotHere(Exception):
    """Events of a call are in no cell that is known: it takes the study's lock to say why. Nothing was changed."""


class LastTold(NamedTuple):
    """The cell that this process told something last, and the losses that it then waited for: they never grow."""

    round: int
    first: int
    left: int
    size: int


class Told(NamedTuple):
    """What came of a call of tell."""

    stored: int  # losses
    last: LastTold | None
    filled: frozenset[int]  # rounds of which a cell has all of its losses now
    already: int = 0  # losses that were on record before, and were passed over
    dropped: int = 0  # those that came too late, or were not wanted


class AtOnce(NamedTuple):
    """What came of a call that was one statement; the study's version then, and what was left of the `last` cell."""

    told: Told
    version: int | None  # None if it was not looked at
    left: int | None


class Receiving(Protocol):
    """A round that is open, and takes losses."""

    @property
    def number(self) -> int:
        """Its number."""

    def quantise(self, losses: Floats) -> Integers:
        """Return the integers of losses."""

    def quantise_one(self, loss: float) -> int:
        """Return the integer of one loss."""


class Following(Protocol):
    """What a process knows of the storage: in step with it, or stale."""

    counters: Counters
    stale: bool

    @property
    def rounds(self) -> Mapping[int, Receiving]:
        """The rounds at hand, by number; those that are open among them."""

    @property
    def rounds_opened(self) -> int:
        """How many rounds there are, or were."""

    def is_reserved(self, number: int, slot: int) -> bool:
        """Whether somebody has reserved an event of a round that there is; those of closed ones count."""

    def is_closed(self, number: int, counters: Counters, cells: CellTable) -> bool:
        """Whether a round, by what is stored now, takes no losses any more."""


class Telling(Protocol):
    """A call of tell, or of forget."""

    @property
    def newest(self) -> int:
        """The newest generation that its ids are of."""

    def at_once(self, state: Following, cells: CellTable, last: LastTold | None) -> AtOnce | None:
        """Store it in one statement, which commits; None if that cannot be done."""

    def within(self, state: Following, cells: CellTable) -> Told:
        """Store it within a transaction; raise `Refusal` or `NotHere` before anything is changed."""

    def with_the_lock(self, state: Following, connection: Connection, cells: CellTable) -> Told:
        """Store it where the state is in step with the storage; raise `StudyBehind` if that is older than its ids."""

    def waiting(self, state: Following) -> Waiting | None:
        """Return the loss of a call that has a single one, if nothing is known to speak against it."""

    def joined(self, others: Sequence[Any]) -> "Telling | None":
        """Return one that stores all of them or refuses; None if they cannot be put together."""

    def divided(self, told: Told) -> list[Told]:
        """Return what came of each of those that were put together."""


State = TypeVar("State", bound=Following)


class Engine(Generic[State]):
    """Storage, state and group commit, put together.

    Parameters
    ----------
    storage, state
        Where it is kept, and what this process knows of it.
    study
        Its number in the storage.
    """

    def __init__(self, storage: Storage, state: State, study: int) -> None:
        self.storage, self.state, self.study = storage, state, study
        self.erased = 0  # rounds whose losses are gone from the log, as far as this process has seen to it
        self.writer = secrets.token_bytes(8)
        self._seen: Counters | None = None  # the last ones that were on record for certain
        self._before = Counters(0)  # as they were when the transaction began
        self._last: LastTold | None = None
        self._known = KnownCells()
        self._looked = -float("inf")  # when the state last followed the storage
        self.committer = Committer(self._carry_out)
        self.closed = False

    # ------------------------------------------------------------------ calls

    def submit(self, do: Callable[[Connection], Any]) -> Any:
        """Carry out a call that holds the study's lock, with whatever else is waiting; return once it is committed.

        `do` raises `Refusal` before it changes anything, or else all changes of the transaction are undone.
        """
        self.check_usable()
        return self.committer.submit(Operation(do))

    def submit_alone(self, do: Callable[[Connection], Any]) -> Any:
        """Carry out such a call in a transaction that it shares with nobody."""
        self.check_usable()
        return self.committer.submit_alone(Operation(do))

    def tell(self, telling: Telling) -> Told | StudyBehind:
        """Store losses; return once they are committed."""
        self.check_usable()
        told: Told | StudyBehind = self.committer.submit(Operation(telling=telling))
        return told

    def tell_each(self, tellings: Sequence[Telling]) -> list[Told | BaseException]:
        """Store losses of several calls in one transaction; return what came of each, or its error."""
        self.check_usable()
        return self.committer.submit_all([Operation(telling=one) for one in tellings])

    def note_erasure(self) -> None:
        """Put on record how many rounds are erased: otherwise that waits for the next change."""
        if self.erased > self.state.counters.erased and not self.state.stale:

            def note(connection: Connection) -> None:
                self.state.counters.erased = max(
                    self.state.counters.erased, min(self.erased, self.state.counters.closed)
                )

            self.submit(note)

    def at_rest(self) -> AbstractContextManager[Any]:
        """Keep the state as it is meanwhile. A forked child is refused: a lock held then is held for ever."""
        self.storage.refuse_fork()
        return self.committer.turn  # the lock itself: no interrupt comes between it and its `with`

    def cells(self, connection: Connection) -> CellTable:
        """Return the cells of the study, within a transaction."""
        return CellTable(driver_of(connection), self.study, self.storage.is_sqlite)

    @property
    def age(self) -> float:
        """Seconds since the state was in step with the storage."""
        return time.monotonic() - self._looked

    def check_usable(self) -> None:
        """Refuse a study that was closed, or was opened by another process."""
        self.storage.refuse_fork()
        if self.closed:
            raise StorageError("the study is closed: open it again")

    # ------------------------------------------------------------------ carrying them out

    def _carry_out(self, operations: list[Operation]) -> None:
        """Carry out calls that wait: those that tell, then those that hold the lock."""
        with self.storage.unwinding():
            for carry_out, mine in (
                (self._tell_together, [one for one in operations if one.telling is not None]),
                (self._together, [one for one in operations if one.telling is None]),
            ):
                if mine:
                    self._without_blame(carry_out, mine)

    def _without_blame(
        self, carry_out: Callable[[list[Operation]], None], operations: list[Operation], attempts: int = 5
    ) -> None:
        try:
            carry_out(operations)
        except Exception as problem:
            operations = [one for one in operations if one.error is not None]  # the others are on record
            if isinstance(problem, Deadlock) and attempts > 1:  # nothing of it was recorded
                self._without_blame(carry_out, operations, attempts - 1)
                return
            if len(operations) > 1 and not isinstance(problem, StorageError):
                for one in operations:  # one of them is to blame: the others shall not suffer for it
                    self._without_blame(carry_out, [one])
                return
            problem.__context__ = None  # a driver's error, which may hold losses
            for one in operations:
                one.error = problem

    def _tell_together(self, operations: list[Operation], first: bool = True) -> None:
        if not operations:
            return
        if len(operations) == 1 and self._tell_at_once(operations[0]):
            return
        if not self.storage.is_sqlite and len(operations) > 1:
            operations = self._tell_cells_at_once(operations)
            if not operations:
                return
        done: list[tuple[Operation, Told]] = []
        unknown: list[Operation] = []
        with self.storage.briefly(begin=True) as raw:
            cells = CellTable(raw, self.study, self.storage.is_sqlite)
            last = self._last
            behind = self._is_behind(cells.version(), None if last is None else cells.left_of(last.round, last.first))
            if behind or self.state.stale:
                unknown = operations
            elif (together := self._tell_as_one(operations, cells)) is not None:
                done = together
            else:
                for one in operations:
                    try:
                        done.append((one, one.telling.within(self.state, cells)))
                    except Refusal as refusal:
                        one.error = refusal.error
                    except NotHere:
                        unknown.append(one)
        for one, told in done:
            self._note(told)
            one.succeed(told)
        if unknown:
            self._without_blame(self._tell_with_the_lock, unknown[:1])
            if first and not self.state.stale:  # it is in step now: what was unknown to it may not be any more
                self._without_blame(lambda rest: self._tell_together(rest, first=False), unknown[1:])
                return
        for one in unknown[1:]:
            self._without_blame(self._tell_with_the_lock, [one])

    def _tell_cells_at_once(self, operations: list[Operation]) -> list[Operation]:
        """Tell single losses in one statement for each cell; return the calls for which that is not plain.

        A call that is left over has changed nothing; those of a cell are stored together or not at all.
        """
        if self.state.stale:
            return operations
        found = ((call, one.telling.waiting(self.state)) for call, one in enumerate(operations))
        waiting = [(call, one) for call, one in found if one is not None]
        done: set[int] = set()
        with self.storage.briefly(begin=False) as raw:
            cells = CellTable(raw, self.study, self.storage.is_sqlite)
            for group in in_groups(waiting, self._known, cells):
                if self._tell_group(group, cells, [operations[call] for call in group.calls]):
                    done.update(group.calls)
                else:
                    self._known.forget(group)
        return [one for call, one in enumerate(operations) if call not in done]

    def _tell_group(self, group: Group, cells: CellTable, operations: list[Operation]) -> bool:
        """Tell the losses of one cell; return whether they were stored, and nobody has to look closer."""
        last, count = self._last, len(operations)
        entry = pack_losses(group.round, group.slots, group.integers)
        before = NOWHERE if last is None else last[:2]
        found = cells.tell_several(group.generation, group.round, group.first, group.slots, entry, before)
        if found is None:
            return False
        first, left, size, version, left_before = found
        if self._is_behind(version, left_before):  # whoever holds the lock next will say so
            if last is not None and last[:2] == (group.round, first):
                self._last = last._replace(left=last.left - count)
            return False
        self._last = LastTold(group.round, int(first), int(left), size)
        filled = frozenset(() if left else (group.round,))
        for one in operations:
            one.succeed(Told(1, self._last, filled))
        return True

    def _tell_as_one(self, operations: list[Operation], cells: CellTable) -> list[tuple[Operation, Told]] | None:
        """Tell what all calls have to tell, each cell once; None, and nothing is changed, if that is not plain."""
        first, *others = (one.telling for one in operations)
        joined = first.joined(others) if others else None
        if joined is None:
            return None
        try:
            told = joined.within(self.state, cells)
        except (Refusal, NotHere):
            return None
        return list(zip(operations, joined.divided(told), strict=True))

    def _tell_at_once(self, operation: Operation) -> bool:
        """Tell in one statement, where that can be done; return whether it was."""
        if self.state.stale:
            return False
        with self.storage.briefly(begin=False) as raw:
            cells = CellTable(raw, self.study, self.storage.is_sqlite)
            found = operation.telling.at_once(self.state, cells, self._last)
        if found is None:
            return False
        told, version, left = found
        if self._is_behind(version, left):
            last, mine = self._last, told.last
            if last is not None and mine is not None and mine[:2] == last[:2]:  # it should wait for these less by now
                self._last = last._replace(left=last.left - told.stored)
            self._without_blame(self._tell_with_the_lock, [operation])
        else:
            self._note(told)
            operation.succeed(told)
        return True

    def _tell_with_the_lock(self, operations: list[Operation]) -> None:
        (operation,) = operations

        def tell(connection: Connection) -> Told | StudyBehind:
            cells = self.cells(connection)
            try:
                told: Told = operation.telling.with_the_lock(self.state, connection, cells)
            except StudyBehind as behind:  # at once: two that notice it must not end two lives
                self._begin_new_life(connection, cells, operation.telling.newest)
                return behind
            return told

        locked = Operation(tell)
        self._together([locked])
        if locked.error is not None:
            operation.error = locked.error
            return
        if isinstance(locked.value, Told):
            self._note(locked.value)
        operation.succeed(locked.value)

    def _note(self, told: Told) -> None:
        if told.last is not None:
            self._last = told.last

    def _is_behind(self, version: int | None, left: int | None) -> bool:
        """Whether a storage of this version, in which the cell that was told last waits for so many, went back.

        A cell that is gone may have been closed; whoever holds the lock next will see.
        """
        if self._seen is not None and version is not None and version < self._seen.version:
            return True
        return self._last is not None and left is not None and left > self._last.left

    def _has_lost(self, cells: CellTable, counters: Counters) -> bool:
        """Whether the storage has lost what this process told it last."""
        last, seen = self._last, self._seen
        if last is None or seen is None or counters.generation != seen.generation:
            return False
        if self.state.is_closed(last.round, counters, cells):
            self._last = None
            return False
        left = cells.left_of(last.round, last.first)
        return left is None or left > last.left

    def _together(self, operations: list[Operation]) -> None:
        done: list[tuple[Operation, Any]] = []
        try:
            with self.storage.transaction() as connection:
                behind = self.step_in(connection)
                for one in operations if behind is None else ():
                    try:
                        assert one.do is not None
                        done.append((one, one.do(connection)))
                    except Refusal as refusal:
                        one.error = refusal.error
                self.write_back(connection)
        except BaseException:
            self.step_back()
            raise
        self.step_out()
        for one, value in done:
            one.succeed(value)
        if behind is not None:
            for one in operations:
                one.error = behind

    def step_in(self, connection: Connection) -> StudyBehind | None:
        """Take the study's lock, and bring the state up to what is stored; if that went back, begin a new life."""
        state, behind = self.state, None
        counters, cells = load_counters(connection, self.study), self.cells(connection)
        older = self._seen is not None and counters.is_older_than(self._seen)
        if older or self._has_lost(cells, counters):
            behind, state.stale = StudyBehind(f"{WENT_BACK}. {CONSEQUENCES}"), True
        self._follow(connection, counters)
        state.stale = True  # it may be ahead of what is stored, until that is committed
        self._let_go_of_earlier_lives()
        self._before = replace(state.counters)
        if behind is not None and self._seen is not None:  # at once: two that notice must not end two lives
            self._begin_new_life(connection, cells, self._seen.generation)
            state.stale = True
        return behind

    def write_back(self, connection: Connection) -> None:
        """Write down what has changed of the counters."""
        counters = self.state.counters
        if counters != self._before:
            counters.erased = max(counters.erased, min(self.erased, counters.closed))
            save_counters(connection, counters, self.writer)

    def step_out(self) -> None:
        """Go on with the state as it is: all of it is on record."""
        self.state.stale = False
        self._take_note()

    def step_back(self) -> None:
        """Trust nothing of the state: what was done is not on record."""
        self.state.stale = True
        self._undone()

    def _let_go_of_earlier_lives(self) -> None:
        """What was in hand, or told, in an earlier life is worth nothing in this one."""
        if self._seen is not None and self._seen.generation != self.state.counters.generation:
            self._drop_hand()
            self._last = None

    def _take_note(self) -> None:
        """Note what is on record now."""
        self._let_go_of_earlier_lives()
        self._seen = self.state.counters  # follow() puts another in its place: this one will not change
        self._looked = time.monotonic()
        self._committed()

    # ------------------------------------------------------------------ what differs

    def _follow(self, connection: Connection, counters: Counters) -> None:
        """Bring the state up to what the storage holds."""
        raise NotImplementedError

    def _begin_new_life(self, connection: Connection, cells: CellTable, newest: int) -> None:
        """Drop what is not released, and raise the generation above all that were met, `newest` among them."""
        raise NotImplementedError

    def _committed(self) -> None:
        """Take in hand what was reserved within the transaction: it is on record now."""

    def _undone(self) -> None:
        """Let go of what was reserved within the transaction: it is not on record."""

    def _drop_hand(self) -> None:
        """Let go of everything: it is of an earlier life."""
