"""From what a caller calls a loss to a float: the one place where a conversion may fail on a private value.

The reason why it fails is dropped, whatever it is: the errors of numpy and of Python quote the value. It is dropped
before ours is raised, outside `except`: `raise ... from None` hides the context of an error, and yet carries it along.

Tests: tests/test_discretion.py.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.errors import InvalidLoss, WrongReport


def as_float(loss: Any) -> float:
    """Return a loss as a float, or refuse it without showing it."""
    try:
        return float(loss)
    except Exception:  # an owner's own type may raise anything
        pass
    if loss is None:
        raise InvalidLoss("there is no loss: pass it after the id, as in tell(action.id, 0.5); nothing was recorded")
    raise InvalidLoss("the loss is not a number; it was not recorded")


def as_array(losses: Any) -> NDArray[Any]:
    """Return losses as an array, of floats if that is possible: those that nobody wants may be anything."""
    for kind in (np.float64, object):
        try:
            return np.asarray(losses, dtype=kind)
        except Exception:
            pass
    raise InvalidLoss("losses must be an array of numbers; nothing of this block was recorded")


def as_floats(losses: Any) -> NDArray[np.float64]:
    """Return losses as an array of floats, with the same discretion."""
    try:
        return np.asarray(losses, dtype=np.float64)
    except Exception:
        pass
    raise InvalidLoss("losses must be an array of numbers; nothing of this block was recorded")


def as_rows(losses: Any, count: int) -> Any:
    """Return the losses of items of several decisions: a matrix of floats, or a list of what was told of each.

    Of what does not fit, not even its length is said: that of a list of names is how many were clicked.
    """
    try:
        rows = None if isinstance(losses, str | bytes | Mapping) or not hasattr(losses, "__len__") else list(losses)
    except Exception:
        rows = None
    if rows is None or len(rows) != count:
        raise InvalidLoss(
            f"losses must be told for each of {count} ids: a dict by item, or numbers in the order of `chosen`; "
            "nothing was recorded"
        )
    if not any(isinstance(one, Mapping) for one in rows):
        try:
            found = np.asarray(losses, dtype=np.float64)
        except Exception:
            found = None
        if found is not None and found.ndim == 2 and not np.isnan(found).any():  # None would be NaN there, too
            return found
    return rows


def raw_loss_refused(owner: str) -> WrongReport:
    """Return the error for a raw loss under local privacy; `owner` is what has the channel, as users call it."""
    return WrongReport(
        "under LocalDP a raw loss is refused: privatise it where it is born, and tell(..., "
        f"report=sv.local.privatise(loss, {owner}.channel))"
    )


def losses_or_reports(losses: Any, report: Any, *, local: bool, owner: str) -> Any:
    """Return what a call has brought: the losses, or under local privacy the reports; refuse what is not for it."""
    if local:
        if losses is not None or report is None:
            raise raw_loss_refused(owner)
        return report
    if report is not None:
        raise WrongReport("report= is for LocalDP; here the loss itself is wanted")
    return losses
