"""What the commands of `sottovoce study` share: their arguments, and how they print."""

import json
import sys
from typing import Annotated, Any, TextIO

import typer
from rich.console import Console

from sottovoce.privacy.noise import WithheldNoise
from sottovoce.studies import Study

Name = Annotated[str, typer.Argument(metavar="NAME", help="Of the study.")]
Url = Annotated[
    str | None,
    typer.Option(
        "--storage",
        envvar="SOTTOVOCE_STORAGE",
        help="Where studies live: sqlite:///FILE, or postgresql://USER@HOST/DATABASE.",
    ),
]
AsJson = Annotated[bool | None, typer.Option("--json/--text", help="JSON unless the output is a terminal.")]


def storage_url(storage: str | None) -> str:
    """Return where studies live; say how to name it if nothing does."""
    if not storage:
        raise ValueError("no storage: pass --storage sqlite:///FILE, or set SOTTOVOCE_STORAGE")
    return storage


def look_at(storage: str | None, name: str) -> Study:
    """Open a study to look at it: one whose noise is simulated as well, of which nothing is released then."""
    return Study.open(storage_url(storage), name=name, noise=WithheldNoise())


def show(as_json: bool | None, facts: dict[str, Any], words: str) -> None:
    """Print JSON, or words if that is wished for or the output is a terminal."""
    out: TextIO = sys.stdout
    if as_json is True or (as_json is None and not out.isatty()):
        print(json.dumps(facts, allow_nan=False))
    else:
        Console().print(words, markup=False, highlight=False, soft_wrap=True)
