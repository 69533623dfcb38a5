"""What an A/B test has released, in a file beside its data: the same losses are not released a second time.

Every run of the command with fresh noise would cost the guarantee again. So what was released is written down before
anything of it is shown, and a later run reads it.

While a run is releasing it holds the file `.partial`, which is made only if there is none: of two runs at once one is
refused. A run that was killed leaves it behind. Nothing it drew was seen by anybody then, so it may be removed.
"""

import json
import math
import os
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from sottovoce import __version__
from sottovoce._disk import write_atomically
from sottovoce.cli.rows import LineError, is_empty, number_in, read_rows
from sottovoce.cli.shared import opened
from sottovoce.evaluations import PrivateEvaluations

Losses = dict[str, "array[float]"]
Numbers = dict[str, dict[str, int]]
"""By arm: its events, the total of their losses with noise, and of their squares if these are released."""


def read_losses(file: Path, arms: Sequence[str], channel: Any = None) -> Losses:
    """Return the losses of each arm. An error names the line, never its values.

    Parameters
    ----------
    file
        CSV with a header, or JSON lines if its first line begins with a brace.
    arms
        Names of the arms; a row of any other arm is refused.
    channel
        Of local privacy: then there are reports, which must be such as it sends.
    """
    column = "loss" if channel is None else "report"
    found = {name: array("d") for name in arms}
    what = "a finite number" if channel is None else "a report that the channel sends"
    with opened(str(file)) as source:
        for number, fields in read_rows(source, ("arm", column)):
            arm, told = str(fields.get("arm")).strip(), fields.get(column)
            if arm not in found:  # it is not shown: columns may have been confused
                raise LineError(number, f"its arm is none of {', '.join(arms)}")
            if is_empty(told):
                raise LineError(number, f"it has no {column}")
            value = number_in(told)
            if value is None or not _can_be(value, channel):
                raise LineError(number, f"its {column} is not {what}")
            found[arm].append(value)
    empty = [name for name, values in found.items() if not values]
    if empty:
        raise ValueError(f"arm {', '.join(empty)} has no rows")
    return found


def _can_be(value: float, channel: Any) -> bool:
    return math.isfinite(value) and (channel is None or (value == int(value) and channel.valid(int(value))))


def release_once(
    path: Path, settings: dict[str, Any], losses: Losses, evaluations: Callable[[], PrivateEvaluations]
) -> Numbers:
    """Return what is released of losses: what a file keeps of an earlier run, or else now, and then it is kept.

    Parameters
    ----------
    path
        Of the file.
    settings
        What the test is released with: public, and the same in every run.
    losses
        Of each arm.
    evaluations
        What makes the evaluations that release them, and charges their ledger: called if nothing is kept.
    """
    if not path.exists():
        with _claimed(path.with_name(f"{path.name}.partial")):
            if not path.exists():  # another run may have come to its end meanwhile
                made = evaluations()
                released = {name: _released(made, np.asarray(values)) for name, values in losses.items()}
                kept = {"sottovoce": __version__, "settings": settings, "released": released}
                write_atomically(path, f"{json.dumps(kept, indent=2)}\n".encode())  # by way of the file that is held
    return _read(path, settings)


@contextmanager
def _claimed(partial: Path) -> Iterator[None]:
    """Hold the file, so that no other run releases the same rows."""
    try:
        os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        raise ValueError(
            f"{partial} is there: another run is releasing these rows, or was killed while it did. If none is running, "
            "remove it: nothing was shown of what it had drawn"
        ) from None
    try:
        yield
    finally:
        partial.unlink(missing_ok=True)


def _released(evaluations: PrivateEvaluations, values: Any) -> dict[str, int]:
    """Return what is released of losses."""
    one = evaluations.open(len(values))
    one.tell(values) if evaluations.channel is None else one.tell(report=values.astype(np.int64))
    squares = {} if one.result.squares is None else {"squares": one.result.squares}
    return {"events": one.result.events, "total": one.result.total, **squares}


def _read(path: Path, settings: dict[str, Any]) -> Numbers:
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
        before = plain["settings"]
        released = {name: dict(plain["released"][name]) for name in before["arms"]}
        if not all(type(value) is int for one in released.values() for value in (one["events"], one["total"])):
            raise TypeError
    except (ValueError, TypeError, KeyError, AttributeError):
        raise ValueError(f"{path} does not hold what an A/B test has released, or is damaged") from None
    wanted = json.loads(json.dumps(settings))
    other = sorted(name for name in {*before, *wanted} if before.get(name) != wanted.get(name))
    if other:
        raise ValueError(
            f"{path} holds what was released before with another {', '.join(other)}. To release the same losses again "
            "costs the guarantee again: if that is meant, move that file away"
        )
    return released
