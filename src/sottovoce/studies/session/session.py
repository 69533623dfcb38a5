"""The engine room of a study: transactions in which the state follows the storage, changes, and is written back."""

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection

from sottovoce.errors import StorageError, StudyBehind
from sottovoce.studies.database.storage import Storage
from sottovoce.studies.session._group_commit import Committer, Operation
from sottovoce.studies.session.counters import Counters, load_counters, save_counters
from sottovoce.studies.session.restoration import CONSEQUENCES, begin_new_life
from sottovoce.studies.session.state import StudyState

__all__ = ["Refusal", "Session"]

_WENT_BACK = (
    "the storage is older than what this process has seen: it was restored from a backup under running processes, or "
    "has lost its latest changes"
)


class Refusal(Exception):
    """Carries an error out of a call that has changed nothing: the other calls of the transaction may go on."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error


class Session:
    """Storage, state and group commit, put together.

    Parameters
    ----------
    storage, state
        Of one study.
    study
        Its number in the storage.
    """

    def __init__(self, storage: Storage, state: StudyState, study: int) -> None:
        self.storage, self.state, self.study = storage, state, study
        self._writer = secrets.token_bytes(8)
        self._seen: Counters | None = None  # the last ones that were on record for certain
        self.owner = f"{os.getpid()}-{secrets.token_hex(8)}"  # among the processes that close rounds
        self.committer = Committer(self._carry_out)
        self.closed = False

    def submit(self, do: Callable[[Connection], Any]) -> Any:
        """Carry out a call in a transaction, shared with whatever else is waiting; return once it is committed.

        `do` raises `Refusal` before it changes anything, or else all changes of the transaction are undone.
        """
        self.check_usable()
        return self.committer.submit(do)

    def submit_alone(self, do: Callable[[Connection], Any]) -> Any:
        """Carry out a call in a transaction that it shares with nobody."""
        self.check_usable()
        return self.committer.submit_alone(do)

    @contextmanager
    def at_rest(self) -> Iterator[None]:
        """Keep the state as it is meanwhile. A forked child is refused: a lock held then is held for ever."""
        self.storage.refuse_fork()
        with self.committer.turn:
            yield

    def is_dead(self, owner: str) -> bool:
        """Say whether the process of an owner is known to be gone. Should this be wrong, its fence is out of date."""
        if not self.storage.is_sqlite:  # it may be on another host
            return False
        try:
            os.kill(int(owner.partition("-")[0]), 0)
        except ProcessLookupError:
            return True
        except OSError:
            return False
        return False

    def check_usable(self) -> None:
        """Refuse a study that was closed, or was opened by another process."""
        self.storage.refuse_fork()
        if self.closed:
            raise StorageError("the study is closed: open it again")

    def _carry_out(self, operations: list[Operation]) -> None:
        try:
            self._together(operations)
        except Exception as problem:
            if len(operations) > 1 and not isinstance(problem, StorageError):
                for one in operations:  # one of them is to blame: the others shall not suffer for it
                    self._carry_out([one])
                return
            problem.__context__ = None  # a driver's error, which may hold losses
            for one in operations:
                one.error = problem

    def _together(self, operations: list[Operation]) -> None:
        state = self.state
        done: list[tuple[Operation, Any]] = []
        behind: StudyBehind | None = None
        try:
            with self.storage.transaction() as connection:
                counters = load_counters(connection, self.study)
                if self._seen is not None and counters.is_older_than(self._seen):
                    behind, state.stale = StudyBehind(f"{_WENT_BACK}. {CONSEQUENCES}"), True
                state.follow(connection, counters)
                state.stale = True  # it may be ahead of what is stored, until that is committed
                before = replace(state.counters)
                if behind is not None and self._seen is not None:  # at once: two that notice must not end two lives
                    begin_new_life(state, connection, newest=self._seen.generation)
                for one in operations if behind is None else ():
                    try:
                        done.append((one, one.do(connection)))
                    except Refusal as refusal:
                        one.error = refusal.error
                if state.counters != before:
                    save_counters(connection, state.counters, self._writer)
        except BaseException:
            state.stale = True
            raise
        state.stale = False
        self._seen = state.counters  # follow() puts another in its place: this one will not change
        for one, value in done:
            one.succeed(value)
        if behind is not None:
            for one in operations:
                one.error = behind
