"""`sottovoce audit`: attack what is claimed, for every mechanism that ships."""

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

from sottovoce import __version__
from sottovoce.auditing import Audit, Configuration, Workers, audit, shipped
from sottovoce.cli import parsing
from sottovoce.report import audit_figure

__all__ = ["audit_all", "audit_command", "audit_table", "show_and_write", "write_audits"]

REFUTED, INTERRUPTED = 1, 130


def audit_command(
    epsilon: Annotated[float, typer.Option(help="Privacy budget to claim and to attack.")] = 1.0,
    delta: Annotated[float, typer.Option(help="0 is pure differential privacy.")] = 0.0,
    exploration: Annotated[str | None, typer.Option(help="frames, designs or sphere; by default all.")] = None,
    mechanism: Annotated[
        str | None, typer.Option(help="probe-sums, tree, honaker, toeplitz, fresh or local; by default all that fit.")
    ] = None,
    runs: Annotated[str, typer.Option(help="Runs of each configuration, such as 20000 or 20k.")] = "20k",
    workers: Annotated[int | None, typer.Option(help="Processes; by default one per core, at most 8.")] = None,
    confidence: Annotated[float, typer.Option(help="1 - confidence is the probability of a false alarm.")] = 0.999,
    simulated_noise: Annotated[
        int | None, typer.Option(metavar="SEED", help="Noise from a seed: repeatable, audits the arithmetic only.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("results/audit"),
) -> None:
    """Attack the privacy claim of the real optimizer, for all mechanisms; ends with code 1 if a claim is refuted."""
    if out.exists() and not out.is_dir():
        raise ValueError(f"out must be a folder, and {out} is a file")
    console = Console()
    wanted = shipped(epsilon, delta, exploration=exploration, mechanism=mechanism)
    audits = audit_all(
        console,
        wanted,
        runs=parsing.count("runs", runs),
        workers=min(8, os.cpu_count() or 1) if workers is None else workers,
        confidence=confidence,
        noise_seed=simulated_noise,
    )
    if audits:
        show_and_write(console, out, audits)
    if not all(one.passed for one in audits):
        raise typer.Exit(REFUTED)
    if len(audits) < len(wanted):
        console.print("[yellow]interrupted:[/] " + ("what was finished is kept" if audits else "nothing was finished"))
        raise typer.Exit(INTERRUPTED)


def audit_all(
    console: Console,
    configurations: list[Configuration],
    *,
    runs: int,
    workers: int,
    confidence: float,
    noise_seed: int | None,
) -> list[Audit]:
    """Audit one configuration after another, with progress; return those that were finished before an interrupt."""
    found: list[Audit] = []
    columns = TextColumn("{task.description}"), BarColumn(bar_width=12), TaskProgressColumn(), TimeRemainingColumn()
    with Progress(*columns, console=console) as bars, Workers(workers) as crew, suppress(KeyboardInterrupt):
        tasks = [bars.add_task(f"{one.label}", total=runs) for one in configurations]
        for one, task in zip(configurations, tasks, strict=True):

            def show(done: int, total: int, task: Any = task) -> None:
                bars.update(task, completed=done, total=total)

            found.append(
                audit(one, runs=runs, workers=crew, confidence=confidence, noise_seed=noise_seed, progress=show)
            )
    return found


def show_and_write(console: Console, out: Path, audits: list[Audit]) -> None:
    """Print the table, and write figure and findings."""
    console.print(audit_table(audits))
    console.print("An audit can refute a claim, never prove it: other neighbours and other attacks were not tried.")
    for path in write_audits(out, audits):
        console.print(f"wrote {path}", soft_wrap=True, highlight=False)


def audit_table(audits: list[Audit]) -> Table:
    """Return a table: one row per audit."""
    first = audits[0]
    title = (
        f"Epsilon{f' at delta = {first.delta:g}' if first.delta else ''}, claimed and shown with "
        f"{100 * first.confidence:g}% confidence, {first.runs:,} runs each"
    )
    table = Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD)
    table.add_column("")
    for name in ("claimed", "at least"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("strongest attack", overflow="fold")
    table.add_column("claim", no_wrap=True)
    for one in audits:
        table.add_row(
            f"{one.label}{' (simulated noise)' if one.simulated else ''}",
            f"{one.epsilon_claimed:.4g}",
            f"{one.epsilon_lower:.3f}",
            f"{one.distinguisher}, round {one.person + 1}",
            "[green]not refuted[/]" if one.passed else "[bold red]REFUTED[/]",
        )
    return table


def write_audits(folder: Path, audits: list[Audit]) -> list[Path]:
    """Write figure and findings into a folder, and return the paths, the figure first."""
    folder.mkdir(parents=True, exist_ok=True)
    figure = audit_figure(audits, folder / "audit.png")
    findings = folder / "audit.json"
    plain = {"sottovoce": __version__, "audits": [one.to_dict() for one in audits]}
    findings.write_text(json.dumps(plain, indent=2) + "\n", encoding="utf-8")
    return [figure, findings]
