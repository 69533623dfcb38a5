"""Stored rows: how one is found, and how what it holds is written and read."""

from typing import Any

from sottovoce._records import DamagedRecord, checksum, pack, unpack
from sottovoce.errors import StudyDamaged
from sottovoce.exploration import Draw, Exploration, Probed, Record, Weighted
from sottovoce.studies.database.tables import epochs, rounds

__all__ = ["draw_from_record", "draw_record", "epoch_row", "read", "round_row", "weights_from_record"]


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


def draw_record(first: int, draw: Draw, exploration: Exploration) -> Record:
    """Return what a block has drawn: public actions, and what each loss is summed into.

    Actions that follow from the round's own choices and from what losses are summed into are not written down.
    """
    record: Record = {"first": first}
    if exploration.actions_of(draw.weights) is None:
        record["actions"] = draw.actions
    else:
        record["follows"] = _choices(exploration)
    if draw.wants_loss is not None:
        record["wants"] = draw.wants_loss
    if isinstance(draw.weights, Probed):
        return record | {"numbers": draw.weights.numbers, "index": draw.weights.index, "sign": draw.weights.sign}
    return record | {"rows": draw.weights.rows}


def weights_from_record(record: Record) -> Weighted | Probed:
    """Return what the losses of a block are summed into."""
    try:
        if "rows" in record:
            return Weighted(record["rows"])
        return Probed(record["numbers"], record["index"], record["sign"])
    except ValueError as problem:
        raise StudyDamaged(f"a block is stored that nobody has drawn ({problem}): restore a backup") from None


def draw_from_record(record: Record, exploration: Exploration) -> Draw:
    """Return what a block of a round had drawn."""
    weights = weights_from_record(record)
    actions = record.get("actions")
    if actions is None and record.get("follows") == _choices(exploration):
        try:
            actions = exploration.actions_of(weights)
        except IndexError:
            actions = None
    if actions is None:
        raise StudyDamaged("a block is stored whose actions are not those of its round: restore a backup")
    return Draw(actions, record.get("wants"), weights)


def _choices(exploration: Exploration) -> str:
    """Return a checksum of a round's own choices, which its actions follow from."""
    choices = {name: value for name, value in exploration.record().items() if name != "waiting"}
    return checksum(pack(choices)).hex()
