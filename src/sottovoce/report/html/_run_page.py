"""The page of one run, or of a few runs in one environment."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sottovoce._arrays import Vector
from sottovoce.lab.grouping import gather
from sottovoce.lab.problems import DecisionProblem
from sottovoce.lab.simulation import Run
from sottovoce.learning import Plan
from sottovoce.learning.segmented import SegmentedRecommendation
from sottovoce.models import Posterior
from sottovoce.report._promises import Promise, Rows, plan_rows, promise_of_run, statement_rows
from sottovoce.report.html._beliefs import show_belief
from sottovoce.report.html._decisions import decide, plain_point
from sottovoce.report.html._run_parts import ShownRun, figures_of, legend_of, predictions_of, table_of, tiles_of
from sottovoce.report.html._segments import ShownSegments, show_segments
from sottovoce.report.html.page import write_page
from sottovoce.report.numbers import significant


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
    entries = [ShownRun(*row) for row in zip(names, every, plans, points, posteriors, segments, strict=True)]
    return write_page(path, "run.html", _content(entries, best, problem, command))


def _content(
    entries: list[ShownRun], best: Vector | None, problem: DecisionProblem | None, command: str
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
        "tiles": tiles_of(entries),
        "contents": contents,
        "legend": legend_of(entries),
        "figures": figures_of(entries),
        "runs": table_of(entries),
        "decision": decision,
        "segments": segments,
        "belief": belief,
        "compared": "the fixed decision that is best in hindsight"
        if first.run.segments is None
        else "the decisions that are best in hindsight, one for each segment",
        "promises": _promises(entries),
        "predictions": predictions_of(entries),
        "plans": [(one.label, plan_rows(one.run.details)) for one in entries],
        "details": _details(entries),
        "command": command,
        "again": _again(entries),
    }


def _lead(entries: list[ShownRun], problem: DecisionProblem | None) -> list[str]:
    run = entries[0].run
    count = "One simulated run" if len(entries) == 1 else f"{len(entries)} simulated runs"
    words = (
        f"{count} of {run.details.horizon:,} events in {run.details.environment}; regret is computed from true losses, "
        "which only a simulation has."
    )
    if not all(one.run.finished for one in entries):
        words += " Interrupted before the end."
    return [*([problem.story] if problem else []), words]


def _banner(entries: list[ShownRun]) -> str:
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


def _promises(entries: list[ShownRun]) -> list[tuple[str, Promise, list[tuple[str, Rows]]]]:
    """Return each promise once, with the runs that it holds for and their full statements."""
    found = []
    for under in gather(entries, lambda one: one.promise).values():
        statements = [(one.label, statement_rows(one.run.details)) for one in under]
        found.append(("; ".join(one.label for one in under), under[0].promise, statements))
    return found


def _decision(first: ShownRun, best: Vector | None, problem: DecisionProblem | None) -> Any:
    if first.point is None:
        return None
    if problem is None:
        names = None if first.posterior is None else first.posterior.labels
        return plain_point(first.point, best, who=first.label, said=first.run.details.decision, names=names)
    if best is None:
        best = problem.environment.comparator(first.run.events_finished).point
    return decide(problem, first.point, best, who=first.label)


def _segments(first: ShownRun, problem: DecisionProblem | None) -> ShownSegments | None:
    if first.segments is None:
        return None
    names = None if problem is None else problem.domain.labels
    return show_segments(first.segments, names=names, who=first.label, scores=first.run.segments)


def _details(entries: list[ShownRun]) -> list[tuple[str, str]]:
    details = entries[0].run.details
    return [
        ("Environment", details.environment),
        ("Feasible set", details.domain),
        ("Events", f"{details.horizon:,}"),
        ("Seed", "from the operating system" if details.seed is None else str(details.seed)),
        ("Best decision", f"known to within {significant(details.certificate)} per event"),
    ]


def _again(entries: list[ShownRun]) -> str:
    details = [one.run.details for one in entries]
    if any(one.seed is None for one in details):
        return "The public coins came from the operating system: another run differs."
    if any(promise_of_run(one).private is not False for one in details):
        return "The noise is real, and differs every time: another run gives similar figures, not the same."
    return "It gives the same figures again, except for the times."
