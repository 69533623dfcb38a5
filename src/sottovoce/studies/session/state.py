"""A study as one process sees it: rebuilt from the storage, kept in step with it, never ahead of what is committed.

Whatever is derived here from uncommitted changes is thrown away with them: after any failed transaction the state is
stale, and the next one rebuilds it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

import numpy as np
from sqlalchemy import Connection, delete, insert

from sottovoce._arrays import Floats, Integers
from sottovoce._records import pack
from sottovoce.errors import HorizonReached, StudyDamaged
from sottovoce.exploration import Record
from sottovoce.learning.bandit.configuration import BanditConfiguration
from sottovoce.learning.bandit.doubling import epoch_lengths
from sottovoce.learning.bandit.epoch import Epoch, next_epoch
from sottovoce.learning.bandit.estimates import ReleasedRound
from sottovoce.learning.bandit.patience import patience_for
from sottovoce.learning.bandit.rounds import Block
from sottovoce.learning.bandit.saved_state import coins_record, design_record, refuse_secrets
from sottovoce.learning.planning.problem import Problem
from sottovoce.privacy import NoiseSource
from sottovoce.studies.database import tables
from sottovoce.studies.database.rows import draw_record, epoch_row, pack_losses, round_row
from sottovoce.studies.database.tables import blocks, epochs, rounds, tells
from sottovoce.studies.session._rebuilding import older_epochs, read_tells, rebuild
from sottovoce.studies.session.chain import Chain
from sottovoce.studies.session.counters import AUTO, Counters
from sottovoce.studies.session.open_round import StudyRound
from sottovoce.studies.session.rights import LedgerRight

__all__ = ["StudyState", "Taken"]


@dataclass(frozen=True, slots=True, eq=False)
class Taken:
    """Consecutive actions of one block, handed out."""

    round: StudyRound
    block: Block
    within: slice

    @property
    def slots(self) -> range:
        """Their places in the round."""
        shift = self.block.first - self.round.first
        return range(shift + self.within.start, shift + self.within.stop)


class StudyState:
    """The open rounds, the learner of each epoch, and the public coins.

    Parameters
    ----------
    configuration
        Of the study.
    source
        Where noise comes from: never from anything that is stored.
    right
        To the charge of a ledger, if one was passed: a new life presents it.
    """

    def __init__(
        self, configuration: BanditConfiguration, source: NoiseSource, right: LedgerRight | None = None
    ) -> None:
        self.configuration, self.source, self.right = configuration, source, right
        self.problem = configuration.problem()
        self.horizon = None if configuration.horizon is None else self.problem.horizon
        self.coins = np.random.Generator(np.random.SFC64(0))
        self.counters = Counters(0)
        self.epochs: dict[int, Epoch] = {}
        self.chains: dict[int, Chain] = {}  # of the same epochs
        self.lengths: list[int] = []
        self.rounds: dict[int, StudyRound] = {}  # by number, in order
        self.ahead: list[tuple[StudyRound, Block]] = []  # blocks that are not asked to their end
        self.rounds_opened = 0
        self.point: Floats | None = None  # of the newest round, as it is played
        self.seen = 0  # the last row of tells that was taken in
        self.stale = True

    # ------------------------------------------------------------------ reading

    def follow(self, connection: Connection, counters: Counters) -> None:
        """Bring the state up to what the storage holds."""
        if (
            self.stale
            or counters.structure != self.counters.structure
            or counters.generation != self.counters.generation
        ):
            self.counters = counters
            rebuild(self, connection)
        elif counters.version != self.counters.version:
            self.counters = counters
            read_tells(self, connection)
            self.mark_asked()
        else:
            self.counters = counters

    def older_epochs(self, connection: Connection) -> Iterator[Epoch]:
        """Yield epochs that are closed, and so not at hand, the newest first."""
        return older_epochs(self, connection)

    def mark_asked(self) -> None:
        """Hand out in the blocks what the counters say was handed out."""
        for _, block in self.ahead:
            block.asked = max(0, min(block.size, self.counters.asked - block.first))
        self._let_go()

    def _let_go(self) -> None:
        """Let go of what is asked to its end; and of rounds that are closed, too."""
        self.ahead = [(live, block) for live, block in self.ahead if block.asked < block.size]
        asking = {live.number for live, _ in self.ahead}
        closed = takewhile(lambda live: live.closed, self.rounds.values())  # rounds close in order
        for number in [live.number for live in closed if live.number not in asking]:
            del self.rounds[number]

    # ------------------------------------------------------------------ asking

    @property
    def remaining(self) -> int | None:
        """Events that are left to ask; None if the horizon is unknown."""
        return None if self.horizon is None else self.horizon - self.counters.asked

    @property
    def patience(self) -> int | None:
        """Events that are asked before a full round stops waiting for its losses; None if it waits for ever."""
        setting = "auto" if self.counters.patience == AUTO else self.counters.patience
        return patience_for(setting, horizon=self.horizon, planned=sum(self.lengths))

    def ask(self, connection: Connection, size: int, now: float, *, since: int | None = None) -> list[Taken]:
        """Hand out actions, opening blocks as they are needed.

        Parameters
        ----------
        size
            How many.
        now
            The time.
        since
            Events that were asked when the call began whose next part this is: none of the call counts against rounds
            that became full in it.
        """
        self.check_remaining(size)
        while sum(block.size - block.asked for _, block in self.ahead) < size:
            self._open_block(connection)
        taken, left = [], size
        for live, block in self.ahead:
            within = block.take(min(left, block.size - block.asked))
            taken.append(Taken(live, block, within))
            left -= within.stop - within.start
            if block.first + within.stop == live.end and not live.closed:
                live.full_at, live.full_after = now, self.counters.asked + size
                full = {"full_at": now, "full_after": live.full_after}
                connection.execute(round_row(rounds.update(), self.counters.id, live.number).values(**full))
                self.counters.structure += 1
            if not left:
                break
        self.counters.asked += size
        if since is not None:
            self._fill_later(connection, since)
        self._delete_blocks_of_closed_rounds(connection)
        self._let_go()
        return taken

    def _fill_later(self, connection: Connection, since: int) -> None:
        """Let rounds that became full within one call be full from its end on."""
        asked, found = self.counters.asked, False
        for live in reversed(self.rounds.values()):
            if live.full_after is not None and live.full_after <= since:
                break
            if live.full_after not in (None, asked) and not live.closed:
                live.full_after, found = asked, True
        if found:
            where = rounds.c.study == self.counters.id, rounds.c.state == tables.OPEN, rounds.c.full_after > since
            connection.execute(rounds.update().where(*where).values(full_after=asked))
            self.counters.structure += 1

    def rest_of_round(self, connection: Connection, most: int | None = None) -> int:
        """Return how many actions the current round has left, `most` at most; a new one is begun if there is none."""
        if not self.ahead:
            self.check_remaining(1)
            self._open_block(connection)
        left = self.ahead[0][0].end - self.counters.asked
        return left if most is None else min(left, most)

    def check_remaining(self, size: int) -> None:
        """Refuse to ask for more than the horizon holds."""
        remaining = self.remaining
        if remaining is not None and size > remaining:
            raise HorizonReached(
                f"size={size} actions were asked for, and {remaining} of horizon={self.horizon} are left"
            )

    def _delete_blocks_of_closed_rounds(self, connection: Connection) -> None:
        for live, block in self.ahead:
            if live.closed and block.asked == block.size:
                connection.execute(
                    delete(blocks).where(blocks.c.study == self.counters.id, blocks.c.first == block.first)
                )
                self.counters.structure += 1

    def _open_block(self, connection: Connection) -> None:
        number, epoch = self._current_epoch(connection)
        opened, first, draw = epoch.draw_block(self.coins)
        live = next(reversed(self.rounds.values()), None)
        is_new = live is None or live.open is not opened
        if live is None or is_new:
            live = StudyRound(self.rounds_opened, number, first, opened, learned=epoch.learner.observed)
            self.rounds[live.number] = live
            self.rounds_opened += 1
            self.point = self.original(number, opened.point)
        block = Block(opened, first, draw, epoch.grid)
        live.blocks.append(block)
        self.ahead.append((live, block))
        public = pack(self.public_record(live))
        where = {"study": self.counters.id, "number": live.number}
        if is_new:
            connection.execute(insert(rounds).values(**where, state=tables.OPEN, public=public))
        else:
            connection.execute(round_row(rounds.update(), **where).values(public=public))
        record = pack(draw_record(first, draw))
        connection.execute(insert(blocks).values(study=self.counters.id, first=first, round=live.number, draw=record))
        passed, done = epoch.counts
        connection.execute(epoch_row(epochs.update(), self.counters.id, number).values(passed=passed, opened=done))
        self.counters.coins = pack(coins_record(self.coins))
        self.counters.structure += 1

    def public_record(self, live: StudyRound) -> Record:
        """Return what is stored of a round before it is released."""
        exploration = {f"exploration.{name}": value for name, value in live.open.exploration.record().items()}
        learned = {} if live.learned is None else {"learned": live.learned}  # which point it plays: for `verify`
        return {
            "number": live.number,
            "epoch": live.epoch,
            "first": live.first,
            "size": live.open.size,
            "last": live.open.last,
            "opened": live.open.opened,
            "point": live.open.point,
            **learned,
            **exploration,
        }

    def _current_epoch(self, connection: Connection) -> tuple[int, Epoch]:
        if not self.lengths or self.epochs[len(self.lengths) - 1].exhausted:
            self._begin_epoch(connection)
        number = len(self.lengths) - 1
        return number, self.epochs[number]

    def _begin_epoch(self, connection: Connection) -> None:
        number = len(self.lengths)
        lengths = epoch_lengths(self.horizon)
        first = sum(self.lengths)
        self.lengths = [next(lengths) for _ in range(number + 1)]
        previous = self.epochs.get(number - 1)
        epoch = next_epoch(self.problem_of(number), self.configuration, self.source, first=first, previous=previous)
        refuse_secrets(epoch)
        follows = previous is not None and previous.plan.position == epoch.plan.position
        after = previous.learner.observed if previous is not None and follows else None  # where it begins: for `verify`
        made = {"plan": epoch.plan.to_dict(), "first": first, "after": after, **design_record(epoch)}
        self.epochs[number], self.chains[number] = epoch, Chain()
        values = {"made": pack(made), "learned": self.learned_record(number), "passed": 0, "opened": 0}
        connection.execute(insert(epochs).values(study=self.counters.id, number=number, **values))
        self.counters.structure += 1

    # ------------------------------------------------------------------ telling

    def tell(self, connection: Connection, live: StudyRound, slots: Integers, integers: Integers | None) -> None:
        """Store losses of pending slots; None for losses that will never come."""
        entry = pack_losses(live.number, slots, integers)
        stored = connection.execute(insert(tells).values(study=self.counters.id, round=live.number, entry=entry))
        key: Any = stored.inserted_primary_key
        self.seen = int(key[0])
        live.fill(slots, integers)
        if integers is None:
            self.counters.forgotten += len(slots)
        else:
            self.counters.told += len(slots)

    # ------------------------------------------------------------------ closing

    def first_open(self) -> StudyRound | None:
        """Return the round that is to be closed next."""
        return next((live for live in self.rounds.values() if not live.closed), None)

    def close(self, connection: Connection, live: StudyRound, released: ReleasedRound | None) -> None:
        """Store what a round releases, once, with all that follows from it; and delete its losses."""
        wanted, missing = live.wanted(), live.missing()
        record: Record = {"number": live.number, "missing": missing}
        if wanted is not None:
            record["wanted"] = wanted
        if released is not None:
            record |= {"numbers": np.asarray(released.numbers), "weights": released.weights}
            state, again = tables.RELEASED, released._replace(exploration=live.open.exploration)
        else:
            state, again = tables.UNRELEASED, None
        data = pack(record)
        self._settle(connection, live, state, data)
        epoch = live.open.epoch
        if again is not None:  # the last round of an epoch is never released, and teaches nothing
            epoch.take_in(again, live.open.point)
        self.chains[live.epoch] = self.chains[live.epoch].add(live.number, data)
        learned = self.learned_record(live.epoch)
        connection.execute(epoch_row(epochs.update(), self.counters.id, live.epoch).values(learned=learned))
        live.open.erase()

    def learned_record(self, epoch: int) -> bytes:
        """Return what is stored of an epoch's learning."""
        return pack({**self.epochs[epoch].state(), **self.chains[epoch].record()})

    def _settle(self, connection: Connection, live: StudyRound, state: str, released: bytes) -> None:
        """Turn an open round into a closed one, by compare-and-set."""
        public = self.public_record(live)
        public.pop("exploration.waiting", None)  # what would come next in a round that is over
        changed = connection.execute(
            round_row(rounds.update(), self.counters.id, live.number)
            .where(rounds.c.state == tables.OPEN)
            .values(state=state, released=released, public=pack(public))
        )
        if changed.rowcount != 1:
            raise StudyDamaged(f"round {live.number} was closed by somebody else; nothing of this was recorded")
        connection.execute(delete(tells).where(tells.c.study == self.counters.id, tells.c.round == live.number))
        # What is not asked yet stays; blocks are asked in order. A range, for there may be any number of them.
        left = next((block.first for block in live.blocks if block.asked < block.size), live.end)
        mine = blocks.c.study == self.counters.id, blocks.c.round == live.number
        connection.execute(delete(blocks).where(*mine, blocks.c.first < left))
        live.closed = True
        self.counters.closed += 1
        self.counters.structure += 1
        self._let_go()

    def problem_of(self, epoch: int) -> Problem:
        """Return the public facts of an epoch."""
        return replace(self.problem, horizon=self.lengths[epoch])

    def original(self, epoch: int, point: Floats) -> Floats:
        """Return a point of an epoch as it is played."""
        return np.asarray(self.epochs[epoch].stage.original(point))
