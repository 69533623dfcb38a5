"""What a study has learned: its recommendation, what is believed, what its rounds released. Released values only."""

from typing import Any

import numpy as np

from sottovoce._arrays import Floats
from sottovoce.learning.recommendation import Recommendation
from sottovoce.learning.stopping import enough_for
from sottovoce.models import Posterior, segment_text
from sottovoce.models.published import quantity
from sottovoce.report._charts import Axis, Curve, line_chart
from sottovoce.report.html._beliefs import show_belief
from sottovoce.report.html._drawings import draw_decision
from sottovoce.report.html._segments import by_size, show_segments
from sottovoce.report.html.pieces import Chart, Mark
from sottovoce.report.numbers import TWO_SIDES, sentence
from sottovoce.studies import History, Study

_BEYOND = 0.25  # of the range of losses: noise can put a mean outside of it, and a chart ends there
_DOUBTFUL = 0.01  # probability, if the model is right, of residuals as large: too small to praise it
_POINTS = 240  # of a line
_SEGMENTS = 6  # whose beliefs and rounds are drawn, the largest first
_SHOWN = ("why", "loss", "reward", "items", "how sure")  # of the rows that a recommendation prints

Histories = dict[Any, History]
"""By segment; of a study without segments, that of None."""


def look_learned(study: Study) -> dict[str, Any]:
    """Return what a study has learned, for `learned.html`.

    `drawing` is the recommendation as people think of it, `sure` says how
    sure it is, `alarms` tell of a model that does not fit, and of a world that changed; `beliefs` are charts of
    posteriors, of the study or of its largest segments by their names; `rounds` is a chart of the released means.
    """
    found = study.recommend()
    whose = [None] if found.segments is None else by_size(found.segments)[:_SEGMENTS]  # None: no segments
    histories = {one: study.history(segment=one) for one in whose}
    beliefs = {one: known for one in whose if (known := _belief_of(study, one)) is not None}
    shown = [
        (_called(one), show_belief(known, _best(found, one), who="this study" if one is None else _called(one)))
        for one, known in beliefs.items()
    ]
    said = [(sentence(name), sentence(text)) for name, text in found.rows if name in _SHOWN]
    rests = f"{found.rounds:,} released rounds" if found.rounds else "nothing: no round was released yet"
    chart, plan = _rounds_chart(histories, found, *study.loss_range), study.plan
    return {
        "drawing": draw_decision(study.domain, found.x),
        "sure": [("Rests on", rests), *said, ("Enough", str(enough_for(study, 0.95, 0.01, found=found)))],
        "known": bool(found.rounds),
        "alarms": list(_alarms(found, histories)),
        "segments": show_segments(found, names=study.domain.coordinate_names),
        "beliefs": shown,
        "no_belief": "" if shown else _no_belief(study, bool(found.rounds)),
        "rounds": chart,
        "no_rounds": "" if chart else _no_rounds(histories),
        "forecast": () if plan.forecast is None else plan.forecast.rows,
        "plan": plan.rows,
        "histories": histories,
    }


def _called(segment: Any) -> str:
    return "" if segment is None else segment_text(segment)


def _best(found: Recommendation, segment: Any) -> Floats:
    return found.x if segment is None else found[segment].x


def _belief_of(study: Study, segment: Any) -> Posterior | None:
    try:
        found = study.posterior(segment=segment)
    except ValueError:  # the plan has no model
        return None
    return found if found.rounds else None


def _no_belief(study: Study, known: bool) -> str:
    exploration = study.plan.exploration
    if exploration not in ("posterior", "items"):
        return f"The plan explores by {exploration}, and has no model of the losses: it believes nothing."
    return "Nothing is believed yet." if known else "Nothing was released yet, so nothing is believed."


def _no_rounds(histories: Histories) -> str:
    why = next((one.why for one in histories.values() if one.why), "fewer than two rounds were released so far")
    return f"{sentence(why).rstrip('.')}."


