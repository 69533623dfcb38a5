"""What `sottovoce run` prints: progress, and what came of it."""

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from sottovoce.lab.simulation import Run


def progress_bars(console: Console) -> Progress:
    """Return a progress display for events and rounds; tasks carry the field `round`."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=12),
        TaskProgressColumn(),
        TextColumn("round {task.fields[round]:,}", style="dim"),
        TimeElapsedColumn(),
        console=console,
    )


def result_table(runs: list[Run], labels: list[str]) -> Table:
    """Return the final table: one row per run, and one for never learning."""
    longest = max(runs, key=lambda run: run.events_finished)
    table = Table(title=longest.details.environment, title_justify="left", title_style="bold", box=SIMPLE_HEAD)
    table.add_column("", overflow="fold")
    for name in ("regret", "per event", "oracle calls", "time"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_row("never learning", f"{longest.final_no_learning:,.0f}", f"{longest.no_learning_per_event:.4f}", "", "")
    for run, label in zip(runs, labels, strict=True):
        table.add_row(
            label if run.finished else f"{label} (interrupted)",
            f"{run.final_regret:,.0f}",
            f"{run.regret_per_event:.4f}",
            f"{run.details.oracle_calls:,}",
            f"{run.details.seconds:.2f} s",
        )
    return table


def in_words(run: Run, label: str) -> Text:
    """Return what a run means: how much was learned, and under which promise."""
    events = f"{run.events_finished:,} events in {run.details.rounds:,} rounds"
    if not run.finished:
        events += f", interrupted before the {run.details.horizon:,} that were planned"
    return Text.assemble(
        (f"{label}\n", "bold"),
        f"  learned  {run.learned}\n",
        f"  privacy  {run.details.privacy_headline}\n",
        f"  length   {events}",
        f"\n  decides  {run.details.decision}" if run.details.decision else "",
    )
