"""Following the storage: what other processes have drawn and released since the last look, and no more, is read.

A process that opens a study reads the rounds that are open, what their epochs have learned, and the actions that are
still to be reserved. Losses are not read; they are looked at where their round is released.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from sqlalchemy import Connection, func, select

from sottovoce._records import part
from sottovoce.errors import StudyDamaged
from sottovoce.exploration import Record
from sottovoce.learning.bandit.doubling import epoch_lengths
from sottovoce.learning.bandit.epoch import Epoch
from sottovoce.learning.bandit.rounds import OpenRound
from sottovoce.learning.bandit.saved_state import adopt, coins_from_record
from sottovoce.learning.planning.plan import Plan
from sottovoce.studies.database import tables
from sottovoce.studies.database.rows import draw_from_record, epoch_row, read, round_row
from sottovoce.studies.database.tables import blocks, epochs, rounds
from sottovoce.studies.session.chain import Chain
from sottovoce.studies.session.counters import Counters
from sottovoce.studies.session.open_round import DrawnBlock, StudyRound
from sottovoce.studies.session.state import StudyState

__all__ = ["catch_up", "follow", "older_epochs"]


def follow(state: StudyState, connection: Connection, counters: Counters) -> None:
    """Bring the state up to what the storage holds."""
    before, state.counters = state.counters, counters
    if state.stale or counters.generation != before.generation:
        state.start_over()
    if state.stale or counters.structure != before.structure:
        catch_up(state, connection)
    else:
        state.mark_asked()


def catch_up(state: StudyState, connection: Connection) -> None:
    """Read what has changed since the state was last brought up to date."""
    state.stale = True
    state.coins.bit_generator.state = coins_from_record(read("the public coins", state.counters.coins))
    rows = _changed_rounds(state, connection)
    public = {row.number: read(f"round {row.number}", row.public) for row in rows}
    newest = public[rows[-1].number] if rows else None
    state.rounds_opened = rows[-1].number + 1 if rows else 0
    _read_epochs(state, connection, {record["epoch"] for record in public.values()})
    for row in rows:
        _read_round(state, row, public[row.number])
    if newest is not None:
        _check_counts(state, newest)
        state.point = state.original(newest["epoch"], newest["point"])
        _read_blocks(state, connection, newest["first"] + newest["opened"])
        unfinished = state.rounds[rows[-1].number].open
        if unfinished.opened < unfinished.size:
            state.epochs[newest["epoch"]].reopen(unfinished)
    state.rounds = dict(sorted(state.rounds.items()))
    state.mark_asked()
    state.stale = False


def _changed_rounds(state: StudyState, connection: Connection) -> list[Any]:
    """Return the rounds that are new or may have changed, in order; the newest one always.

    Rounds close in order, and are reserved to their end in order. What is closed is known by the counter.
    """
    filling = [number for number, live in state.rounds.items() if live.full_at is None]
    least = max(state.counters.closed, min([*filling, state.rounds_opened]))
    mine = select(rounds).where(rounds.c.study == state.counters.id)
    found: list[Any] = [*connection.execute(mine.where(rounds.c.number >= least).order_by(rounds.c.number)).all()]
    if not found:
        found = [*connection.execute(mine.order_by(rounds.c.number.desc()).limit(1)).all()]
    return found


def _read_epochs(state: StudyState, connection: Connection, needed: set[int]) -> None:
    """Bring the epochs at hand up to date: counts always, and what was learned if any round was closed since."""
    study, lengths = state.counters.id, epoch_lengths(state.horizon)
    counted = select(func.count()).select_from(epochs).where(epochs.c.study == study)
    count = int(connection.execute(counted).scalar_one())
    state.lengths = [next(lengths) for _ in range(count)]
    needed = needed | ({count - 1} if count else set())
    needed |= {live.epoch for live in state.rounds.values() if live.number >= state.counters.closed}
    for number in [one for one in state.epochs if one not in needed]:
        del state.epochs[number], state.chains[number]
    for number in sorted(needed):
        known = state.epochs.get(number)
        if known is None:
            state.epochs[number], state.chains[number] = _epoch_from(state, number, _row(connection, study, number))
        elif state.learned != state.counters.closed:
            state.chains[number] = _learn(known, number, _row(connection, study, number))
        else:
            counts = select(epochs.c.passed, epochs.c.opened)
            known.go_to(*connection.execute(epoch_row(counts, study, number)).one())
    state.learned = state.counters.closed


def older_epochs(state: StudyState, connection: Connection) -> Iterator[Epoch]:
    """Yield epochs that are closed, and so not at hand, the newest first, with what they have learned."""
    for number in reversed(range(len(state.lengths))):
        if number not in state.epochs:
            yield _epoch_from(state, number, _row(connection, state.counters.id, number))[0]


def _row(connection: Connection, study: int, number: int) -> Any:
    return connection.execute(epoch_row(select(epochs), study, number)).one()


def _epoch_from(state: StudyState, number: int, row: Any) -> tuple[Epoch, Chain]:
    made = read(f"epoch {number}", row.made)
    adopt(state.configuration.domain, made)
    epoch = state.known_epoch(number, Plan.from_dict(made["plan"]), made["first"])
    return epoch, _learn(epoch, number, row)


def _learn(epoch: Epoch, number: int, row: Any) -> Chain:
    """Let an epoch know what is stored of its learning; return the checksum of the releases behind it."""
    learned = read(f"what epoch {number} has learned", row.learned)
    epoch.restore({**learned, "passed": row.passed, "opened": row.opened})
    return Chain.of(learned)


def _check_counts(state: StudyState, newest: Record) -> None:
    """Refuse counters of the newest round's epoch that do not agree with that round."""
    epoch, begins = state.epochs[newest["epoch"]], sum(state.lengths[: newest["epoch"]])
    whole_round = newest["size"] if newest["opened"] == newest["size"] else 0
    if epoch.counts[0] != newest["first"] + whole_round - begins:
        raise StudyDamaged(f"the counters of epoch {newest['epoch']} do not agree with its rounds")


