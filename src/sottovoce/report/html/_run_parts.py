"""Parts of the page of a run: headline numbers, charts, tables."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from sottovoce._arrays import Vector
from sottovoce.lab.simulation import Run
from sottovoce.learning import Plan
from sottovoce.learning.segmented import SegmentedRecommendation
from sottovoce.models import Posterior
from sottovoce.report._charts import Axis, Curve, line_chart, swatch
from sottovoce.report._palette import run_colours
from sottovoce.report._per_event import per_event
from sottovoce.report._promises import Promise, budget_words, promise_of_run
from sottovoce.report.html.pieces import Chart, Table, Tile, number, table
from sottovoce.report.numbers import significant


@dataclass(frozen=True, slots=True)
class ShownRun:
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


def tiles_of(entries: list[ShownRun]) -> list[Tile]:
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
    promised = first.plan is not None and not (first.plan.order_only or first.plan.vacuous)
    if promised and math.isfinite(first.predicted):
        tiles.append(_bound_tile(first))
    return tiles


def _bound_tile(first: ShownRun) -> Tile:
    """Say what the plan promised before the first event, and how much of it came true."""
    happened = first.run.regret_per_event
    share = f"{happened / first.predicted:.0%} of that" if happened > 0 else "less than nothing"
    return Tile(
        "At worst, the plan promised, at most",
        significant(first.predicted),
        f"lost per event beyond the best fixed decision. It came to {significant(happened)}: {share}.",
    )


def _without_privacy(entries: list[ShownRun]) -> ShownRun | None:
    return next((one for one in entries if one.without_privacy), None)


def _price(one: ShownRun, free: ShownRun | None) -> float:
    """Regret relative to that without privacy; NaN where there is nothing to compare with."""
    if free is None or not (one.run.finished and free.run.finished) or free.run.final_regret <= 0:
        return math.nan
    return one.run.final_regret / free.run.final_regret


def legend_of(entries: list[ShownRun]) -> list[tuple[str, str]]:
    """Return keys and names of the lines."""
    keys = zip(_colours(entries), entries, strict=True)
    return [*((swatch(number), one.label) for number, one in keys), (swatch(-1), "never learning")]


def _colours(entries: list[ShownRun]) -> list[int]:
    return run_colours([one.run for one in entries])


def figures_of(entries: list[ShownRun]) -> list[Chart]:
    """Return the regret per event, and in all."""
    longest = max((one.run for one in entries), key=lambda run: run.events_finished)
    keys = zip(_colours(entries), entries, strict=True)
    shown = [(one.label, one.run, one.run.regret, number) for number, one in keys]
    shown.append(("never learning", longest, longest.no_learning, -1))
    each = [_each(*one) for one in shown]
    total = [_total(*one) for one in shown]
    below = any(np.any(line.y <= 0) for line in each)
    note = " Below zero less was lost than by any fixed decision: the world changed." if below else ""
    return [
        Chart(
            "Per event",
            line_chart(
                each,
                Axis("events", log=True),
                Axis("regret per event", signed=True),
                "Regret per event so far, on logarithmic axes",
            ),
            f"What was lost per event so far, on logarithmic axes: a straight line is a power of the events.{note}",
        ),
        Chart(
            "In all",
            line_chart(total, Axis("events"), Axis("cumulative regret"), "Cumulative regret over events"),
            "The same added up: what learns lies close to the bottom wherever something beside it does not.",
        ),
    ]


def _each(name: str, run: Run, regret: Vector, colour: int) -> Curve:
    x, y = per_event(run.events, regret)
    kept = np.unique(np.geomspace(1, len(x), min(160, len(x))).round().astype(int)) - 1
    return Curve(name, x[kept], y[kept], colour=colour)


def _total(name: str, run: Run, regret: Vector, colour: int) -> Curve:
    kept = np.unique(np.linspace(0, len(run.events) - 1, 160).astype(int))
    return Curve(name, np.append(0.0, run.events[kept]), np.append(0.0, regret[kept]), colour=colour)


def table_of(entries: list[ShownRun]) -> Table:
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


def predictions_of(entries: list[ShownRun]) -> Any:
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