def _alarms(found: Recommendation, histories: Histories) -> Any:
    each = [found] if found.segments is None else list(found.segments.values())
    cautions = dict.fromkeys(one.caution for one in each if one.caution)
    checks = [one.fit_check for one in each if one.fit_check is not None and one.rounds]
    if cautions:
        for caution in cautions:
            yield Mark("bad", "The model does not fit", f"{sentence(caution)}.")
    elif checks:
        worst = min(checks, key=lambda one: one.probability)
        words = f"{sentence(worst)}."
        if worst.probability < _DOUBTFUL / len(checks):
            yield Mark("note", "The model may not fit", f"{words} Watch whether that stays so.")
        else:
            yield Mark("good", "The model fits", words)
    changed = {whose: one for whose, one in histories.items() if one.changes and one.changed_at is not None}
    for whose, one in changed.items():
        often = "once" if one.changes == 1 else f"{one.changes} times"
        of_whom = "" if whose is None else f" of {segment_text(whose)}"
        why = f"All that was known{of_whom} was forgotten {often}, last after {one.changed_at:,} events."
        yield Mark("bad", "The world changed", f"{why} What is shown was learned since.")
    if not changed and found.rounds and not any(one.why for one in histories.values()):
        yield Mark("good", "No change was noticed", "No round surprised by far more than is usual.")


def _rounds_chart(histories: Histories, found: Recommendation, low: float, high: float) -> Chart | None:
    """Draw released means over events, with the noise that is in them; a line for each segment."""
    drawn = {whose: one for whose, one in histories.items() if len(one.means) > 1}
    if not drawn:
        return None
    told, curves, cut = quantity(found.direction), list[Curve](), False
    for colour, (whose, one) in enumerate(drawn.items()):
        line, shortened = _line(one, low, high, _called(whose) or "mean of a round", 0 if whose is None else colour)
        curves.append(line)
        cut = cut or shortened
    alone = drawn.get(None)
    if alone is not None:
        ends = curves[0].x
        if found.loss is not None:
            curves.append(Curve("expected of the recommendation", ends[[0, -1]], np.full(2, found.loss), colour=2))
        if alone.changed_at is not None:
            at = np.full(2, float(alone.changed_at))
            curves.append(Curve("the world changed", at, np.array([curves[0].y.min(), curves[0].y.max()]), colour=-1))
    title = f"Released mean {told} of rounds" + ("" if alone is not None else ", by segment")
    caption = (
        f"Each point is the mean {told} of a round as it was released, noise included; the band is what that noise "
        "alone does, 95 times of 100."
        + (f" Band and means are cut off where they leave the {told}'s range by far." if cut else "")
        + (" In green: what is expected of the recommendation." if alone is not None and found.loss is not None else "")
        + (" Grey: where the world was seen to change." if alone is not None and alone.changed_at is not None else "")
        + ("" if alone is not None else f" Lines, in their order: {', '.join(one.name for one in curves)}.")
    )
    return Chart(title, line_chart(curves, Axis("events"), Axis(f"mean {told} per event", zero=False), title), caption)


def _line(history: History, low: float, high: float, name: str, colour: int) -> tuple[Curve, bool]:
    """Return the line of a history, and whether it had to be cut off where it leaves the range by far."""
    room = _BEYOND * (high - low)
    bottom, top = low - room, high + room
    kept = np.unique(np.linspace(0, len(history.means) - 1, _POINTS).astype(int))
    ends, means = history.ends[kept].astype(np.float64), np.clip(history.means[kept], bottom, top)
    noise = TWO_SIDES * history.deviations[kept]
    bands = np.minimum(noise, np.minimum(means - bottom, top - means))
    cut = bool((history.means[kept] != means).any() or (bands < noise - 1e-12).any())
    return Curve(name, ends, means, np.maximum(bands, 0.0), colour), cut
