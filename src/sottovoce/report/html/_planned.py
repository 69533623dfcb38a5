"""The plan and its forecast, against what happened: as far as released values say."""

import math
from dataclasses import dataclass
from operator import itemgetter

import numpy as np

from sottovoce._arrays import Vector
from sottovoce.learning import Plan
from sottovoce.learning.bandit.recommendation import Recommendation
from sottovoce.models import Posterior
from sottovoce.models.published import quantity
from sottovoce.report.html.pieces import Table, table
from sottovoce.report.numbers import significant
from sottovoce.studies import History

_TWO_SIDES = 1.96


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan beside what became of it.

    Attributes
    ----------
    words
        Whether there is a forecast, and how what happened is known.
    table
        What was forecast, and what happened; None if nothing can be compared yet.
    forecast, rows
        Of the forecast, and of the plan: names and texts.
    """

    words: str
    table: Table | None
    forecast: tuple[tuple[str, str], ...]
    rows: tuple[tuple[str, str], ...]


def planned_of(
    plan: Plan, middle: Vector, belief: Posterior | None, found: Recommendation, history: History
) -> Planned:
    """Compare a plan with what happened; whoever never learns plays the `middle` of the set."""
    rows = _compared(plan, middle, belief, found, history)
    words = (
        "What happened is estimated from released values alone; true losses are not kept."
        if plan.forecast is not None
        else 'This study was created without a forecast; with "rehearse": true the service makes one, and the command '
        '"sottovoce plan" does. What happened is estimated from released values alone.'
    )
    columns = {"what": itemgetter(0), "planned or forecast": itemgetter(1), "so far": itemgetter(2)}
    compared = table("planned-table", "Planned, and so far", rows, columns) if rows else None
    shown = () if plan.forecast is None else plan.forecast.rows
    return Planned(words, compared, shown, plan.rows)


def _compared(
    plan: Plan, middle: Vector, belief: Posterior | None, found: Recommendation, history: History
) -> list[tuple[str, str, str]]:
    """Return what is compared, what was planned of it, and what happened."""
    if not len(history.means):
        return []
    rows = [("events", f"{plan.horizon:,}", f"{int(history.ends[-1]):,} in released rounds")]
    mean, deviation = _mean_so_far(history)
    told = quantity(found.direction)
    rows.append((f"mean {told} per event", "", _give_or_take(mean, deviation)))
    if belief is None or found.loss is None:
        return rows
    never, unsure = belief.predict(middle)
    rows.append((f"{told} per event of never learning", "", _give_or_take(never, unsure or 0.0)))
    rows.append((f"{told} per event of the recommendation", "", _give_or_take(found.loss, found.deviation or 0.0)))
    forecast = "" if plan.forecast is None else plan.forecast.learned.words(lambda one: f"{one:.0%}")
    sign = -1.0 if found.direction == "maximize" else 1.0
    gain, spread = sign * (never - found.loss), math.hypot(unsure or 0.0, found.deviation or 0.0)
    if gain <= _TWO_SIDES * spread or gain <= 0:
        learned = "too early to say: the gain is within what is unsure"
    else:
        learned = f"about {np.clip(sign * (never - mean) / gain, 0.0, 1.0):.0%} on average over all events"
    rows.append(("learned, of what a fixed decision can gain", forecast or "no forecast", learned))
    return rows


def _mean_so_far(history: History) -> tuple[float, float]:
    """Return the mean loss of all events in released rounds, and the deviation of the noise in that."""
    sizes = np.diff(np.append(0, history.ends)).astype(np.float64)
    # The first that is at hand may not be the first.
    sizes[0] = sizes[0] if history.rounds[0] == 0 else np.median(sizes)
    shares = sizes / sizes.sum()
    return float(shares @ history.means), float(np.sqrt(((shares * history.deviations) ** 2).sum()))


def _give_or_take(value: float, deviation: float) -> str:
    return significant(value) + (f" ± {significant(_TWO_SIDES * deviation, 2)}" if deviation > 0 else "")
