"""Stored rows: how one is found, and how what it holds is read."""

from typing import Any

from sottovoce._records import DamagedRecord, unpack
from sottovoce.errors import StudyDamaged
from sottovoce.exploration import Record
from sottovoce.studies.tables import epochs, rounds

__all__ = ["epoch_row", "read", "round_row"]


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
