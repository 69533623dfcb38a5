"""Carry out one or several runs, and write down what they found."""

import json
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sottovoce import __version__
from sottovoce._arrays import Vector
from sottovoce.cli.options import PRIVACY
from sottovoce.cli.settings import RunSettings, variant
from sottovoce.lab.problems import DecisionProblem
from sottovoce.lab.seeding import streams
from sottovoce.lab.simulation import Environment, Run, simulate
from sottovoce.learning import Plan, PrivateBandit
from sottovoce.learning.segmented import SegmentedRecommendation
from sottovoce.models import Posterior
from sottovoce.playing import LocalReports
from sottovoce.privacy import Guarantee, LocalDP, SimulatedNoise

Progress = Callable[[int, int, int], None]
_NOT_COUNTED = (*PRIVACY, "simulated_noise", "also", "beside")


@dataclass(frozen=True, slots=True)
class Played:
    """What a run left behind: its record, its plan, its last point, and what is believed if the plan has a model.

    An optimizer with segments leaves behind what it recommends for each.
    """

    run: Run
    plan: Plan
    point: Vector
    posterior: Posterior | None = None
    segments: SegmentedRecommendation | None = None


def all_settings(settings: RunSettings) -> list[RunSettings]:
    """Return the settings of the run itself and of its variants, each once."""
    every: dict[tuple[Guarantee, bool, str], RunSettings] = {}
    for one in (settings, *(variant(settings, text) for text in settings.also)):
        every.setdefault(_what_counts(one), one)
    return list(every.values())


def _what_counts(settings: RunSettings) -> tuple[Guarantee, bool, str]:
    """Return what makes a run another one: without privacy there is no noise, and its budget is its guarantee's."""
    simulated = settings.simulated_noise and settings.guarantee.private
    others = {name: one for name, one in settings.given().items() if name not in _NOT_COUNTED}
    return settings.guarantee, simulated, repr(others)


def carry_out(optimizer: Any, environment: Environment, progress: Progress | None = None) -> Played:
    """Simulate an optimizer that was built."""
    run = simulate(optimizer, environment, progress=progress)
    if getattr(optimizer, "segments", None) is not None:
        found = optimizer.recommend()
        return Played(run, optimizer.plan, found.x, segments=found)
    believes = optimizer.fit_check() is not None
    return Played(run, optimizer.plan, optimizer.point, optimizer.posterior() if believes else None)


def optimizer_of(settings: RunSettings, environment: Environment, problem: DecisionProblem | None) -> Any:
    """Return an optimizer that is told what is known of the problem, unless the settings say otherwise."""
    known = {"loss_range": environment.loss_range, "lipschitz": environment.lipschitz}
    if problem is not None:
        known = problem.settings()
        if settings.plan not in (None, "auto") or isinstance(settings.guarantee, LocalDP):
            known["segments"] = None  # only posterior probes let segments inform each other: here is one for all
    if settings.clipping is not None:
        known["loss_range"] = settings.clipping
    optimizer = PrivateBandit(
        environment.domain,
        horizon=settings.events_needed,
        privacy=settings.guarantee,
        seed=settings.public_seed,
        noise=SimulatedNoise(settings.public_seed) if settings.simulated_noise else None,
        **{**known, **settings.arguments, **settings.waiting},
    )
    local = isinstance(settings.guarantee, LocalDP)  # the owners are simulated, too
    return LocalReports(optimizer, streams(settings.public_seed).reports) if local else optimizer


def command_line(name: str, options: Mapping[str, Any], out: Path | None) -> str:
    """Return the command that redoes a run.

    Examples
    --------
    >>> from sottovoce.cli.execute import command_line
    >>> command_line("demo", {"epsilon": 0.5, "no_privacy": None, "integral": True, "also": ("plan=paper",)}, None)
    'sottovoce run demo --epsilon 0.5 --integral --also plan=paper'
    """
    words = ["sottovoce", "run", name]
    for key, value in {**options, "out": out}.items():
        option = f"--{key.replace('_', '-')}"
        if isinstance(value, tuple):
            words += [part for one in value for part in (option, str(one))]
        elif value is True:
            words.append(option)
        elif value is not None and value is not False:
            words += [option, str(value)]
    return shlex.join(words)


