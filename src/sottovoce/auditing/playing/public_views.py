"""All that a caller can see of what is audited: every public name, and what is said on the way.

With the noise moved so that both worlds release the same, all of it must be the same. So a view needs no attack of its
own: it is written down as plain data, and compared.
"""

import inspect
import io
import logging
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from datetime import datetime
from enum import Enum
from typing import Any

import numpy as np

from sottovoce.domains import Domain
from sottovoce.learning import Plan

_DEEPEST = 4  # of values within values
_TIME = re.compile(r"\d{4}-\d\d-\d\d((T| | at )\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?")

_OF_OTHERS = ("<time> GET ", "<time> POST /studies status")  # of who looks, and from before: lines come when they can
_DURATION = re.compile(r"\bms=[\d.]+")
_INCARNATION = re.compile(r"\b(incarnation\W{1,3})(?!1\b)\d+")  # drawn, with every restoration


ACTS = (
    *("abandon", "ask", "ask_round", "assign", "change", "close", "erase_people", "evaluation", "forecast", "forget"),
    *("keyed_hash", "open", "report", "take", "tell", "tell_each"),
)
"""Public names that are not read: the calls of which runs consist, those that make or end them, and a forecast, which
follows from the posterior and takes seconds. All others are compared."""


def look(subject: Any, *, segments: Iterable[Any] = ()) -> dict[str, Any]:
    """Return all that can be read of an object, as plain data; what is refused, as what the refusal says.

    Parameters
    ----------
    subject
        An optimizer, a study, evaluations, or one of these.
    segments
        For methods that want to know whose.
    """
    seen: dict[str, Any] = {"repr": repr(subject), "str": str(subject)}
    for name in dir(subject):
        if name.startswith("_") or name in ACTS:
            continue
        seen[name] = _read(subject, name)
        whose = segments if _by_segment(subject, name) else ()
        seen |= {f"{name} of {one}": _read(subject, name, segment=one) for one in whose}
    return seen


def without(value: Any, own: Mapping[Any, str]) -> Any:
    """Return plain data with other words for what is another in every run: the name of a file, an id.

    Parameters
    ----------
    value
        What `plain` has made.
    own
        What is replaced, texts and whole numbers, with the words for it.

    Examples
    --------
    >>> without({"file": "/tmp/x17/study.db", "ids": [3, 2**40]}, {"/tmp/x17": "<folder>", 2**40: "<id 4>"})
    {'file': '<folder>/study.db', 'ids': [3, '<id 4>']}
    """
    if isinstance(value, str):
        for text, words in own.items():
            value = value.replace(str(text), words)
        return value
    if isinstance(value, dict):
        return {name: without(one, own) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(without(one, own) for one in value)
    return own.get(value, value) if type(value) is int else value


def _by_segment(subject: Any, name: str) -> bool:
    method = getattr(type(subject), name, None)
    return inspect.isfunction(method) and "segment" in inspect.signature(method).parameters


def _read(subject: Any, name: str, **whose: Any) -> Any:
    try:
        found = getattr(subject, name)
        return plain(found(**whose) if inspect.ismethod(found) else found)
    except Exception as refused:  # what it says is public too
        return f"{type(refused).__name__}: {refused}"


def plain(value: Any, depth: int = 0) -> Any:
    """Return a value as data that can be compared: to the last bit, without the time of day and what is drawn.

    Examples
    --------
    >>> plain((np.float64(0.5), {"at": "2026-01-02T03:04:05Z"}, np.array([1, 2])))
    ['0.5', {"'at'": '<time>'}, ('<i8', (2,), [1, 2])]
    """
    if value is None or isinstance(value, bool | int | bytes):
        return value
    if isinstance(value, str):
        return _INCARNATION.sub(r"\1<drawn>", _TIME.sub("<time>", value))
    if isinstance(value, float | np.generic):
        return repr(value.item() if isinstance(value, np.generic) else value)
    if isinstance(value, np.ndarray):
        if value.dtype.kind in "OU":
            return value.dtype.kind, value.shape, [plain(one, depth + 1) for one in value.ravel().tolist()]
        return value.dtype.str, value.shape, value.ravel().tolist()
    if isinstance(value, Mapping):
        return {repr(key): _held(key, one, depth + 1) for key, one in value.items()}
    if isinstance(value, datetime):
        return "<time>"
    if isinstance(value, list | tuple) and type(value).__str__ in (list.__str__, tuple.__str__):
        return [plain(one, depth + 1) for one in value]
    return _written(value, depth)


def _written(value: Any, depth: int) -> Any:
    """Return what an object prints and, if it is one of ours, what it holds."""
    seen = {"repr": plain(repr(value)), "str": plain(str(value))}
    if depth >= _DEEPEST or isinstance(value, Domain | Plan | Enum) or not _ours(value):
        return seen
    names = [name for name in dir(value) if not name.startswith("_")]
    for name in names:
        held = getattr(value, name, None)
        if not callable(held):
            seen[name] = _held(name, held, depth + 1)
    return seen


def _held(name: Any, value: Any, depth: int) -> Any:
    """Return what stands under a name; of a restored study's incarnation, that it is one."""
    return "<drawn>" if name == "incarnation" and value != 1 else plain(value, depth)


def _ours(value: Any) -> bool:
    return type(value).__module__.startswith("sottovoce")


@contextmanager
def listening(said: list[str]) -> Iterator[None]:
    """Write down what is said meanwhile: warnings, log lines, and what is printed.

    Parameters
    ----------
    said
        Where it is written.
    """
    ours, everybody, printed = logging.getLogger("sottovoce"), logging.getLogger(), io.StringIO()
    handler, level = _LogCollector(said), ours.level
    ours.setLevel(logging.DEBUG)
    everybody.addHandler(handler)
    try:
        with warnings.catch_warnings(record=True) as warned, redirect_stdout(printed), redirect_stderr(printed):
            warnings.simplefilter("always")
            yield
    finally:
        everybody.removeHandler(handler)
        ours.setLevel(level)
        said += [f"{one.category.__name__}: {one.message}" for one in warned]
        said += [f"printed: {printed.getvalue()}"] * bool(printed.getvalue())


class _LogCollector(logging.Handler):
    """Writes down every line of a log, without its time."""

    def __init__(self, said: list[str]) -> None:
        super().__init__()
        self._said = said

    def emit(self, record: logging.LogRecord) -> None:
        """Write down a line."""
        for line in plain(_DURATION.sub("ms=<time>", record.getMessage())).splitlines():
            if not line.startswith(_OF_OTHERS):
                self._said.append(f"{record.name}, {record.levelname}: {line}")
