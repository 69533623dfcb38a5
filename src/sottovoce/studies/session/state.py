"""A study as one process sees it: read from the storage, kept in step with it, never ahead of what is committed.

Whatever is derived here from uncommitted changes is thrown away with them: after any failed transaction the state is
stale, and the next one reads it anew (session/following.py). It holds no loss: those stay in their cells until their
round is released.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from sqlalchemy import Connection, delete, insert, select

from sottovoce._arrays import Floats
from sottovoce._records import pack
from sottovoce.errors import HorizonReached, StudyDamaged
from sottovoce.exploration import Record
from sottovoce.learning.bandit.configuration import BanditConfiguration
from sottovoce.learning.bandit.doubling import epoch_lengths
from sottovoce.learning.bandit.epoch import Epoch, next_epoch
from sottovoce.learning.bandit.estimates import ReleasedRound
from sottovoce.learning.bandit.patience import patience_for
from sottovoce.learning.bandit.saved_state import coins_record, design_record, refuse_secrets
from sottovoce.learning.planning.plan import Plan
from sottovoce.learning.planning.problem import Problem
from sottovoce.privacy import NoiseSource
from sottovoce.studies.database import tables
from sottovoce.studies.database.cells import LONGEST, Cell, CellTable, cut
from sottovoce.studies.database.rows import draw_from_record, draw_record, epoch_row, read, round_row
from sottovoce.studies.database.tables import blocks, epochs, rounds
from sottovoce.studies.session.chain import Chain
from sottovoce.studies.session.counters import AUTO, Counters
from sottovoce.studies.session.gathering import Gathered
from sottovoce.studies.session.open_round import DrawnBlock, StudyRound, Taken
from sottovoce.studies.session.rights import LedgerRight

__all__ = ["Reserving", "StudyState"]

_FAR = 2**62
_SINGLE_CELL = 32  # events of a cell whose actions are handed out one by one: it is written anew with every loss


class Reserving(NamedTuple):
    """What a process wants to reserve.

    Attributes
    ----------
    size, spare
        Events that it needs now, and that it would like to have in hand for the calls to come.
    call
        How many events its callers take at a time: cells are cut accordingly.
    since
        Events that were asked when the call began: none of the call counts against rounds that became full in it.
    now
        The time.
    """

    size: int
    spare: int
    call: int
    since: int
    now: float


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
    problem
        What the configuration is about, if that is at hand.
    """

    def __init__(
        self,
        configuration: BanditConfiguration,
        source: NoiseSource,
        right: LedgerRight | None = None,
        problem: Problem | None = None,
    ) -> None:
        self.configuration, self.source, self.right = configuration, source, right
        self.problem = configuration.problem() if problem is None else problem
        self.horizon = None if configuration.horizon is None else self.problem.horizon
        self.coins = np.random.Generator(np.random.SFC64(0))
        self.counters = Counters(0)
        self.start_over()

    def start_over(self) -> None:
        """Forget what was read: it may not be what is stored."""
        self.epochs: dict[int, Epoch] = {}
        self.chains: dict[int, Chain] = {}  # of the same epochs
        self.learned = -1  # rounds that were closed when these were last brought up to date
        self.lengths: list[int] = []
        self.rounds: dict[int, StudyRound] = {}  # by number, in order: open, or not reserved to their end
        self.ahead: list[DrawnBlock] = []  # blocks that are not reserved to their end
        self.rounds_opened = 0
        self.point: Floats | None = None  # of the newest round, as it is played
        self.stale = True

    def mark_asked(self) -> None:
        """Reserve in the blocks what the counters say was reserved."""
        for block in self.ahead:
            block.asked = max(0, min(block.size, self.counters.asked - block.first))
        self._let_go()

    def _let_go(self) -> None:
        """Let go of what is reserved to its end; and of rounds that are closed, too."""
        self.ahead = [block for block in self.ahead if block.asked < block.size]
        asking = {block.round.number for block in self.ahead}
        for number in list(self.rounds):
            if number >= self.counters.closed:
                break
            if number not in asking:
                del self.rounds[number]

    # ------------------------------------------------------------------ asking

    def remaining(self, in_hand: int) -> int | None:
        """Events that are left to ask, with those that are in hand; None if the horizon is unknown."""
        counters = self.counters
        return None if self.horizon is None else self.horizon - counters.asked + counters.returned + in_hand

    @property
    def clock(self) -> int:
        """Positions that were asked: what patience counts."""
        return self.counters.asked

    @property
    def deadline(self) -> float | None:
        """Seconds that pass before a full round stops waiting for its losses; None if it waits for ever."""
        return self.counters.deadline

    @property
    def patience(self) -> int | None:
        """Events that are asked before a full round stops waiting for its losses; None if it waits for ever."""
        setting = "auto" if self.counters.patience == AUTO else self.counters.patience
        return patience_for(setting, horizon=self.horizon, planned=sum(self.lengths))

    def reserve(self, connection: Connection, cells: CellTable, order: Reserving) -> list[Taken]:
        """Reserve events: those that were given back first, then the next ones, opening blocks as they are needed."""
        taken = self._take_again(connection, cells, order) if self.counters.returned else []
        need = order.size - sum(one.size for one in taken)
        while sum(block.size - block.asked for block in self.ahead) < need:
            self._open_block(connection)
        length = _SINGLE_CELL if order.call == 1 else min(order.call, LONGEST)
        fresh: list[Taken] = []
        after, left = self.clock + max(0, need), need
        for block in list(self.ahead) if need > 0 else ():
            count = min(left, block.size - block.asked)
            fresh += self._reserve_in(connection, block, count, length, after, order.now)
            left -= count
            if not left:
                spare = min(order.spare, block.size - block.asked, self._until_due(), self._unclaimed())
                if spare > 0 and block.draw.wants_loss is None:  # what wants no loss may outlive its round
                    fresh += self._reserve_in(connection, block, spare, length, after, order.now)
                break
        closed = self.counters.closed
        cells.insert(self.counters.generation, [_new_cell(one) for one in fresh if one.block.round.number >= closed])
        self._fill_later(connection, order.since, after)
        self._delete_blocks_of_closed_rounds(connection)
        self._let_go()
        return taken + fresh

    def _until_due(self) -> int:
        """How many events may be reserved before the first open round is out of patience."""
        first, patience = self.first_open(), self.patience
        if first is None or first.full_after is None or patience is None:
            return _FAR
        return first.full_after + patience - self.clock

    def _unclaimed(self) -> int:
        """How many events may be reserved ahead before the horizon is reached: a block ends there, if not before."""
        return _FAR

    def _reserve_in(
        self, connection: Connection, block: DrawnBlock, count: int, length: int, after: int, now: float
    ) -> list[Taken]:
        """Reserve the next events of a block, cell by cell; note it if nothing is left of its round."""
        live, start = block.round, block.asked
        block.asked += count
        self.counters.asked += count
        changes: Record = {}
        if live.number >= self.counters.closed:
            if block.first + block.asked == live.end:
                live.full_at, live.full_after = now, max(after, self.clock - self.counters.asked + live.end)
                changes = {"full_at": now, "full_after": live.full_after}
            if not live.whole and self._wants_no_more(live):
                live.whole = True
                changes["whole"] = 1
        if changes:
            connection.execute(round_row(rounds.update(), self.counters.id, live.number).values(**changes))
            self.counters.structure += 1
        return [Taken(block, at, at + size) for at, size in cut(start, count, length)]

    def _wants_no_more(self, live: StudyRound) -> bool:
        """Whether nothing that is still to be reserved of a round wants a loss."""
        rest = (one for one in self.ahead if one.round.number == live.number)
        drawn = live.open.opened == live.open.size
        return drawn and not any(bool(one.wants_loss[one.asked :].any()) for one in rest)

    def _take_again(self, connection: Connection, cells: CellTable, order: Reserving) -> list[Taken]:
        """Take cells that were given back, until there are enough events."""
        taken: list[Taken] = []
        full: list[StudyRound] = []  # to their ends, with what is taken
        need, found = order.size, cells.given_back()
        while found and need > 0:
            cell = found.pop(0)
            live = self.rounds[cell.round]
            block = self._block_of(connection, live, cell.first)
            start = live.first + cell.first - block.first
            if (most := self._unclaimed()) < cell.size:  # others have claimed what was given back here
                rest = cells.shorten(cell.round, cell.first, most, block.wants_loss[start : start + cell.size])
                assert rest is not None
                cells.insert(self.counters.generation, [rest])
                found.insert(0, rest)
                cell.size = most
            taken.append(Taken(block, start, start + cell.size))
            cells.take_again(cell)
            need -= cell.size
            self.counters.returned -= cell.size
            if live.end <= self.counters.asked and all(one.round != cell.round for one in found):
                full.append(live)
        for live in full:
            self._note_full(connection, live, order.now, self.clock + max(0, need))
        return taken

    def _block_of(self, connection: Connection, live: StudyRound, slot: int) -> DrawnBlock:
        """Return the block of an event of an open round."""
        event = live.first + slot
        for block in self.ahead:
            if block.first <= event < block.first + block.size:
                return block
        mine = blocks.c.study == self.counters.id, blocks.c.round == live.number, blocks.c.first <= event
        row = connection.execute(select(blocks).where(*mine).order_by(blocks.c.first.desc()).limit(1)).one()
        record = read(f"actions of round {live.number}", row.draw)
        return DrawnBlock(live, row.first, draw_from_record(record, live.open.exploration))

    def give_back(self, connection: Connection, cells: CellTable, held: Taken, used: int) -> None:
        """Give back the events of a cell that were not handed out: whoever asks next takes them again.

        They stay reserved. Others may have listed their ids, and an id past all that is reserved means that the storage
        went back in time.
        """
        live = self.rounds.get(held.block.round.number)
        if live is None or live.number < self.counters.closed:
            return  # it was closed without them
        unused = cells.shorten(live.number, held.first, used, held.block.wants_loss[held.start : held.stop])
        if unused is None:
            return
        cells.insert(self.counters.generation, [unused])
        self.counters.returned += unused.size
        if live.full_after is not None:  # it is not asked to its end any more: nobody loses patience
            self._note_full(connection, live, None, None)

    def _note_full(self, connection: Connection, live: StudyRound, at: float | None, after: int | None) -> None:
        live.full_at, live.full_after = at, after
        changes: Record = {"full_at": at, "full_after": after}
        connection.execute(round_row(rounds.update(), self.counters.id, live.number).values(**changes))
        self.counters.structure += 1

    def _fill_later(self, connection: Connection, since: int, after: int) -> None:
        """Let rounds that became full within one call be full from its end on."""
        late = [
            live
            for live in self.rounds.values()
            if live.number >= self.counters.closed and live.full_after is not None and since < live.full_after < after
        ]
        if late:
            for live in late:
                live.full_after = after
            where = rounds.c.study == self.counters.id, rounds.c.number.between(late[0].number, late[-1].number)
            connection.execute(rounds.update().where(*where, rounds.c.state == tables.OPEN).values(full_after=after))
            self.counters.structure += 1

    def rest_of_round(self, connection: Connection, most: int | None, in_hand: int) -> int:
        """Return how many actions the current round has left, `most` at most; a new one is begun if there is none."""
        in_hand += self.counters.returned  # what was given back is handed out first
        if not self.ahead and not in_hand:
            self.check_remaining(1, 0)
            self._open_block(connection)
        current = next(reversed(self.rounds.values()))
        left = max(current.end, self.counters.asked) - self.counters.asked + in_hand
        return left if most is None else min(left, most)

    def check_remaining(self, size: int, in_hand: int) -> None:
        """Refuse to ask for more than the horizon holds."""
        remaining = self.remaining(in_hand)
        if remaining is not None and size > remaining:
            raise HorizonReached(
                f"size={size} actions were asked for, and {remaining} of horizon={self.horizon} are left"
            )

    def _delete_blocks_of_closed_rounds(self, connection: Connection) -> None:
        for block in self.ahead:
            if block.round.number < self.counters.closed and block.asked == block.size:
                mine = blocks.c.study == self.counters.id, blocks.c.first == block.first
                connection.execute(delete(blocks).where(*mine))
                self.counters.structure += 1

    def _open_block(self, connection: Connection) -> None:
        number, epoch = self._current_epoch(connection)
        epoch.compact = True
        opened, first, draw = epoch.draw_block(self.coins)
        live = next(reversed(self.rounds.values()), None)
        is_new = live is None or live.open is not opened
        if live is None or is_new:
            live = StudyRound(self.rounds_opened, number, first, opened, learned=epoch.learner.observed)
            live.terms = self.terms(epoch)
            self.rounds[live.number] = live
            self.rounds_opened += 1
            self.point = self.original(number, opened.point)
        self.ahead.append(DrawnBlock(live, first, draw))
        public = pack(self.public_record(live))
        where = {"study": self.counters.id, "number": live.number}
        if is_new:
            connection.execute(insert(rounds).values(**where, state=tables.OPEN, public=public, whole=0))
        else:
            connection.execute(round_row(rounds.update(), **where).values(public=public))
        record = pack(draw_record(first, draw, opened.exploration))
        connection.execute(insert(blocks).values(study=self.counters.id, first=first, round=live.number, draw=record))
        passed, done = epoch.counts
        connection.execute(epoch_row(epochs.update(), self.counters.id, number).values(passed=passed, opened=done))
        self.counters.coins = pack(coins_record(self.coins))
        self.counters.structure += 1

    def terms(self, epoch: Epoch) -> Record:
        """Return what a round that has just begun rests on beyond what its epoch has learned: for `verify`."""
        return {}

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
            **{f"terms.{name}": value for name, value in live.terms.items()},
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
        epoch = self.new_epoch(number, first, previous)
        refuse_secrets(epoch)
        follows = previous is not None and previous.plan.position == epoch.plan.position
        after = previous.learner.observed if previous is not None and follows else None  # where it begins: for `verify`
        made = {"plan": epoch.plan.to_dict(), "first": first, "after": after, **design_record(epoch)}
        self.epochs[number], self.chains[number] = epoch, Chain()
        values = {"made": pack(made), "learned": self.learned_record(number), "passed": 0, "opened": 0}
        connection.execute(insert(epochs).values(study=self.counters.id, number=number, **values))
        self.counters.structure += 1

    def new_epoch(self, number: int, first: int, previous: Epoch | None) -> Epoch:
        """Plan and begin the epoch after `previous`."""
        return next_epoch(self.problem_of(number), self.configuration, self.source, first=first, previous=previous)

    def known_epoch(self, number: int, plan: Plan, first: int) -> Epoch:
        """Return an epoch that was planned before; what it has learned is still to be restored."""
        return Epoch(self.problem_of(number), plan, self.source, first=first)

    # ------------------------------------------------------------------ closing

    def is_reserved(self, number: int, slot: int) -> bool:
        """Whether somebody has reserved an event of a round that there is; those of closed ones count."""
        live = self.rounds.get(number)
        return live is None or number < self.counters.closed or live.first + slot < self.counters.asked

    def is_closed(self, number: int, counters: Counters, cells: CellTable) -> bool:
        """Whether a round is closed, by counters that were read just now: rounds close in order."""
        return number < counters.closed

    def first_open(self) -> StudyRound | None:
        """Return the round that is to be closed next."""
        return next((live for live in self.rounds.values() if live.number >= self.counters.closed), None)

    def close(
        self,
        connection: Connection,
        cells: CellTable,
        live: StudyRound,
        gathered: Gathered,
        released: ReleasedRound | None,
    ) -> None:
        """Store what a round releases, once, with all that follows from it; and delete its losses."""
        record: Record = {"number": live.number, "missing": gathered.missing}
        if gathered.wanted is not None:
            record["wanted"] = gathered.wanted
        if released is not None:
            record |= {"numbers": np.asarray(released.numbers), "weights": released.weights}
        data = pack(record)
        self._settle(connection, cells, live, tables.UNRELEASED if released is None else tables.RELEASED, data)
        self.counters.told += gathered.told
        self.counters.forgotten += len(gathered.missing)
        if released is not None:  # the last round of an epoch is never released, and teaches nothing
            self.teach(live, released)
        self.chains[live.epoch] = self.chains[live.epoch].add(live.number, data)
        learned = self.learned_record(live.epoch)
        connection.execute(epoch_row(epochs.update(), self.counters.id, live.epoch).values(learned=learned))
        self.learned = self.counters.closed

    def teach(self, live: StudyRound, released: ReleasedRound) -> None:
        """Let an epoch learn from a round that was just released."""
        live.open.epoch.take_in(released._replace(exploration=live.open.exploration), live.open.point)

    def learned_record(self, epoch: int) -> bytes:
        """Return what is stored of an epoch's learning."""
        return pack({**self.epochs[epoch].state(), **self.chains[epoch].record()})

    def _settle(self, connection: Connection, cells: CellTable, live: StudyRound, state: str, released: bytes) -> None:
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
        cells.delete(live.number)
        # What is not reserved yet stays; blocks are reserved in order. A range, for there may be any number of them.
        left = next((block.first for block in self.ahead if block.round.number == live.number), live.end)
        mine = blocks.c.study == self.counters.id, blocks.c.round == live.number
        connection.execute(delete(blocks).where(*mine, blocks.c.first < left))
        self.counters.closed += 1
        self.counters.structure += 1
        self._let_go()

    def problem_of(self, epoch: int) -> Problem:
        """Return the public facts of an epoch."""
        return replace(self.problem, horizon=self.lengths[epoch])

    def original(self, epoch: int, point: Floats) -> Floats:
        """Return a point of an epoch as it is played."""
        return np.asarray(self.epochs[epoch].stage.original(point))


def _new_cell(taken: Taken) -> Cell:
    wants = taken.block.wants_loss[taken.start : taken.stop]
    return Cell(taken.block.round.number, taken.first, taken.size, int(wants.sum()), 0, 0, False, ~wants, b"")
