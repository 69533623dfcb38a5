"""Stored rows: how one is found, and how what it holds is written and read."""

from typing import Any

import numpy as np

from sottovoce._arrays import Integers
from sottovoce._records import DamagedRecord, checksum, unpack
from sottovoce.errors import StudyDamaged
from sottovoce.exploration import Draw, Probed, Record, Weighted
from sottovoce.studies.database.tables import epochs, rounds

__all__ = ["draw_from_record", "draw_record", "epoch_row", "pack_losses", "read", "round_row", "unpack_losses"]

_FORGOTTEN, _TOLD = b"f", b"t"
_SEAL = 16


def read(what: str, data: bytes) -> Record:
    """Return a stored record, or say which one is damaged."""
    try:
        return unpack(bytes(data))
    except DamagedRecord as problem:
        raise StudyDamaged(f"{what}: {problem}; restore a backup, and open it with restored=True") from None


def round_row(statement: Any, study: int, number: int) -> Any:
    """Restrict a statement to the row of a round."""
    return statement.where(rounds.c.study == study, rounds.c.number == number)


def epoch_row(statement: Any, study: int, number: int) -> Any:
    """Restrict a statement to the row of an epoch."""
    return statement.where(epochs.c.study == study, epochs.c.number == number)


def pack_losses(round_number: int, slots: Integers, integers: Integers | None) -> bytes:
    """Return the losses of one call in the bytes of a row: little-endian slots and integers, with a checksum.

    None stands for losses that will never come.
    """
    kind = _FORGOTTEN if integers is None else _TOLD
    body = kind + len(slots).to_bytes(4, "little") + slots.astype("<u4").tobytes()
    if integers is not None:
        body += integers.astype("<i8").tobytes()
    return body + checksum(str(round_number).encode(), body)


def unpack_losses(round_number: int, data: bytes) -> tuple[Integers, Integers | None]:
    """Return the slots of a row of losses, and their integers; None for losses that will never come."""
    body, seal = data[:-_SEAL], data[-_SEAL:]
    if checksum(str(round_number).encode(), body) != seal:
        raise StudyDamaged(f"losses of round {round_number} fail their checksum: restore a backup, restored=True")
    count = int.from_bytes(body[1:5], "little")
    slots = np.frombuffer(body, dtype="<u4", count=count, offset=5).astype(np.int64)
    if body[:1] == _FORGOTTEN:
        return slots, None
    return slots, np.frombuffer(body, dtype="<i8", count=count, offset=5 + 4 * count).astype(np.int64)


def draw_record(first: int, draw: Draw) -> Record:
    """Return what a block has drawn: public actions, and what each loss is summed into."""
    record: Record = {"first": first, "actions": draw.actions}
    if draw.wants_loss is not None:
        record["wants"] = draw.wants_loss
    if isinstance(draw.weights, Probed):
        return record | {"numbers": draw.weights.numbers, "index": draw.weights.index, "sign": draw.weights.sign}
    return record | {"rows": draw.weights.rows}


def draw_from_record(record: Record) -> Draw:
    """Return what a block had drawn."""
    try:
        if "rows" in record:
            weights: Weighted | Probed = Weighted(record["rows"])
        else:
            weights = Probed(record["numbers"], record["index"], record["sign"])
    except ValueError as problem:
        raise StudyDamaged(f"a block is stored that nobody has drawn ({problem}): restore a backup") from None
    return Draw(record["actions"], record.get("wants"), weights)
