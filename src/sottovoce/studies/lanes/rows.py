"""What is stored of the segments of a study: where their heads are, and how they come to be."""

import hashlib
import secrets
from collections.abc import Iterable
from typing import Any, NamedTuple

from sqlalchemy import Connection, bindparam, insert, select

from sottovoce._records import checksum, pack
from sottovoce.errors import StudyDamaged
from sottovoce.exploration.posterior import Segment
from sottovoce.learning.bandit.epoch import public_coins
from sottovoce.learning.bandit.saved_state import coins_record
from sottovoce.learning.segmented.lane import plain_segment, segment_of
from sottovoce.studies.database.kinds import SEGMENT, name_of_segment
from sottovoce.studies.database.rows import read
from sottovoce.studies.database.tables import heads, lanes
from sottovoce.studies.session.counters import Counters, insert_head

__all__ = ["LaneRow", "insert_lane", "rows_of", "segments_in"]

_COLUMNS = ("generation", "version", "asked", "returned", "closed", "erased")
_MANY = 500  # numbers in one question: databases take so many arguments at most


class LaneRow(NamedTuple):
    """The head of a segment, as it was read last. Its key is drawn for it alone: two with one key are the same."""

    number: int
    study: int
    key: bytes
    generation: int
    version: int
    asked: int
    returned: int
    closed: int
    erased: int

    def after(self, counters: Counters) -> "LaneRow":
        """Return what it is once these are its counters."""
        return self._replace(**{name: getattr(counters, name) for name in _COLUMNS})

    def is_older_than(self, seen: "LaneRow") -> bool:
        """Whether a storage with this one has gone back since the other was seen."""
        return self.key != seen.key or (self.generation, self.version) < (seen.generation, seen.version)


_found = (
    select(lanes.c.number, heads.c.id, heads.c.key, *(heads.c[name] for name in _COLUMNS))
    .select_from(lanes.join(heads, heads.c.id == lanes.c.study))
    .where(lanes.c.parent == bindparam("parent"))
    .order_by(lanes.c.number)
)


def rows_of(connection: Connection, parent: int) -> list[LaneRow]:
    """Return the heads of a study's segments, in the order in which these were first asked for."""
    rows = [LaneRow(one[0], one[1], bytes(one[2]), *one[3:]) for one in connection.execute(_found, {"parent": parent})]
    if [row.number for row in rows] != list(range(len(rows))):
        raise StudyDamaged("a segment of the study is gone from the storage: restore a backup, with restored=True")
    return rows


def segments_in(connection: Connection, studies: Iterable[int]) -> dict[int, Segment]:
    """Return which segment a head is of."""
    wanted, found = list(studies), dict[int, Segment]()
    for start in range(0, len(wanted), _MANY):
        some = heads.c.id.in_(wanted[start : start + _MANY])
        for row in connection.execute(select(heads.c.id, heads.c.configuration).where(some)):
            found[row.id] = segment_of(read("the making of a segment", row.configuration)["segment"])
    return found


def insert_lane(
    connection: Connection, parent: Counters, identity: str, number: int, segment: Segment, seed: int | None
) -> None:
    """Put a segment into the storage, with the lock of its study held. Its life is that of the study."""
    key = secrets.token_bytes(16)
    record: dict[str, Any] = {
        "format": SEGMENT,
        "identity": identity,
        "segment": plain_segment(segment),
        "number": number,
        "key_check": checksum(key).hex(),
    }
    coins = pack(coins_record(public_coins(None if seed is None else _seed_of(seed, number))))
    counters = Counters(
        0, generation=parent.generation, coins=coins, patience=parent.patience, deadline=parent.deadline
    )
    study = insert_head(connection, name_of_segment(parent.id, number), pack(record), key, counters)
    connection.execute(insert(lanes).values(parent=parent.id, number=number, study=study))


def _seed_of(seed: int, number: int) -> int:
    """Return a seed for the public coins of one segment, which no other has."""
    return int.from_bytes(hashlib.blake2b(f"{seed} segment {number}".encode(), digest_size=16).digest(), "big")
