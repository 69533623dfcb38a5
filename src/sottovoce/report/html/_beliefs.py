"""What is believed, in a page: of each coordinate, how surely, and whether the model fits."""

import math
from collections.abc import Hashable
from typing import Any

import numpy as np

from sottovoce._arrays import Floats, Integers
from sottovoce.domains.naming import in_words, label_text
from sottovoce.models import Posterior
from sottovoce.models.published import quantity
from sottovoce.report._charts import LETTERS_ON_AXIS, NAMES_ON_AXIS, Axis, Curve, line_chart
from sottovoce.report.html.pieces import Chart
from sottovoce.report.numbers import TWO_SIDES, sentence, shortened

_MOST = 40  # coordinates: more cannot be told apart
_NAMED = 10  # coordinates


def show_belief(posterior: Posterior, chosen: Floats | None, *, who: str) -> dict[str, Any] | None:
    """Show what is believed, for `parts.belief`: words, a warning if the model does not fit, and a chart.

    `chosen` is the decision that is recommended. None if nothing was released.
    """
    if not posterior.rounds:
        return None
    told, by_item = quantity(posterior.direction), posterior.model == "items"
    model = f"Each item has a {told} of its own" if by_item else f"A {posterior.model} model of the {told}"
    count = f"{len(posterior.means):,} {'items were shown' if by_item else 'decisions were tried'}"
    words = [
        f"{model} ({who}), from released numbers alone: {count} in {posterior.rounds:,} rounds.",
        f"Does it fit? {sentence(posterior.fit_check)}.",
    ]
    return {
        "words": words,
        "warning": posterior.fit_check.caution,
        "charts": [] if posterior.deviations is None else [_coordinates(posterior, chosen)],
    }


def _coordinates(posterior: Posterior, chosen: Floats | None) -> Chart:
    """Slopes, the best coordinate first, those of the decision in a colour of their own."""
    assert posterior.deviations is not None
    order, told = posterior.best_first, quantity(posterior.direction)
    shown, left_out = order, ""
    if len(order) > _MOST:
        half = _MOST // 2
        shown = np.concatenate([order[:half], order[-half:]])
        left_out = f" Of {len(order):,} coordinates, the {half} best and the {half} worst are shown."
    places = np.arange(1.0, len(shown) + 1)
    inside = np.zeros(len(shown), dtype=bool) if chosen is None else chosen[shown] > 0
    curves = [
        Curve(
            name,
            places[where],
            posterior.slopes[shown[where]],
            TWO_SIDES * posterior.deviations[shown[where]],
            colour,
            line=False,
            markers=True,
        )
        for name, where, colour in (("in the decision", inside, 0), ("not in it", ~inside, -1))
        if where.any()
    ]
    title = f"What {'an item' if posterior.model == 'items' else 'a coordinate'} adds to the {told}"
    chart = line_chart(curves, _axis(shown, places, posterior.labels), Axis(f"{told} per event"), title)
    named = ""
    if posterior.labels is not None:
        best = in_words([posterior.labels[place] for place in order.tolist()], most=_NAMED)
        named = f" From the best on: {best}."
    told_apart = " Circles: in the decision. Squares: not in it." if inside.any() and not inside.all() else ""
    return Chart(title, chart, f"Believed means, and 95% of what is believed.{told_apart}{left_out}{named}")


def _axis(shown: Integers, places: Floats, labels: tuple[Hashable, ...] | None) -> Axis:
    """Return the axis of the coordinates: by their names, if they have any; few are written, all are read out."""
    words = [str(place) if labels is None else label_text(labels[place]) for place in shown.tolist()]
    read_out = tuple(zip(places.tolist(), words, strict=True))
    step = math.ceil(len(words) / (10 if labels is None else NAMES_ON_AXIS))
    ticks = tuple((place, shortened(word, LETTERS_ON_AXIS)) for place, word in read_out[::step])
    return Axis("the best first" if labels else "coordinate (from 0), the best first", ticks=ticks, places=read_out)
