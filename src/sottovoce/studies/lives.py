"""Lives: a storage that was put back begins a new one. What is not released is dropped, and older ids are refused."""

import secrets

import numpy as np
from sqlalchemy import Connection, delete

from sottovoce._records import pack
from sottovoce.exploration import Record
from sottovoce.studies import tables
from sottovoce.studies.rebuilding import rebuild
from sottovoce.studies.replica import Replica
from sottovoce.studies.stored import epoch_row, round_row
from sottovoce.studies.tables import blocks, epochs, rounds, tells

__all__ = ["CONSEQUENCES", "begin_new_life"]

CONSEQUENCES = (
    "Losses that were not released are dropped, and ids handed out before are refused from now on; ask for new actions"
)

_STEP = 2**24  # generations are raised by up to this much, so that two lives of one backup differ


def begin_new_life(replica: Replica, connection: Connection, newest: int = 0) -> None:
    """Drop what is not released, and raise the generation above all that were met, `newest` among them."""
    if replica.claim is not None:
        replica.claim.present_within(connection, replica.head.id)
    head = replica.head
    head.generation = max(head.generation, newest) + 1 + secrets.randbelow(_STEP)
    head.closer, head.lease, head.fence = None, 0.0, head.fence + 1
    _drop_open_rounds(replica, connection)


def _drop_open_rounds(replica: Replica, connection: Connection) -> None:
    """Drop all that is not released: the losses of open rounds, and the actions that were not asked."""
    for live in replica.rounds.values():
        asked = min(live.open.size, replica.head.asked - live.first)
        if asked <= 0:
            connection.execute(round_row(delete(rounds), replica.head.id, live.number))
            continue
        public = {**replica.public_record(live), "size": asked, "opened": asked}
        public.pop("exploration.waiting", None)
        changes: Record = {"public": pack(public)}
        if not live.closed:
            dropped = pack({"number": live.number, "dropped": True, **live.progress()})
            replica.chains[live.epoch] = replica.chains[live.epoch].add(live.number, dropped)
            changes |= {"state": tables.DROPPED, "released": dropped}
            replica.head.closed += 1
        connection.execute(round_row(rounds.update(), replica.head.id, live.number).values(**changes))
    connection.execute(delete(tells).where(tells.c.study == replica.head.id))
    connection.execute(delete(blocks).where(blocks.c.study == replica.head.id))
    _abandon(replica, connection)
    rebuild(replica, connection)  # other calls of this transaction must not meet what was dropped


def _abandon(replica: Replica, connection: Connection) -> None:
    starts = np.cumsum([0, *replica.lengths])
    for number, epoch in replica.epochs.items():
        epoch.abandon(int(min(max(0, replica.head.asked - starts[number]), replica.lengths[number])))
        passed, opened = epoch.counts
        connection.execute(
            epoch_row(epochs.update(), replica.head.id, number).values(
                learned=replica.learned_record(number), passed=passed, opened=opened
            )
        )
    replica.head.structure += 1
