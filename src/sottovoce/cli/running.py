"""`sottovoce run`: private bandits on a simulated problem, and their report."""

import json
import re
import shlex
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from rich.console import Console

from sottovoce import __version__
from sottovoce._extras import load
from sottovoce._written import bare_name
from sottovoce.cli import parsing, tables
from sottovoce.cli.folders import check_folder
from sottovoce.domains import Hypersimplex
from sottovoce.lab.problems import PROBLEMS, DecisionProblem
from sottovoce.lab.problems.naming import make_problem
from sottovoce.lab.simulation import Environment, NoisyLinear, Run, Switching, simulate
from sottovoce.learning import PrivateBandit
from sottovoce.privacy import Guarantee, NoPrivacy, PureDP, SimulatedNoise

INTERRUPTED = 130  # 128 + SIGINT, as shells report it
HORIZON, DEMO_HORIZON = 200_000, 500_000
DEMO_SEED = 2  # the world changes about half way then
NAMES = f"demo, or a problem: {', '.join(PROBLEMS)}, with settings: slate:items=40."


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What decides runs: the same give the same curves, if their noise is simulated."""

    name: str
    horizon: int
    epsilon: float
    seed: int
    simulated_noise: bool


class World(NamedTuple):
    """Where bandits are played, and what they are told of it."""

    environment: Environment
    known: dict[str, Any]
    problem: DecisionProblem | None = None


class Variant(NamedTuple):
    """One of the bandits that are played in a world."""

    label: str
    privacy: Guarantee
    choices: dict[str, Any]


Played = tuple[Run, Any]
"""A run, and the optimizer that played it."""


def run_command(
    name: Annotated[str, typer.Argument(metavar="NAME", help=NAMES)],
    horizon: Annotated[str | None, typer.Option(help="Events, such as 100k; 200k by default.")] = None,
    epsilon: Annotated[float, typer.Option(help="The privacy budget, of pure differential privacy.")] = 1.0,
    seed: Annotated[int | None, typer.Option(help="Of the world, and of public coins.")] = None,
    simulated_noise: Annotated[
        bool, typer.Option("--simulated-noise", help="Noise from the seed: repeatable, not private.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the results, which are overwritten; by default results/NAME.")
    ] = None,
) -> None:
    """Simulate a private bandit, and write its regret curve beside that of never learning and of no privacy."""
    demo = name == "demo"
    events = (DEMO_HORIZON if demo else HORIZON) if horizon is None else parsing.count("horizon", horizon)
    start = (DEMO_SEED if demo else 0) if seed is None else seed
    settings = Settings(name=name, horizon=events, epsilon=epsilon, seed=start, simulated_noise=simulated_noise)
    worlds, variants = worlds_of(settings), variants_of(settings)
    load("matplotlib", "`sottovoce run`")  # before hours are spent
    folder = out or Path("results") / bare_name(name)
    check_folder(folder)
    every: list[list[Played]] = []
    for world in worlds:
        place = folder / world.environment.name if every else folder
        played = _play_all(settings, world, variants, place, command_line(settings, out))
        if played is None:
            raise typer.Exit(INTERRUPTED)
        every.append(played)
    if len(every) > 1:
        from sottovoce.report import regret_figure

        runs, beside = ([run for run, _ in played] for played in every)
        labels = [one.label for one in variants]
        figure = regret_figure(runs, folder / "regret.png", labels=labels, beside=beside)
        Console().print(f"drew both worlds in {figure}", soft_wrap=True, highlight=False)


def worlds_of(settings: Settings) -> list[World]:
    """Return the world of a problem; of the demo two, one of which changes once."""
    if settings.name != "demo":
        if bare_name(settings.name) not in PROBLEMS:
            raise ValueError(f"NAME must be demo or a problem, one of {', '.join(PROBLEMS)}, got {settings.name!r}")
        problem = make_problem(settings.name, seed=settings.seed)
        return [World(problem.environment, problem.settings(), problem)]
    domain = Hypersimplex(20, 5)
    found: list[Environment] = [
        NoisyLinear(domain, seed=settings.seed),
        Switching(domain, every=settings.horizon, moods=2, seed=settings.seed),
    ]
    linear = {"losses": "linear", "integral": True}
    return [World(one, {"loss_range": one.loss_range, "lipschitz": one.lipschitz, **linear}) for one in found]


def variants_of(settings: Settings) -> list[Variant]:
    """Return the bandits that are compared: with privacy and without; in the demo, other budgets and plans as well."""

    def private(epsilon: float, words: str = "", **choices: Any) -> Variant:
        simulated = ", simulated noise" if settings.simulated_noise else ""
        return Variant(f"epsilon = {epsilon:g}{simulated}{words}", PureDP(epsilon), choices)

    usual, without = private(settings.epsilon), Variant("no privacy", NoPrivacy(), {})
    if settings.name != "demo":
        return [usual, without]
    return [
        usual,
        without,
        private(settings.epsilon / 10),
        private(settings.epsilon, ", worst-case plan", plan="worst-case"),
        private(settings.epsilon, ", paper's plan", plan="paper"),
    ]


def command_line(settings: Settings, out: Path | None) -> str:
    """Return the command that redoes a run.

    Examples
    --------
    >>> command_line(Settings(name="slate", horizon=2000, epsilon=0.5, seed=3, simulated_noise=True), None)
    'sottovoce run slate --horizon 2000 --epsilon 0.5 --seed 3 --simulated-noise'
    """
    words = ["sottovoce", "run", settings.name, "--horizon", str(settings.horizon)]
    words += ["--epsilon", f"{settings.epsilon:g}", "--seed", str(settings.seed)]
    words += ["--simulated-noise"] * settings.simulated_noise + ([] if out is None else ["--out", str(out)])
    return shlex.join(words)


def _play_all(
    settings: Settings, world: World, variants: list[Variant], folder: Path, command: str
) -> list[Played] | None:
    """Play bandits one after another, show and write what was finished; return them if that was all."""
    console = Console()
    played = [one for one in _played(console, settings, world, variants) if one[0].events_finished]
    if played:
        labels = [one.label for one in variants][: len(played)]
        console.print(tables.result_table([run for run, _ in played], labels))
        for (run, _), label in zip(played, labels, strict=True):
            console.print(tables.in_words(run, label), soft_wrap=True, highlight=False)
        for path in _write(folder, settings, world, labels, played, command):
            console.print(f"wrote {path}", soft_wrap=True, highlight=False)
    if len(played) == len(variants) and all(run.finished for run, _ in played):
        return played
    console.print("[yellow]interrupted:[/] " + ("what was finished is kept" if played else "nothing was finished"))
    return None


def _played(console: Console, settings: Settings, world: World, variants: list[Variant]) -> list[Played]:
    """Return runs and who played them, the last of them unfinished if it was interrupted."""
    played: list[Played] = []
    optimizers = [_optimizer(settings, world, one) for one in variants]  # errors come before anything runs
    with tables.progress_bars(console) as bars:
        for variant, optimizer in zip(variants, optimizers, strict=True):
            task = bars.add_task(variant.label, total=settings.horizon, round=0)

            def show(done: int, total: int, rounds: int, task: Any = task) -> None:
                bars.update(task, completed=done, total=total, round=rounds)

            played.append((simulate(optimizer, world.environment, progress=show), optimizer))
            if not played[-1][0].finished:
                break
    return played


def _optimizer(settings: Settings, world: World, variant: Variant) -> Any:
    return PrivateBandit(
        world.environment.domain,
        horizon=settings.horizon,
        privacy=variant.privacy,
        seed=settings.seed,
        noise=SimulatedNoise(settings.seed) if settings.simulated_noise else None,
        **world.known,
        **variant.choices,
    )


def _write(
    folder: Path, settings: Settings, world: World, labels: list[str], played: list[Played], command: str
) -> list[Path]:
    """Write report, figure, summary and runs into a folder, and return the paths, in this order."""
    from sottovoce.report import regret_figure, run_report  # figures are slow to import, and most commands draw none

    folder.mkdir(parents=True, exist_ok=True)
    runs = [run for run, _ in played]
    figure = regret_figure(runs, folder / "regret.png", labels=labels)
    names = [f"run-{re.sub(r'[^a-z0-9.]+', '-', label.lower()).strip('-')}.npz" for label in labels]
    paths = [run.save(folder / name) for run, name in zip(runs, names, strict=True)]
    summary = folder / "summary.json"
    entries = [_summary(*one) for one in zip(labels, names, runs, strict=True)]
    content = {"sottovoce": __version__, "settings": asdict(settings), "runs": entries}
    summary.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    report = run_report(
        runs,
        folder / "report.html",
        labels=labels,
        optimizers=[optimizer for _, optimizer in played],
        best=world.environment.comparator(runs[0].events_finished).point,
        problem=world.problem,
        command=command,
    )
    return [report, figure, summary, *paths]


def _summary(label: str, file: str, run: Run) -> dict[str, Any]:
    return {
        "label": label,
        "file": file,
        "events": run.events_finished,
        "finished": run.finished,
        "regret": run.final_regret,
        "regret_per_event": run.regret_per_event,
        "no_learning_regret": run.final_no_learning,
        "no_learning_regret_per_event": run.no_learning_per_event,
        "learned": run.learned,
        "details": run.details.to_dict(),
    }
