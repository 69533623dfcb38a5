"""The page of one run, or of a few runs in one environment."""

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sottovoce._arrays import Vector
from sottovoce.lab.grouping import gather
from sottovoce.lab.problems import DecisionProblem
from sottovoce.lab.simulation import Run
from sottovoce.learning import Plan
from sottovoce.learning.segmented import SegmentedRecommendation
from sottovoce.models import Posterior
from sottovoce.report._charts import Axis, Curve, line_chart, swatch
from sottovoce.report._palette import run_colours
from sottovoce.report._per_event import per_event
from sottovoce.report._promises import Promise, Rows, budget_words, plan_rows, promise_of_run, statement_rows
from sottovoce.report.html._beliefs import show_belief
from sottovoce.report.html._drawings import decide, plain_point
from sottovoce.report.html._segments import ShownSegments, show_segments
from sottovoce.report.html.page import write_page
from sottovoce.report.html.pieces import Chart, Table, Tile, number, table
from sottovoce.report.numbers import significant


@dataclass(frozen=True, slots=True)
class _ShownRun:
    """A run with what else is known of it."""

    label: str
    run: Run
    plan: Plan | None
    point: Vector | None
    posterior: Posterior | None = None
    segments: SegmentedRecommendation | None = None

    @property
    def promise(self) -> Promise:
        """What is promised."""
        return promise_of_run(self.run.details)

    @property
    def without_privacy(self) -> bool:
        """Whether nothing is promised at all."""
        guarantee = self.run.details.guarantee
        return guarantee is not None and not guarantee.private

    @property
    def predicted(self) -> float:
        """The plan's bound per event; NaN if there is none, or if the run was cut short."""
        return math.nan if self.plan is None or not self.run.finished else self.plan.bound / self.plan.horizon


