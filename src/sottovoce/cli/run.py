"""`sottovoce run`: a private bandit on a simulated problem, and its report."""

import re
import shlex
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from sottovoce._extras import load
from sottovoce._written import bare_name
from sottovoce.cli import parsing
from sottovoce.cli.folders import check_folder
from sottovoce.lab import Run, simulate
from sottovoce.lab.problems import PROBLEMS, DecisionProblem
from sottovoce.lab.problems.naming import make_problem
from sottovoce.privacy import Guarantee, NoPrivacy, PureDP, SimulatedNoise

INTERRUPTED = 130  # 128 + SIGINT, as shells report it
NAMES = f"A problem: {', '.join(PROBLEMS)}, with settings: slate:items=40."

Played = tuple[str, Run, Any]
"""What a run is called, the run, and the optimizer that played it."""


def run_command(
    name: Annotated[str, typer.Argument(metavar="NAME", help=NAMES)],
    horizon: Annotated[str, typer.Option(help="Events, such as 100k.")] = "200k",
    epsilon: Annotated[str, typer.Option(help="Privacy budgets, of pure differential privacy.")] = "1,0.1",
    seed: Annotated[int, typer.Option(help="Of the world, and of public coins.")] = 0,
    simulated_noise: Annotated[
        bool, typer.Option("--simulated-noise", help="Noise from the seed: repeatable, not private.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the results, which are overwritten; by default results/NAME.")
    ] = None,
) -> None:
    """Simulate private bandits, and write their regret curves beside those of never learning and of no privacy."""
    events, budgets = parsing.count("horizon", horizon), parsing.numbers("epsilon", epsilon)
    if bare_name(name) not in PROBLEMS:
        raise ValueError(f"NAME must be a problem, one of {', '.join(PROBLEMS)}, got {name!r}")
    problem = make_problem(name, seed=seed)
    simulated = ", simulated noise" if simulated_noise else ""
    guarantees: dict[str, Guarantee] = {f"epsilon = {one:g}{simulated}": PureDP(one) for one in budgets}
    guarantees["no privacy"] = NoPrivacy()
    noise = SimulatedNoise(seed) if simulated_noise else None
    optimizers = {
        label: problem.optimizer(horizon=events, privacy=privacy, seed=seed, noise=noise)
        for label, privacy in guarantees.items()
    }
    load("matplotlib", "`sottovoce run`")  # before hours are spent
    folder, console = out or Path("results") / bare_name(name), Console()
    check_folder(folder)
    words = ["sottovoce", "run", name, "--horizon", str(events), "--epsilon", ",".join(map(repr, budgets))]
    words += ["--seed", str(seed), *["--simulated-noise"] * simulated_noise, *(["--out", str(out)] if out else [])]
    played = _play(console, optimizers, problem, events)
    for label, run, _ in played:
        console.print(f"[bold]{label}[/]")
        console.print(str(run), soft_wrap=True, highlight=False, markup=False)
    for path in _write(folder, problem, played, shlex.join(words)):
        console.print(f"wrote {path}", soft_wrap=True, highlight=False)
    if len(played) < len(optimizers) or not played[-1][1].finished:
        console.print("[yellow]interrupted:[/] " + ("what was finished is kept" if played else "nothing was finished"))
        raise typer.Exit(INTERRUPTED)


def _play(console: Console, optimizers: dict[str, Any], problem: DecisionProblem, events: int) -> list[Played]:
    """Return what was played, the last run unfinished if it was interrupted."""
    played: list[Played] = []
    rounds = TextColumn("round {task.fields[round]:,}", style="dim")
    columns = TextColumn("{task.description}"), BarColumn(bar_width=12), TaskProgressColumn(), rounds
    with Progress(*columns, TimeElapsedColumn(), console=console) as bars:
        for label, optimizer in optimizers.items():
            task = bars.add_task(label, total=events, round=0)

            def show(done: int, total: int, rounds: int, task: Any = task) -> None:
                bars.update(task, completed=done, total=total, round=rounds)

            played.append((label, simulate(optimizer, problem.environment, progress=show), optimizer))
            if not played[-1][1].finished:
                break
    return [one for one in played if one[1].events_finished]


def _write(folder: Path, problem: DecisionProblem, played: list[Played], command: str) -> list[Path]:
    """Write report, figure and runs into a folder, and return the paths, in this order."""
    if not played:
        return []
    from sottovoce.report import regret_figure, run_report  # figures are slow to import, and most commands draw none

    folder.mkdir(parents=True, exist_ok=True)
    labels, runs, optimizers = (list(column) for column in zip(*played, strict=True))
    names = [f"run-{re.sub(r'[^a-z0-9.]+', '-', label).strip('-')}.npz" for label in labels]
    figure = regret_figure(runs, folder / "regret.png", labels=labels)
    saved = [run.save(folder / name) for run, name in zip(runs, names, strict=True)]
    report = run_report(
        runs, folder / "report.html", labels=labels, optimizers=optimizers, problem=problem, command=command
    )
    return [report, figure, *saved]
