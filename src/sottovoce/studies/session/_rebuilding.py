"""Rebuilding a state from the storage: open rounds, their blocks and losses, and the learner of each epoch."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import Connection, select

from sottovoce._records import part
from sottovoce.errors import StudyDamaged
from sottovoce.exploration import Record
from sottovoce.learning.bandit.doubling import epoch_lengths
from sottovoce.learning.bandit.epoch import Epoch
from sottovoce.learning.bandit.rounds import Block, OpenRound
from sottovoce.learning.bandit.saved_state import adopt, coins_from_record
from sottovoce.learning.planning.plan import Plan
from sottovoce.studies.database import tables
from sottovoce.studies.database.rows import draw_from_record, read, unpack_losses
from sottovoce.studies.database.tables import blocks, epochs, rounds, tells
from sottovoce.studies.session.chain import Chain
from sottovoce.studies.session.open_round import StudyRound

if TYPE_CHECKING:
    from sottovoce.studies.session.state import StudyState

__all__ = ["older_epochs", "read_tells", "rebuild"]


def rebuild(state: "StudyState", connection: Connection) -> None:
    """Read everything that is open, and what was learned, from the storage."""
    state.stale = True
    state.coins.bit_generator.state = coins_from_record(read("the public coins", state.counters.coins))
    state.rounds, state.ahead, state.epochs, state.chains, state.seen = {}, [], {}, {}, 0
    rows = connection.execute(
        select(rounds).where(rounds.c.study == state.counters.id).order_by(rounds.c.number.desc()).limit(1)
    ).all()
    state.rounds_opened = rows[0].number + 1 if rows else 0
    newest = read(f"round {rows[0].number}", rows[0].public) if rows else None
    drawn = connection.execute(select(blocks).where(blocks.c.study == state.counters.id).order_by(blocks.c.first)).all()
    wanted = select(blocks.c.round).where(blocks.c.study == state.counters.id)
    live = connection.execute(
        select(rounds)
        .where(rounds.c.study == state.counters.id)
        .where((rounds.c.state == tables.OPEN) | rounds.c.number.in_(wanted))
        .order_by(rounds.c.number)
    ).all()
    public = {row.number: read(f"round {row.number}", row.public) for row in live}
    needed = {record["epoch"] for record in (*public.values(), *([newest] if newest else []))}
    _rebuild_epochs(state, connection, needed)
    if newest is not None:
        _check_counts(state, newest)
    state.point = state.original(newest["epoch"], newest["point"]) if newest else None
    for row in live:
        _rebuild_round(state, row, public[row.number])
    for row in drawn:
        _rebuild_block(state, row)
    read_tells(state, connection)
    state.mark_asked()
    state.stale = False


def _rebuild_epochs(state: "StudyState", connection: Connection, needed: set[int]) -> None:
    found = select(epochs.c.number).where(epochs.c.study == state.counters.id).order_by(epochs.c.number)
    numbers = connection.execute(found).scalars().all()
    lengths = epoch_lengths(state.horizon)
    state.lengths = [next(lengths) for _ in numbers]
    for number in numbers:
        if number in needed or number == numbers[-1]:
            row = connection.execute(
                select(epochs).where(epochs.c.study == state.counters.id, epochs.c.number == number)
            ).one()
            state.epochs[number], state.chains[number] = _rebuilt_epoch(state, number, row)


def older_epochs(state: "StudyState", connection: Connection) -> Iterator[Epoch]:
    """Yield epochs that are closed, and so not at hand, the newest first, with what they have learned."""
    for number in reversed(range(len(state.lengths))):
        if number not in state.epochs:
            row = connection.execute(
                select(epochs).where(epochs.c.study == state.counters.id, epochs.c.number == number)
            ).one()
            yield _rebuilt_epoch(state, number, row)[0]


def _rebuilt_epoch(state: "StudyState", number: int, row: Any) -> tuple[Epoch, Chain]:
    made, learned = read(f"epoch {number}", row.made), read(f"what epoch {number} has learned", row.learned)
    adopt(state.configuration.domain, made)
    epoch = Epoch(state.problem_of(number), Plan.from_dict(made["plan"]), state.source, first=made["first"])
    epoch.restore({**learned, "passed": row.passed, "opened": row.opened})
    return epoch, Chain.of(learned)


def _check_counts(state: "StudyState", newest: Record) -> None:
    """Refuse counters of the newest round's epoch that do not agree with that round."""
    epoch, begins = state.epochs[newest["epoch"]], sum(state.lengths[: newest["epoch"]])
    whole_round = newest["size"] if newest["opened"] == newest["size"] else 0
    if epoch.counts[0] != newest["first"] + whole_round - begins:
        raise StudyDamaged(f"the counters of epoch {newest['epoch']} do not agree with its rounds")


def _rebuild_round(state: "StudyState", row: Any, public: Record) -> None:
    epoch = state.epochs[public["epoch"]]
    drawn = {"waiting": np.empty((0, 2)), **part(public, "exploration")}
    exploration = epoch.explorer.resume(public["point"], drawn)
    unfinished = OpenRound(epoch, public["point"], exploration, public["size"], public["last"])
    unfinished.opened = public["opened"]
    if unfinished.opened < unfinished.size:
        epoch.reopen(unfinished)
    live = StudyRound(row.number, public["epoch"], public["first"], unfinished, row.full_at, row.full_after)
    live.learned = public.get("learned")
    live.closed = row.state != tables.OPEN
    if live.closed == (row.released is None):
        raise StudyDamaged(f"round {row.number} is stored as {row.state}, and what is stored with it says otherwise")
    state.rounds[row.number] = live


def _rebuild_block(state: "StudyState", row: Any) -> None:
    live = state.rounds.get(row.round)
    if live is None:
        raise StudyDamaged(f"actions of round {row.round} are stored, but the round is not")
    record = read(f"actions of round {row.round}", row.draw)
    block = Block(live.open, record["first"], draw_from_record(record), live.open.epoch.grid)
    live.blocks.append(block)
    state.ahead.append((live, block))


def read_tells(state: "StudyState", connection: Connection) -> None:
    """Take in the losses that were told since the last look, by whichever process."""
    rows = connection.execute(
        select(tells.c.number, tells.c.round, tells.c.entry)
        .where(tells.c.study == state.counters.id, tells.c.number > state.seen)
        .order_by(tells.c.number)
    )
    for number, round_number, entry in rows:
        live = state.rounds.get(round_number)
        if live is None or live.closed:
            raise StudyDamaged(f"losses of round {round_number} are stored, but the round is closed")
        live.fill(*unpack_losses(round_number, entry))
        state.seen = number
