"""`sottovoce study tell`: one loss, or a stream of them."""

import json
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from sottovoce.cli.rows import LineError
from sottovoce.cli.study_shared import AsJson, Name, Url, show, storage_url
from sottovoce.cli.study_stream import StreamReport, opened, read_lines, tell_stream
from sottovoce.studies import Study

INTERRUPTED = 130


def tell_command(
    name: Name,
    one: Annotated[
        list[str] | None, typer.Argument(metavar="[ID LOSS]", help="A single loss; of items, as JSON.")
    ] = None,
    file: Annotated[
        str | None, typer.Option("--file", help="CSV or JSON lines with id and loss; - reads stdin.")
    ] = None,
    storage: Url = None,
    report: Annotated[bool, typer.Option("--report", help="Local privacy: numbers are reports, not losses.")] = False,
    repeat: Annotated[str, typer.Option(help="What a second loss for one action does: error or ignore.")] = "error",
    refused: Annotated[str, typer.Option(help="What a refused line does: stop, or skip it.")] = "stop",
    block: Annotated[int, typer.Option(help="Lines per transaction.")] = 1000,
    as_json: AsJson = None,
) -> None:
    """Tell losses, durable when it returns: one, or a stream. A stream may be repeated with --repeat ignore.

    A loss among the arguments is seen by whoever lists processes, and kept by the shell: prefer --file -.
    """
    if (file is None) == (not one):
        raise ValueError("pass ID and LOSS, or --file")
    if refused not in ("stop", "skip"):
        raise ValueError(f"refused must be stop or skip, got {refused!r}")
    if block < 1:
        raise ValueError(f"block must be at least 1, got {block}")
    counts = StreamReport()
    with Study.open(storage_url(storage), name=name, repeat=repeat) as study, _source(file, one, report) as source:
        found = read_lines(source, "report" if report else "loss", counts, items=study.plan.exploration == "items")
        try:
            with _progress() as advance:
                skip = refused == "skip"
                tell_stream(study, found, counts, as_report=report, block=block, skip=skip, progress=advance)
        except LineError as problem:
            words = problem.why if file is None else str(problem)
            raise ValueError(f"{words}. Of what was passed, {counts.accepted} losses are on record") from None
        except KeyboardInterrupt:
            show(as_json, {"study": name, **counts.to_dict(), "interrupted": True}, _told(counts))
            raise typer.Exit(INTERRUPTED) from None
    show(as_json, {"study": name, **counts.to_dict()}, _told(counts))


def _told(counts: StreamReport) -> str:
    left_out = f", {counts.without_loss:,} lines without one" if counts.without_loss else ""
    refused = f", {counts.refused:,} refused" if counts.refused else ""
    return f"{counts.accepted:,} losses on record{left_out}{refused}"


@contextmanager
def _source(file: str | None, one: list[str] | None, report: bool) -> Iterator[Any]:
    """Yield lines to read: of a file, of the standard input, or one that says what the arguments said."""
    if one:
        if len(one) != 2:
            raise ValueError(f"pass ID and LOSS, two arguments, got {len(one)}")
        value = None
        with suppress(ValueError, RecursionError):  # whose words quote the loss, and would be carried along
            value = json.loads(one[1]) if one[1].lstrip()[:1] in ("{", "[") else float(one[1])
        if value is None:
            raise ValueError(f"{'the report' if report else 'LOSS'} is not a number")
        yield [json.dumps({"id": one[0], "report" if report else "loss": value})]
    else:
        with opened(str(file)) as source:
            yield source


@contextmanager
def _progress() -> Iterator[Any]:
    """Yield a function that shows how many losses were told: on the standard error, if that is a terminal."""
    console = Console(stderr=True)
    columns = SpinnerColumn(), TextColumn("{task.completed:,} losses on record"), TimeElapsedColumn()
    with Progress(*columns, console=console, transient=True) if console.is_terminal else nullcontext() as bars:
        task = None if bars is None else bars.add_task("", total=None)
        yield lambda count: None if bars is None or task is None else bars.update(task, completed=count)
