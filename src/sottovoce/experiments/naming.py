"""Problems and algorithms as people write them: a name, and settings after a colon."""

import ast
import inspect
from dataclasses import dataclass
from typing import Any

from sottovoce.problems import PROBLEMS, DecisionProblem

__all__ = ["Named", "make_problem", "problem_name", "read", "split_names"]


@dataclass(frozen=True, slots=True)
class Named:
    """A name with its settings.

    Examples
    --------
    >>> read("slate:items=40,slots=5")
    Named(name='slate', settings=(('items', 40), ('slots', 5)))
    >>> str(read(" slate : items = 40 "))
    'slate:items=40'
    """

    name: str
    settings: tuple[tuple[str, Any], ...] = ()

    @property
    def written(self) -> str:
        """The settings, as they are written."""
        return ",".join(f"{key}={value}" for key, value in self.settings)

    def __str__(self) -> str:
        return f"{self.name}:{self.written}" if self.settings else self.name


def read(text: str, what: str = "problem") -> Named:
    """Read "slate:items=40,slots=5"; values are whole numbers, floats, true or false, or words."""
    name, colon, written = (part.strip() for part in text.partition(":"))
    pairs: dict[str, Any] = {}
    for part in written.split(",") if colon else []:
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not (name and key and equals and value):
            raise ValueError(f"{what} must be written like name or name:key=value,key=value, got {text!r}")
        if key in pairs:
            raise ValueError(f"{key} is given twice in {what} {text!r}: give it once")
        pairs[key] = _value(value)
    if not name:
        raise ValueError(f"{what} must be written like name or name:key=value,key=value, got {text!r}")
    return Named(name, tuple(pairs.items()))


def split_names(text: str) -> list[str]:
    """Split names at their commas; a piece that is a setting belongs to the name before it.

    Examples
    --------
    >>> split_names("default,paper-laplace:play=around,delay=0,local")
    ['default', 'paper-laplace:play=around,delay=0', 'local']
    """
    names: list[str] = []
    for piece in text.split(","):
        if names and "=" in piece and ":" not in piece:
            names[-1] += f",{piece.strip()}"
        else:
            names.append(piece.strip())
    return names


def problem_name(text: str) -> str:
    """Return a problem as it is written everywhere, or say what is wrong with it."""
    named = read(text)
    _check_settings(named)
    return str(named)


def make_problem(text: str, *, seed: int) -> DecisionProblem:
    """Build the problem that `text` names; a seed among its settings goes before `seed`."""
    named = read(text)
    kind = _check_settings(named)
    settings = dict(named.settings)
    if "seed" in _accepted(kind):
        settings.setdefault("seed", seed)
    try:
        return kind(**settings)
    except (TypeError, ValueError) as problem:
        raise ValueError(f"problem {text!r}: {problem}") from problem


def _check_settings(named: Named) -> type[DecisionProblem]:
    if named.name not in PROBLEMS:
        raise ValueError(f"problem must be one of {', '.join(sorted(PROBLEMS))}, got {named.name!r}")
    kind = PROBLEMS[named.name]
    known = _accepted(kind)
    for key, _ in named.settings:
        if key not in known:
            raise ValueError(f"problem {named.name} has no setting {key!r}; it has {', '.join(known)}")
    return kind


def _accepted(kind: type[DecisionProblem]) -> list[str]:
    return [name for name in inspect.signature(kind).parameters if name != "self"]


def _value(text: str) -> Any:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
    if isinstance(value, float) and value.is_integer():  # 1e4 is how people write ten thousand
        return int(value)
    return value if isinstance(value, int | float) else text
