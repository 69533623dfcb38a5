"""What the commands of `sottovoce study` share: their arguments, what they read, and how they print."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer
from rich.console import Console

from sottovoce.learning.segment_requests import segment_in_words
from sottovoce.models import Segment
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
OneSegment = Annotated[
    str | None,
    typer.Option("--segment", help="Of a study with segments, for whom: phone; phone,it; device=phone,country=it."),
]
Yes = Annotated[bool, typer.Option("--yes", help="Do it; without, only what it would do is said.")]


def storage_url(storage: str | None) -> str:
    """Return where studies live; say how to name it if nothing does."""
    if not storage:
        raise ValueError("no storage: pass --storage sqlite:///FILE, or set SOTTOVOCE_STORAGE")
    return storage


def look_at(storage: str | None, name: str) -> Study:
    """Open a study to look at it: one whose noise is simulated as well, of which nothing is released then."""
    return Study.open(storage_url(storage), name=name, noise=WithheldNoise())


def segment_of(study: Study, said: str | None) -> Segment | None:
    """Return whom an option names, if it is given; of a study without segments it must not be."""
    if said is None:
        return None
    if study.segments is None:
        raise ValueError(f"--segment is for studies with segments, and {study.name!r} has none")
    return segment_in_words(study.segments, said, study.sizes)


@contextmanager
def opened(file: str) -> Iterator[Iterator[str]]:
    """Yield the lines of a file, or of the standard input; none of them is in an error."""
    if file != "-" and not Path(file).exists():  # a pipe is no regular file, and will do
        raise ValueError(f"there is no file {file}")
    with nullcontext(sys.stdin) if file == "-" else open(file, encoding="utf-8-sig", newline="") as source:
        yield _lines_of(file, source)


def _lines_of(file: str, source: TextIO) -> Iterator[str]:
    text = True
    try:
        yield from source
    except UnicodeDecodeError:
        text = False
    if not text:  # raised out here: what was caught holds the line, and would travel along as its context
        raise ValueError(f"{file} is not text in UTF-8")


def is_text(as_json: bool | None) -> bool:
    """Whether words are printed, not JSON: if they are wished for, or the output is a terminal."""
    return sys.stdout.isatty() if as_json is None else not as_json


def show(as_json: bool | None, facts: dict[str, Any], words: str) -> None:
    """Print JSON, or words."""
    if is_text(as_json):
        Console().print(words, markup=False, highlight=False, soft_wrap=True)
    else:
        print(json.dumps(facts, allow_nan=False))