def run_report(
    runs: Run | Sequence[Run],
    path: str | os.PathLike[str],
    *,
    labels: Sequence[str] | None = None,
    plans: Sequence[Plan | None] | None = None,
    points: Sequence[Vector | None] | None = None,
    posteriors: Sequence[Posterior | None] | None = None,
    segments: Sequence[SegmentedRecommendation | None] | None = None,
    best: Vector | None = None,
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
    plans : sequence of Plan or None, optional
        One per run: what was predicted.
    points : sequence of array or None, optional
        One per run: the last decision.
    posteriors : sequence of Posterior or None, optional
        One per run: what is believed at its end, where the plan has a model of the losses.
    segments : sequence of SegmentedRecommendation or None, optional
        One per run: what is recommended at its end for all segments and for each, where there are any.
    best : array, optional
        The best fixed point in hindsight; by default the comparator of the problem.
    problem : DecisionProblem, optional
        Whose decision is drawn; without it the point is shown coordinate by coordinate.
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
    ...     page = run_report(run, path, plans=[optimizer.plan], points=[optimizer.point])
    ...     print(page.name, "never learning" in page.read_text())
    report.html True
    """
    every = [runs] if isinstance(runs, Run) else list(runs)
    if not every:
        raise ValueError("runs must hold at least one run")
    if not all(run.events_finished for run in every):
        raise ValueError("runs must hold runs of at least one event: nothing is known of a run that never began")
    names = [run.details.privacy_headline for run in every] if labels is None else list(labels)
    plans = [None] * len(every) if plans is None else plans
    points = [None] * len(every) if points is None else points
    posteriors = [None] * len(every) if posteriors is None else posteriors
    segments = [None] * len(every) if segments is None else segments
    counts = {"labels": len(names), "plans": len(plans), "points": len(points)}
    counts |= {"posteriors": len(posteriors), "segments": len(segments)}
    for name, count in counts.items():
        if count != len(every):
            raise ValueError(f"{name} must be as many as runs, got {count} for {len(every)}")
    entries = [_ShownRun(*row) for row in zip(names, every, plans, points, posteriors, segments, strict=True)]
    return write_page(path, "run.html", _content(entries, best, problem, command))


def _content(
    entries: list[_ShownRun], best: Vector | None, problem: DecisionProblem | None, command: str
) -> dict[str, Any]:
    first = entries[0]
    decision = _decision(first, best, problem)
    belief = None if first.posterior is None else show_belief(first.posterior, first.point, who=first.label)
    segments = _segments(first, problem)
    contents = [
        ("regret", "Regret"),
        *([("decision", "What was decided")] if decision else []),
        *([("segments-shown", "Segment by segment")] if segments else []),
        *([("belief", "What is believed")] if belief else []),
        ("privacy", "What is promised"),
        ("plan", "Planned and happened"),
        ("details", "What was run"),
        ("again", "Do it again"),
    ]
    return {
        "title": problem.title if problem else f"Regret over {first.run.events_finished:,} events",
        "lead": _lead(entries, problem),
        "banner": _banner(entries),
        "tiles": _tiles_of(entries),
        "contents": contents,
        "legend": _legend_of(entries),
        "figure": _figure_of(entries),
        "runs": _table_of(entries),
        "decision": decision,
        "segments": segments,
        "belief": belief,
        "compared": "the fixed decision that is best in hindsight"
        if first.run.segments is None
        else "the decisions that are best in hindsight, one for each segment",
        "promises": _promises(entries),
        "predictions": _predictions_of(entries),
        "plans": [(one.label, plan_rows(one.run.details)) for one in entries],
        "details": _details(entries),
        "command": command,
        "again": _again(entries),
    }


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


def _banner(entries: list[_ShownRun]) -> str:
    simulated = [one.label for one in entries if one.run.details.simulated_noise]
    if simulated:
        return (
            f"The noise was simulated from a seed ({'; '.join(simulated)}), so that the run can be repeated. Whoever "
            "knows the seed knows the losses. The page shows what privacy would cost, and protects nobody."
        )
    if all(one.promise.private is False for one in entries):
        return "No noise was added: the decisions show the losses they were made from."
    if any(one.promise.private is None for one in entries):
        return "Nobody is known to be protected: what was promised is only in the statements below. Read them."
    return ""


def _promises(entries: list[_ShownRun]) -> list[tuple[str, Promise, list[tuple[str, Rows]]]]:
    """Return each promise once, with the runs that it holds for and their full statements."""
    found = []
    for under in gather(entries, lambda one: one.promise).values():
        statements = [(one.label, statement_rows(one.run.details)) for one in under]
        found.append(("; ".join(one.label for one in under), under[0].promise, statements))
    return found


def _decision(first: _ShownRun, best: Vector | None, problem: DecisionProblem | None) -> Any:
    if first.point is None:
        return None
    if problem is None:
        names = None if first.posterior is None else first.posterior.labels
        return plain_point(first.point, best, who=first.label, said=first.run.details.decision, names=names)
    if best is None:
        best = problem.environment.comparator(first.run.events_finished).point
    return decide(problem, first.point, best, who=first.label)


def _segments(first: _ShownRun, problem: DecisionProblem | None) -> ShownSegments | None:
    if first.segments is None:
        return None
    names = None if problem is None else problem.domain.labels
    return show_segments(first.segments, names=names, who=first.label, scores=first.run.segments)


def _details(entries: list[_ShownRun]) -> list[tuple[str, str]]:
    details = entries[0].run.details
    return [
        ("Environment", details.environment),
        ("Feasible set", details.domain),
        ("Events", f"{details.horizon:,}"),
        ("Seed", "from the operating system" if details.seed is None else str(details.seed)),
        ("Best decision", f"known to within {significant(details.certificate)} per event"),
    ]


def _again(entries: list[_ShownRun]) -> str:
    details = [one.run.details for one in entries]
    if any(one.seed is None for one in details):
        return "The public coins came from the operating system: another run differs."
    if any(promise_of_run(one).private is not False for one in details):
        return "The noise is real, and differs every time: another run gives similar figures, not the same."
    return "It gives the same figures again, except for the times."


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
    free = _without_privacy(entries)
    if free is not None and not first.without_privacy:
        price = _price(first, free)
        if not math.isnan(price):
            tiles.insert(
                0,
                Tile(
                    f"At {budget_words(run.details.guarantee)} the price of privacy is",
                    f"{price:.2f}×",
                    "the regret without privacy, in one run each",
                ),
            )
    return tiles


def _without_privacy(entries: list[_ShownRun]) -> _ShownRun | None:
    return next((one for one in entries if one.without_privacy), None)


def _price(one: _ShownRun, free: _ShownRun | None) -> float:
    """Regret relative to that without privacy; NaN where there is nothing to compare with."""
    if free is None or not (one.run.finished and free.run.finished) or free.run.final_regret <= 0:
        return math.nan
    return one.run.final_regret / free.run.final_regret


def _legend_of(entries: list[_ShownRun]) -> list[tuple[str, str]]:
    """Return keys and names of the lines."""
    keys = zip(_colours(entries), entries, strict=True)
    return [*((swatch(number), one.label) for number, one in keys), (swatch(-1), "never learning")]


def _colours(entries: list[_ShownRun]) -> list[int]:
    return run_colours([one.run for one in entries])


def _figure_of(entries: list[_ShownRun]) -> Chart:
    """Return the regret per event."""
    longest = max((one.run for one in entries), key=lambda run: run.events_finished)
    keys = zip(_colours(entries), entries, strict=True)
    lines = [_each(one.label, one.run, one.run.regret, number) for number, one in keys]
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
    free = _without_privacy(entries)
    return table(
        "runs",
        "What came of each run. Against no privacy: regret relative to that of the run without it.",
        entries,
        {
            "run": lambda one: one.label + ("" if one.run.finished else " (interrupted)"),
            "events": lambda one: one.run.events_finished,
            "regret": lambda one: one.run.final_regret,
            "regret per event": lambda one: one.run.regret_per_event,
            "never learning per event": lambda one: one.run.no_learning_per_event,
            "against no privacy": lambda one: number(_price(one, free), times=True),
            "rounds": lambda one: one.run.details.rounds,
            "oracle calls": lambda one: one.run.details.oracle_calls,
            "seconds": lambda one: one.run.details.seconds,
        },
    )


def _predictions_of(entries: list[_ShownRun]) -> Any:
    """Return what plans said against what happened; None if none said anything."""
    told = [(one, one.plan) for one in entries if one.plan is not None and math.isfinite(one.predicted)]
    if not told:
        return None
    words = (
        "Before the first event the plan states a bound on the regret, for the worst losses it was told to expect. "
        "What happens is usually well below it."
    )
    found = table(
        "predictions",
        "The plan's prediction against what happened",
        told,
        {
            "run": lambda one: one[0].label,
            "the plan said": lambda one: "of the order of" if one[1].order_only else "at most",
            "predicted per event": lambda one: one[0].predicted,
            "happened per event": lambda one: one[0].run.regret_per_event,
            "happened / predicted": lambda one: number(one[0].run.regret_per_event / one[0].predicted, times=True),
        },
    )
    return {"words": words, "table": found}
