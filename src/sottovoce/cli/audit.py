"""`sottovoce audit`: attack what is claimed, over the whole surface of what ships."""

import json
import math
import os
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

from sottovoce import __version__
from sottovoce.auditing import Audit, Findings, audit_all, findings_record, summary
from sottovoce.cli import parsing
from sottovoce.cli.folders import check_folder

REFUTED, INTERRUPTED = 1, 130


def audit_command(
    epsilon: Annotated[float, typer.Option(help="Privacy budget to claim and to attack.")] = 1.0,
    delta: Annotated[float, typer.Option(help="0 is pure differential privacy, and zCDP besides.")] = 0.0,
    only: Annotated[str, typer.Option(help="What has this in its name, such as tree, study or local.")] = "",
    runs: Annotated[
        str, typer.Option(help="Runs of each optimizer, such as 20000 or 20k; mechanisms alone get ten times as many.")
    ] = "3k",
    workers: Annotated[int | None, typer.Option(help="Processes; by default one per core, at most 8.")] = None,
    confidence: Annotated[
        float, typer.Option(help="1 - confidence is the probability of a false alarm anywhere.")
    ] = 0.999,
    simulated_noise: Annotated[
        int | None, typer.Option(metavar="SEED", help="Noise from a seed: repeatable, audits the arithmetic only.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("results/audit"),
) -> None:
    """Attack the privacy claim of everything that ships; ends with code 1 if a claim is refuted."""
    check_folder(out)
    console = Console()
    columns = BarColumn(bar_width=24), TaskProgressColumn(), TimeRemainingColumn(), TextColumn("{task.description}")
    with Progress(*columns, console=console) as bar:
        task = bar.add_task("starting", total=1.0)
        found = audit_all(
            epsilon,
            delta,
            only=only,
            runs=parsing.count("runs", runs),
            workers=min(8, os.cpu_count() or 1) if workers is None else workers,
            confidence=confidence,
            noise_seed=simulated_noise,
            progress=lambda share, words: bar.update(task, completed=share, description=words),
            more=[] if delta else _services(epsilon),
        )
        if found.complete:
            bar.update(task, completed=1.0, description="done")
    show_and_write(console, out, found)
    if not found.passed:
        raise typer.Exit(REFUTED)
    if not found.complete:
        kept = "what was finished is kept" if found.audits or found.checks else "nothing was finished"
        console.print(f"[yellow]interrupted:[/] {kept}")
        raise typer.Exit(INTERRUPTED)


def _services(epsilon: float) -> list[Any]:
    """Return what is audited of a service, where one is installed."""
    try:
        from sottovoce.service.audited import service_shipped
    except ImportError:
        return []
    return list(service_shipped(epsilon))


def show_and_write(console: Console, out: Path, found: Findings) -> None:
    """Print a table and words, and write what was found."""
    if not (found.audits or found.checks):
        return
    if found.audits:
        console.print(audit_table(found.audits))
    for paragraph in summary(found):
        console.print(paragraph, highlight=False)
        console.print()
    out.mkdir(parents=True, exist_ok=True)
    findings = out / "audit.json"
    plain = findings_record(found, sottovoce=__version__)
    findings.write_text(json.dumps(plain, indent=2) + "\n", encoding="utf-8")
    console.print(f"wrote {findings}", soft_wrap=True, highlight=False)


def audit_table(audits: tuple[Audit, ...]) -> Table:
    """Return a table: one row per audit by runs."""
    first = audits[0]
    title = (
        f"Epsilon{f' at delta = {first.delta:g}' if first.delta else ''}, claimed, shown, and the smallest that "
        "could have been told from the claim"
    )
    table = Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD)
    table.add_column("")
    for name in ("claimed", "at least", "could see", "runs"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("strongest attack", overflow="fold")
    table.add_column("claim", no_wrap=True)
    for one in audits:
        table.add_row(
            f"{one.label}{' (simulated noise)' if one.simulated else ''}",
            f"{one.epsilon_claimed:.4g}",
            f"{one.epsilon_lower:.3f}",
            f"{one.smallest_seen:.2f}" if math.isfinite(one.smallest_seen) else "no noise",
            f"{one.runs:,}",
            one.distinguisher,  # the worlds that it told apart are in the findings
            "[green]not refuted[/]" if one.passed else "[bold red]REFUTED[/]",
        )
    return table
