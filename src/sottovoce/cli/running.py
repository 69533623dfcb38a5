"""`sottovoce run`: a simulated private bandit, and its report."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from sottovoce._extras import load
from sottovoce._written import bare_name
from sottovoce.cli import execute, ready, tables
from sottovoce.cli.folders import check_free, check_writable
from sottovoce.cli.options import Options, with_options
from sottovoce.cli.settings import RunSettings, with_values
from sottovoce.lab.problems import PROBLEMS

INTERRUPTED = 130  # 128 + SIGINT, as shells report it
RUNS = f"One of {', '.join(ready.READY)}; a problem ({', '.join(PROBLEMS)}, with settings: slate:items=40); or a file."


@with_options()
def run_command(
    name: Annotated[str, typer.Argument(metavar="NAME|FILE.toml", help=RUNS)],
    options: Options,
    simulated_noise: Annotated[
        bool | None, typer.Option("--simulated-noise", help="Noise from the seed: repeatable, not private.")
    ] = None,
    also: Annotated[
        list[str] | None,
        typer.Option(help="A variant to run beside it, such as no-privacy or epsilon=0.1,plan=paper. May be repeated."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the results; by default results/NAME.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite another run in the folder.")] = False,
) -> None:
    """Simulate a private bandit, and write its regret curve beside that of never learning."""
    own = {"simulated_noise": simulated_noise, "also": tuple(also) if also else None}
    given = {**options.given(), **{key: value for key, value in own.items() if value is not None}}
    short, settings = ready.find(name)
    settings = with_values(settings, given)
    load("matplotlib", "`sottovoce run`")  # before hours are spent
    command = execute.command_line(name, given, out)
    every, folder = execute.all_settings(settings), out or Path("results") / short
    check_writable(folder)
    check_free(folder, every, force=force)
    played = _run_all(every, folder, command)
    other = settings.in_other_world()
    if other is not None and played:
        beside = _run_all(execute.all_settings(other), folder / bare_name(other.environment), command)
        if beside:
            figure = execute.draw_beside(folder, every, played, beside)
            Console().print(f"drew both worlds in {figure}", soft_wrap=True, highlight=False)
        played = beside
    if not played:
        raise typer.Exit(INTERRUPTED)


def _run_all(every: list[RunSettings], folder: Path, command: str) -> list[execute.Played]:
    """Carry out the runs one after another, show and write what was finished; return them if that was all."""
    console = Console()
    labels = execute.labels_of(every)
    played = [one for one in _simulate_all(console, every, labels) if one.run.events_finished]
    runs = [one.run for one in played]
    if runs:
        labels = labels[: len(runs)]
        console.print(tables.result_table(runs, labels))
        for run, label in zip(runs, labels, strict=True):
            console.print(tables.in_words(run, label), soft_wrap=True, highlight=False)
        for path in execute.write(folder, every, played, command=command):
            console.print(f"wrote {path}", soft_wrap=True, highlight=False)
    finished = len(runs) == len(every) and all(run.finished for run in runs)
    if not finished:
        console.print("[yellow]interrupted:[/] " + ("what was finished is kept" if runs else "nothing was finished"))
    return played if finished else []


def _simulate_all(console: Console, every: list[RunSettings], labels: list[str]) -> list[execute.Played]:
    """Return the runs, the last of them unfinished if it was interrupted."""
    played: list[execute.Played] = []
    problem = every[0].make_problem()
    environment = every[0].make_environment() if problem is None else problem.environment
    optimizers = [execute.optimizer_of(one, environment, problem) for one in every]  # errors come before anything runs
    with tables.progress_bars(console) as bars:
        for settings, label, optimizer in zip(every, labels, optimizers, strict=True):
            task = bars.add_task(label, total=settings.events_needed, round=0)

            def show(done: int, total: int, rounds: int, task: Any = task) -> None:
                bars.update(task, completed=done, total=total, round=rounds)

            played.append(execute.carry_out(optimizer, environment, show))
            if not played[-1].run.finished:
                break
    return played