def _read_round(state: StudyState, row: Any, public: Record) -> None:
    """Put a round among those at hand, or bring it up to date: whoever holds actions of it goes on with the same."""
    if (row.state == tables.OPEN) != (row.released is None) or (row.state != tables.OPEN) != (
        row.number < state.counters.closed
    ):
        raise StudyDamaged(f"round {row.number} is stored as {row.state}, and what is stored with it says otherwise")
    epoch = state.epochs[public["epoch"]]
    drawn = {"waiting": np.empty((0, 2)), **part(public, "exploration")}
    exploration = epoch.explorer.resume(public["point"], drawn)
    opened = OpenRound(epoch, public["point"], exploration, public["size"], public["last"])
    opened.opened = public["opened"]
    live = state.rounds.setdefault(row.number, StudyRound(row.number, public["epoch"], public["first"], opened))
    live.open, live.learned, live.terms = opened, public.get("learned"), part(public, "terms")
    live.full_at, live.full_after, live.whole = row.full_at, row.full_after, bool(row.whole)


def _read_blocks(state: StudyState, connection: Connection, drawn: int) -> None:
    """Read the actions that are still to be reserved, unless they are at hand."""
    asked, known = state.counters.asked, {block.first: block for block in state.ahead}
    state.ahead = []
    if asked >= drawn:
        return
    mine = select(blocks).where(blocks.c.study == state.counters.id)
    begin = select(func.max(blocks.c.first)).where(blocks.c.study == state.counters.id, blocks.c.first <= asked)
    for row in connection.execute(mine.where(blocks.c.first >= begin.scalar_subquery()).order_by(blocks.c.first)):
        live = state.rounds.get(row.round)
        if live is None:
            live = _closed_round(state, connection, row.round)
        if row.first in known:
            known[row.first].round = live
            state.ahead.append(known[row.first])
            continue
        record = read(f"actions of round {row.round}", row.draw)
        state.ahead.append(DrawnBlock(live, row.first, draw_from_record(record, live.open.exploration)))


def _closed_round(state: StudyState, connection: Connection, number: int) -> StudyRound:
    """Read a round that had all the losses it wanted before it was reserved to its end."""
    row = connection.execute(round_row(select(rounds), state.counters.id, number)).one_or_none()
    if row is None:
        raise StudyDamaged(f"actions of round {number} are stored, but the round is not")
    public = read(f"round {number}", row.public)
    if public["epoch"] not in state.epochs:
        _read_epochs(state, connection, {public["epoch"]})
    _read_round(state, row, public)
    return state.rounds[number]