def labels_of(every: list[RunSettings]) -> list[str]:
    """Name runs by their privacy, and by what is neither as usual nor the same in all of them."""
    others = [_other_words(one) for one in every]
    shared = set.intersection(*map(set, others)) if len(others) > 1 else set()
    return [
        ", ".join(_privacy_words(one) + [word for word in words if word not in shared])
        for one, words in zip(every, others, strict=True)
    ]


def _privacy_words(settings: RunSettings) -> list[str]:
    guarantee = settings.guarantee
    if not guarantee.private:
        return ["no privacy"]
    budgets = ((name, getattr(guarantee, name, None)) for name in ("epsilon", "delta", "rho"))
    words = [f"{name} = {value:g}" for name, value in budgets if value is not None]
    if settings.local:
        words.append("local")
    if settings.contributions is not None and settings.contributions > 1:
        words.append(f"{settings.contributions} contributions")
    if settings.simulated_noise:
        words.append("simulated noise")
    return words


def _other_words(settings: RunSettings) -> list[str]:
    given = settings.given()
    words = {
        "plan": {"paper": "paper's plan", "worst-case": "worst-case plan"}.get(settings.plan or "auto", ""),
        "play": "played around" if settings.play == "around" else "",
        "losses": "linear losses" if settings.losses == "linear" else "",
        "integral": "integral" if settings.integral else "",
    }
    for name in ("channel", "lipschitz", "features", "prior", "exploration", "mechanism", "patience"):
        words[name] = f"{name} {given[name]}" if name in given else ""
    return [*filter(None, words.values()), *settings.chosen]


def write(folder: Path, every: list[RunSettings], played: list[Played], *, command: str = "") -> list[Path]:
    """Write report, figure, summary and runs into a folder, and return the paths, in this order."""
    from sottovoce.report import regret_figure, run_report  # figures are slow to import, and most commands draw none

    folder.mkdir(parents=True, exist_ok=True)
    runs = [one.run for one in played]
    asked, every = every, every[: len(runs)]
    labels = labels_of(every)
    figure = regret_figure(runs, folder / "regret.png", labels=labels)
    names = _file_names(labels)
    paths = [run.save(folder / name) for run, name in zip(runs, names, strict=True)]
    summary = folder / "summary.json"
    entries = [_summary(*entry) for entry in zip(labels, names, every, runs, strict=True)]
    about = {"sottovoce": __version__, "runs": entries, "settings": [asdict(one) for one in asked]}
    content = json.dumps(about, indent=2, default=str)  # a path is its text
    summary.write_text(content + "\n", encoding="utf-8")
    problem = every[0].make_problem()
    report = run_report(
        runs,
        folder / "report.html",
        labels=labels,
        plans=[one.plan for one in played],
        points=[one.point for one in played],
        posteriors=[one.posterior for one in played],
        segments=[one.segments for one in played],
        best=every[0].make_environment().comparator(runs[0].events_finished).point,
        problem=problem,
        command=command,
    )
    return [report, figure, summary, *paths]


def draw_beside(folder: Path, every: list[RunSettings], played: list[Played], beside: list[Played]) -> Path:
    """Draw the same runs in two environments in one figure, in place of that of the first alone."""
    from sottovoce.report import regret_figure

    runs, labels = [one.run for one in played], labels_of(every)
    return regret_figure(runs, folder / "regret.png", labels=labels, beside=[one.run for one in beside])


def _file_names(labels: list[str]) -> list[str]:
    """Return one file name per label, each different."""
    names: list[str] = []
    for label in labels:
        stem = "run-" + re.sub(r"[^a-z0-9.]+", "-", label.lower()).strip("-")
        names.append(stem + (f"-{len(names) + 1}" if f"{stem}.npz" in names else "") + ".npz")
    return names


def _summary(label: str, file: str, settings: RunSettings, run: Run) -> dict[str, Any]:
    return {
        "label": label,
        "file": file,
        "settings": asdict(settings),
        "events": run.events_finished,
        "finished": run.finished,
        "regret": run.final_regret,
        "regret_per_event": run.regret_per_event,
        "no_learning_regret": run.final_no_learning,
        "no_learning_regret_per_event": run.no_learning_per_event,
        "learned": run.learned,
        "details": run.details.to_dict(),
    }
