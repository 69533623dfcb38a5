"""What people write, read in one place: lists, settings, and names with settings after a colon.

0.1,1                        a list
epsilon=0.1,no-privacy       settings, each a key with a value or a key alone
slate:items=40,slots=5       a name with settings
"""

import ast
import math
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ParsedName:
    """A name with its settings.

    Examples
    --------
    >>> read("slate:items=40,slots=5")
    ParsedName(name='slate', settings=(('items', 40), ('slots', 5)))
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


def read(text: str, what: str = "problem") -> ParsedName:
    """Read "slate:items=40,slots=5"; values are whole numbers, floats, true or false, or words."""
    name, pieces = split(text)
    settings = _settings(pieces, f"{what} {text!r}")
    if not name or not all(settings) or not all(settings.values()):
        raise ValueError(f"{what} must be written like name or name:key=value,key=value, got {text!r}")
    return ParsedName(name, tuple((key, _value(value)) for key, value in settings.items() if value))


def read_values(text: str, what: str) -> dict[str, Any]:
    """Read "items=40,slots=5", each key with a value; `what` is for the message if it is written otherwise.

    Examples
    --------
    >>> read_values("rate=0.1, padding=false", "choice")
    {'rate': 0.1, 'padding': False}
    """
    settings = _settings(listed(text), what)
    if not all(settings) or not all(settings.values()):
        raise ValueError(f"{what} must be written like key=value or key=value,key=value")
    return {key: _value(value) for key, value in settings.items() if value}


def split(text: str) -> tuple[str, list[str]]:
    """Return a name, and the pieces that stand after its colon.

    Examples
    --------
    >>> split("hypersimplex:20, 5"), split("slate")
    (('hypersimplex', ['20', '5']), ('slate', []))
    """
    name, colon, rest = text.partition(":")
    return name.strip(), listed(rest) if colon else []


def bare_name(text: str) -> str:
    """Return the name without its settings, whatever they are.

    Examples
    --------
    >>> bare_name("slate:items=40"), bare_name("a file.toml")
    ('slate', 'a file.toml')
    """
    return split(text)[0]


def listed(text: str) -> list[str]:
    """Read pieces with commas between them.

    Examples
    --------
    >>> listed("10k, 100k")
    ['10k', '100k']
    """
    return [piece.strip() for piece in text.split(",")]


def _settings(pieces: list[str], where: str) -> dict[str, str | None]:
    """Read keys with their values, None for a key alone; `where` is for the message if one is given twice."""
    settings: dict[str, str | None] = {}
    for piece in pieces:
        key, equals, value = (part.strip() for part in piece.partition("="))
        if key in settings:
            raise ValueError(f"{key} is given twice in {where}: give it once")
        settings[key] = value if equals else None
    return settings


def split_names(text: str) -> list[str]:
    """Split names at their commas; a piece that is a setting belongs to the name before it.

    Examples
    --------
    >>> split_names("default,paper-laplace:play=around,delay=0,local")
    ['default', 'paper-laplace:play=around,delay=0', 'local']
    """
    names: list[str] = []
    for piece in listed(text):
        if names and "=" in piece and ":" not in piece:
            names[-1] += f",{piece}"
        else:
            names.append(piece)
    return names


def _value(text: str) -> Any:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if text.lower() == "inf":
        return math.inf
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
    if isinstance(value, float) and value.is_integer():  # 1e4 is how people write ten thousand
        return int(value)
    return value if isinstance(value, int | float) else text
