"""What a study has learned: its recommendation, what is believed, what its rounds released. Released values only."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sottovoce.learning.bandit.recommendation import Recommendation
from sottovoce.learning.bandit.stopping import enough_for
from sottovoce.learning.segmented import SegmentedRecommendation
from sottovoce.models import Posterior
from sottovoce.models.published import quantity
from sottovoce.report.html.parts import (
    Axis,
    Chart,
    Curve,
    Drawing,
    ShownBelief,
    ShownSegments,
    Table,
    draw_decision,
    heads,
    line_chart,
    number,
    show_belief,
    show_segments,
    significant,
)
from sottovoce.service.dashboard.views.overview import Mark
from sottovoce.service.dashboard.views.planned import Planned, planned_of
from sottovoce.studies import History, Study
from sottovoce.studies.history import NO_HISTORY

__all__ = ["Learned", "look_learned"]

_TWO_SIDES = 1.96  # deviations that hold 95%
_BEYOND = 0.25  # of the range of losses: noise can put a mean outside of it, and a chart ends there
_DOUBTFUL = 0.01  # probability, if the model is right, of residuals as large: too small to praise it
_NOTHING = 1e-9  # a loss that is none
_POINTS = 240  # of a line
_ROWS = 200  # of a table

_EACH_ITS_OWN = replace(NO_HISTORY, why="Each segment has rounds of its own: study.history(segment=...).")


@dataclass(frozen=True, slots=True)
class Learned:
    """What a study has learned.

    Attributes
    ----------
    drawing
        The recommendation, as people think of it.
    sure
        How sure it is, and what it rests on: names and texts.
    known
        Whether anything was released yet.
    caution
        What to mind, if the model does not fit.
    alarms
        Of a model that does not fit, and of a world that changed.
    belief
        Charts of the posterior; None where the plan has none.
    no_belief
        Why there is none, in words.
    rounds
        A chart of the released means; None where rounds have none.
    no_rounds
        Why there is none, in words.
    table
        The same means in numbers.
    planned
        The plan, and what became of it.
    history
        To go on from, next time.
    segments
        Of a study with segments: the decision of each, what it gains by it, and whether that pays.
    """

    drawing: Drawing
    sure: tuple[tuple[str, str], ...]
    known: bool
    caution: str
    alarms: tuple[Mark, ...]
    belief: ShownBelief | None
    no_belief: str
    rounds: Chart | None
    no_rounds: str
    table: Table | None
    planned: Planned
    history: History
    segments: ShownSegments | None = None


def look_learned(study: Study, earlier: History | None = None) -> Learned:
    """Return what a study has learned; `earlier` is what its history was when it was last looked at."""
    found, history = study.recommend(), _EACH_ITS_OWN if study.segments is not None else study.history(earlier)
    belief = _belief_of(study)
    plan = study.plan
    low, high = study.loss_range
    shown = None if belief is None else show_belief(belief, found.x, who="this study")
    chart = _rounds_chart(history, found, low, high) if len(history.means) > 1 else None
    return Learned(
        drawing=draw_decision(study.domain, found.x, belief),
        sure=(*_sure(found), ("Enough", str(enough_for(study, 0.95, 0.01, found=found)))),
        known=bool(found.rounds),
        caution=found.caution,
        alarms=tuple(_alarms(found, history)),
        belief=shown,
        no_belief="" if shown else _no_belief(study, bool(found.rounds)),
        rounds=chart,
        no_rounds="" if chart else history.why or "Fewer than two rounds were released so far.",
        table=_rounds_table(history, study.direction) if len(history.means) else None,
        planned=planned_of(plan, belief, found, history),
        history=history,
        segments=_segments(study, found),
    )


def _segments(study: Study, found: Recommendation) -> ShownSegments | None:
    if not isinstance(found, SegmentedRecommendation):
        return None
    return show_segments(found, names=study.domain.coordinate_names)


def _belief_of(study: Study) -> Posterior | None:
    if study.segments is not None:  # one for each
        return None
    try:
        found = study.posterior()
    except ValueError:  # the plan has no model
        return None
    return found if found.rounds else None


def _no_belief(study: Study, known: bool) -> str:
    exploration = study.plan.exploration
    if study.segments is not None and known:
        return "What is believed differs from segment to segment: see the table of segments."
    if exploration not in ("posterior", "items"):
        return f"The plan explores by {exploration}, and has no model of the losses: it believes nothing."
    return "Nothing is believed yet." if known else "Nothing was released yet, so nothing is believed."


def _sure(found: Recommendation) -> Any:
    yield "Rests on", f"{found.rounds:,} released rounds" if found.rounds else "nothing: no round was released yet"
    yield "Why", f"{found.why[0].upper()}{found.why[1:]}"
    if found.loss is not None:
        give_or_take = "" if found.deviation is None else f" ± {significant(_TWO_SIDES * found.deviation, 2)}"
        yield f"Expected {quantity(found.direction)}", f"{significant(found.loss)}{give_or_take} per event (95%)"
    if found.share is not None:
        yield "Still the best in", f"{found.share:.0%} of the worlds that fit what was released"
    if found.shortfall is not None:
        yield "The best may be better by", _shortfall(*found.shortfall)
    if isinstance(found, SegmentedRecommendation):
        yield "How sure", "that differs from segment to segment: see the table of segments"
    elif found.rounds and found.loss is None:
        yield "How sure", "not known: this plan has no model of the losses"


def _shortfall(mean: float, most: float) -> str:
    if mean < _NOTHING:
        return "hardly anything"
    if most < _NOTHING:
        return f"{significant(mean, 2)} per event on average, and nothing in 95% of these worlds"
    return f"{significant(mean, 2)} per event on average, and at most {significant(most, 2)} in 95% of these worlds"


def _alarms(found: Recommendation, history: History) -> Any:
    if found.caution:
        yield Mark("bad", "The model does not fit", f"{found.caution[0].upper()}{found.caution[1:]}.")
    elif found.fit_check is not None and found.rounds:
        words = f"{str(found.fit_check)[0].upper()}{str(found.fit_check)[1:]}."
        if found.fit_check.probability < _DOUBTFUL:
            yield Mark("note", "The model may not fit", f"{words} Watch whether that stays so.")
        else:
            yield Mark("good", "The model fits", words)
    if history.changes and history.changed_at is not None:
        often = "once" if history.changes == 1 else f"{history.changes} times"
        why = f"All that was known was forgotten {often}, last after {history.changed_at:,} events."
        yield Mark("bad", "The world changed", f"{why} What is shown was learned since.")
    elif found.rounds and not history.why:
        yield Mark("good", "No change was noticed", "No round surprised by far more than is usual.")


def _rounds_chart(history: History, found: Recommendation, low: float, high: float) -> Chart:
    """Draw released means over events, with the noise that is in them."""
    room = _BEYOND * (high - low)
    bottom, top = low - room, high + room
    kept = np.unique(np.linspace(0, len(history.means) - 1, _POINTS).astype(int))
    ends, means = history.ends[kept].astype(np.float64), np.clip(history.means[kept], bottom, top)
    bands = np.minimum(_TWO_SIDES * history.deviations[kept], np.minimum(means - bottom, top - means))
    curves = [Curve("mean of a round", ends, means, np.maximum(bands, 0.0), 0)]
    if found.loss is not None:
        curves.append(Curve("expected of the recommendation", ends[[0, -1]], np.full(2, found.loss), colour=2))
    if history.changed_at is not None:
        at = np.full(2, float(history.changed_at))
        curves.append(Curve("the world changed", at, np.array([means.min(), means.max()]), colour=-1))
    told = quantity(found.direction)
    title = f"Released mean {told} of rounds"
    cut = bool((history.means[kept] != means).any() or (bands < _TWO_SIDES * history.deviations[kept] - 1e-12).any())
    caption = (
        f"Each point is the mean {told} of a round as it was released, noise included; the band is what that noise "
        "alone does, 95 times of 100."
        + (f" Band and means are cut off where they leave the {told}'s range by far." if cut else "")
        + (" In green: what is expected of the recommendation." if found.loss is not None else "")
        + (" Grey: where the world was seen to change." if history.changed_at is not None else "")
    )
    drawn = line_chart(curves, Axis("events"), Axis(f"mean {told}", zero=False), title)
    return Chart(title, drawn, caption)


def _rounds_table(history: History, direction: str) -> Table:
    newest = range(len(history.means) - 1, max(-1, len(history.means) - 1 - _ROWS), -1)
    rows = tuple(
        (
            number(int(history.rounds[i])),
            number(int(history.ends[i])),
            number(float(history.means[i])),
            number(float(_TWO_SIDES * history.deviations[i])),
        )
        for i in newest
    )
    left_out = "" if len(rows) == history.seen else f" The newest {len(rows):,} of {history.seen:,}."
    words = heads(["round", "up to event", f"released mean {quantity(direction)}", "noise, 95%"], 0)
    return Table("rounds-table", f"Released rounds, the newest first.{left_out}", words, rows)
