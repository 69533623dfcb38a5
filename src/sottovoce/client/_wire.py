"""What travels to a service: every loss in as many characters as any other.

Who sees only the length of an encrypted request would otherwise learn from it: `0.5` is shorter than `0.12345`. Losses
of items travel as lists, with as much room for an item that was not told as for one that was.

Tests: tests/client/test_wire.py.
"""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from sottovoce._losses import as_floats
from sottovoce.errors import UNRECORDED, InvalidLoss, UnknownAction
from sottovoce.learning.actions import refuse_actions
from sottovoce.learning.reports import ReportGrid

LOSS_WIDTH = 25
_REPORT_WIDTH = 20  # holds every integer of 64 bits
_PLURALS = {"loss": "losses", "report": "reports"}


def tell_body(kind: str, ids: Sequence[str], values: Sequence[Any], late: str) -> bytes:
    """Return the request of a tell: `kind` is "loss", or "report" under local privacy; a value, or one for each item.

    Examples
    --------
    >>> tell_body("report", ["1.0"], [-1], "error")
    b'{"id": "1.0", "report":                   -1, "late": "error"}'
    """
    numbers = list(map(loss_text if kind == "loss" else _report_text, values))
    told = f'"ids": {json.dumps(list(ids))}, "{_PLURALS[kind]}": [{", ".join(numbers)}]'
    if len(ids) == 1:
        told = f'"id": {json.dumps(ids[0])}, "{kind}": {numbers[0]}'
    return f'{{{told}, "late": {json.dumps(late)}}}'.encode()


def loss_text(loss: Any) -> str:
    """Return a finite loss as a JSON number that takes as much room as any other, and is read back to the last bit.

    Examples
    --------
    >>> loss_text(0.25), len(loss_text(-5e-324)), len(loss_text(None))
    (' 2.50000000000000000e-001', 25, 25)
    >>> len(loss_text((0.25, None))) == len(loss_text((-1.0, 1e-9)))
    True
    """
    if isinstance(loss, tuple):
        return f"[{', '.join(map(loss_text, loss))}]"
    if loss is None:
        return f"{'null':>{LOSS_WIDTH}}"
    mantissa, _, exponent = f"{loss: .17e}".partition("e")
    return f"{mantissa}e{exponent[0]}{exponent[1:]:0>3}"


def _report_text(report: float) -> str:
    return f"{int(report):>{_REPORT_WIDTH}d}"


def checked_ids(ids: Any) -> tuple[str, ...]:
    """Return ids as texts; whatever else was passed by mistake (a loss?) is not shown."""
    refuse_actions(ids)
    given = [str(ids)] if isinstance(ids, str) else np.asarray(ids).ravel().tolist()
    for one in given:
        if type(one) is not str:
            raise UnknownAction(f"id of type {type(one).__name__} was not handed out by this study", UNRECORDED)
    return tuple(given)


def checked_losses(losses: Any, ids: Sequence[str]) -> tuple[float, ...]:
    """Return a finite loss for each id, or say what is wrong without showing any."""
    values = as_floats(losses)
    _refuse_another_shape(values, ids)
    if not np.isfinite(values).all():
        raise InvalidLoss("a loss is not a finite number; nothing of this block was recorded. Fix it, and tell again")
    return tuple(values.ravel().tolist())


def checked_reports(reports: Any, ids: Sequence[str], channel: Any) -> tuple[int, ...]:
    """Return a report for each id; refuse what the channel cannot have sent, a raw loss above all."""
    values = as_floats(reports)
    _refuse_another_shape(values, ids)
    return tuple(ReportGrid(channel).quantise(values).ravel().tolist())


def _refuse_another_shape(values: Any, ids: Sequence[str]) -> None:
    if values.size != len(ids):
        raise InvalidLoss(f"losses must have the shape of ids, ({len(ids)},)")
