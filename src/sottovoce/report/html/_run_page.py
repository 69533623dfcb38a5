"""The page of one run, or of a few runs in one environment."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sottovoce._arrays import Vector
from sottovoce.lab import Run
from sottovoce.lab.problems import DecisionProblem
from sottovoce.privacy import Promise
from sottovoce.report._charts import Axis, Curve, line_chart, swatch
from sottovoce.report._per_event import per_event
from sottovoce.report._promises import plain_words
from sottovoce.report._regret_figure import labelled_runs
from sottovoce.report.html._beliefs import show_belief
from sottovoce.report.html._drawings import decide
from sottovoce.report.html._segments import show_segments
from sottovoce.report.html.page import write_page
from sottovoce.report.html.pieces import Chart, Table, Tile, table
from sottovoce.report.numbers import sentence, significant

_BARE = (
    "Nobody is protected here: there is no noise, or it is simulated from a seed, so that the run can be repeated, and "
    "whoever knows the seed knows the losses."
)


class _ShownRun(NamedTuple):
    """A run, and the optimizer that played it, if it is known."""

    label: str
    run: Run
    optimizer: Any


def run_report(
    runs: Run | Sequence[Run],
    path: str | os.PathLike[str],
    *,
    labels: Sequence[str] | None = None,
    optimizers: Sequence[Any] | None = None,
    problem: DecisionProblem | None = None,
    command: str = "",
) -> Path:
    """Write one HTML page about a run, or a few runs in one environment.

    Parameters
    ----------
    runs : Run or sequence of Run
        The first is the one that the page is about; the others are compared with it.
    path : path
        Of the page.
    labels : sequence of str, optional
        One per run; by default its privacy.
    optimizers : sequence of optimizers, optional
        One per run, which has played it: what they decided at the end is drawn, what they believe, and what their plans
        said.
    problem : DecisionProblem, optional
        What the runs are of: its story is told, its best fixed decision drawn, and its network on its map.
    command : str
        The command line that redoes it.

    Returns
    -------
    Path
        Where the page is.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import sottovoce as sv
    >>> from sottovoce.report import run_report
    >>> environment = sv.lab.MovingTarget(sv.domains.Ball(3))
    >>> optimizer = sv.PrivateBandit(
    ...     environment.domain, horizon=1_000, loss_range=environment.loss_range, privacy=sv.NoPrivacy(), seed=1
    ... )
    >>> run = sv.lab.simulate(optimizer, environment)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "report.html"
    ...     page = run_report(run, path, optimizers=[optimizer])
    ...     print(page.name, "never learning" in page.read_text())
    report.html True
    """
    every, names = labelled_runs(runs, labels)
    known = [None] * len(every) if optimizers is None else list(optimizers)
    if len(known) != len(every):
        raise ValueError(f"optimizers must be as many as runs, got {len(known)} for {len(every)}")
    entries = [_ShownRun(*row) for row in zip(names, every, known, strict=True)]
    return write_page(path, "run.html", _content(entries, problem, command))


def _content(entries: list[_ShownRun], problem: DecisionProblem | None, command: str) -> dict[str, Any]:
    first = entries[0]
    decision, segments, belief = (None, None, None) if first.optimizer is None else _learned(first, problem)
    details, simulated = first.run.details, any(one.run.details.simulated_noise for one in entries)
    contents = [
        ("regret", "Regret"),
        *([("decision", "What was decided")] if decision else []),
        *([("segments-shown", "Segment by segment")] if segments else []),
        *([("belief", "What is believed")] if belief else []),
        ("privacy", "What is promised"),
        ("details", "What was run"),
        ("again", "Do it again"),
    ]
    return {
        "title": problem.title if problem else f"Regret over {first.run.events_finished:,} events",
        "lead": _lead(entries, problem),
        "banner": "" if Promise(details.guarantee, simulated).private else _BARE,
        "tiles": _tiles_of(entries),
        "contents": contents,
        "legend": [*((swatch(i), one.label) for i, one in enumerate(entries)), (swatch(-1), "never learning")],
        "figure": _figure_of(entries),
        "runs": _table_of(entries),
        "decision": decision,
        "segments": segments,
        "belief": belief,
        "compared": "the fixed decision that is best in hindsight"
        if first.run.segments is None
        else "the decisions that are best in hindsight, one for each segment",
        "promise": sentence(details.privacy_headline),
        "imitated": details.simulated_noise,
        "statement": (*plain_words(details.guarantee), *details.privacy_rows),
        "plans": [(one.label, one.run.details.plan_rows) for one in entries],
        "details": _details(entries),
        "command": command,
        "again": "With a seed and simulated noise it gives the same figures again; real noise differs every time.",
    }


def _learned(first: _ShownRun, problem: DecisionProblem | None) -> tuple[Any, Any, Any]:
    """Return the last decision, what is recommended to segments, and what is believed of the losses."""
    optimizer, who = first.optimizer, first.label
    segments, belief = None, None
    if getattr(optimizer, "segments", None) is not None:
        found = optimizer.recommend()
        point = found.x
        segments = show_segments(found, names=optimizer.domain.labels, who=who)
    else:
        point = optimizer.point
        if hasattr(optimizer, "fit_check") and optimizer.fit_check() is not None:  # a baseline has no model
            belief = show_belief(optimizer.posterior(), point, who=who)
    best, places = None, None
    if problem is not None:
        best, places = problem.environment.comparator(first.run.events_finished).point, problem.places
    return decide(optimizer.domain, point, best, who=who, places=places), segments, belief


def _lead(entries: list[_ShownRun], problem: DecisionProblem | None) -> list[str]:
    run = entries[0].run
    count = "One simulated run" if len(entries) == 1 else f"{len(entries)} simulated runs"
    words = (
        f"{count} of {run.details.horizon:,} events in {run.details.environment}; regret is computed from true losses, "
        "which only a simulation has."
    )
    if not all(one.run.finished for one in entries):
        words += " Interrupted before the end."
    return [*([problem.story] if problem else []), words]


def _details(entries: list[_ShownRun]) -> list[tuple[str, str]]:
    details = entries[0].run.details
    return [
        ("Environment", details.environment),
        ("Feasible set", details.domain),
        ("Events", f"{details.horizon:,}"),
        ("Seed", "from the operating system" if details.seed is None else str(details.seed)),
        ("Best decision", f"known to within {significant(details.certificate)} per event"),
    ]


# ---------------------------------------------------------------------- headline numbers, charts, tables


def _tiles_of(entries: list[_ShownRun]) -> list[Tile]:
    """Return the headline numbers."""
    first = entries[0]
    run = first.run
    tiles = []
    if run.no_learning_per_event > 1e-9:
        share = 1 - run.final_regret / run.final_no_learning
        words = "of what the best fixed decision gains over never learning"
        if share < 0:
            words = f"the regret is {1 - share:.1f} times that of never learning"
        tiles.append(Tile("Learned", f"{share:.0%}" if share >= 0 else "nothing", words))
    tiles.append(
        Tile(
            "Regret per event",
            significant(run.regret_per_event),
            f"{first.label}; never learning loses {significant(run.no_learning_per_event)}",
        )
    )
    return tiles


def _figure_of(entries: list[_ShownRun]) -> Chart:
    """Return the regret per event."""
    longest = max((one.run for one in entries), key=lambda run: run.events_finished)
    lines = [_each(one.label, one.run, one.run.regret, number) for number, one in enumerate(entries)]
    lines.append(_each("never learning", longest, longest.no_learning, -1))
    below = any(np.any(line.y <= 0) for line in lines)
    note = " Below zero less was lost than by any fixed decision: the world changed." if below else ""
    said = "Regret per event so far, on logarithmic axes"
    return Chart(
        "Per event",
        line_chart(lines, Axis("events", log=True), Axis("regret per event", signed=True), said),
        f"What was lost per event so far, on logarithmic axes: a straight line is a power of the events.{note}",
    )


def _each(name: str, run: Run, regret: Vector, colour: int) -> Curve:
    x, y = per_event(run.events, regret)
    kept = np.unique(np.geomspace(1, len(x), min(160, len(x))).round().astype(int)) - 1
    return Curve(name, x[kept], y[kept], colour=colour)


def _table_of(entries: list[_ShownRun]) -> Table:
    """Return what came of each run."""
    return table(
        "runs",
        "What came of each run.",
        entries,
        {
            "run": lambda one: one.label + ("" if one.run.finished else " (interrupted)"),
            "events": lambda one: one.run.events_finished,
            "regret per event": lambda one: one.run.regret_per_event,
            "never learning per event": lambda one: one.run.no_learning_per_event,
            "rounds": lambda one: one.run.details.rounds,
            "seconds": lambda one: one.run.details.seconds,
        },
    )
