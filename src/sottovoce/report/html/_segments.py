"""Segments in a page: what is recommended for each, how it differs from one decision for all, and whether it pays.

All of it is a function of released values.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sottovoce.domains.naming import label_text
from sottovoce.learning.recommendation import Recommendation, SegmentGain
from sottovoce.models import Segment, segment_text
from sottovoce.report.html.pieces import Table, TableCell, number, table, text
from sottovoce.report.numbers import joined, sentence, significant

_NAMED = 4  # coordinates that a segment adds or leaves out, in words


def by_size(segments: Mapping[Segment, Recommendation]) -> list[Segment]:
    """Return segments, the largest first; of equals, the first asked for."""
    return sorted(segments, key=lambda one: -segments[one].events)


def show_segments(
    found: Recommendation,
    *,
    names: Sequence[Hashable] | None = None,
    who: str = "",
) -> dict[str, Any] | None:
    """Show segments, for `parts.segments`: a verdict, whether they help, words, and a table of all of them.

    `names` are those of the coordinates. None if no segment was asked for.
    """
    if not found.segments:
        return None
    order = by_size(found.segments)
    same = sum(not differs(found[one]) for one in order)
    words = [
        f"{len(order):,} segments{f' ({who})' if who else ''}, from released numbers alone.",
        f"{_how_many(same, len(order))} A segment borrows from those like it as long as it knows little itself; large "
        "ones go their own way.",
    ]
    return {
        "verdict": sentence(found.verdict) + ".",
        "helps": found.helps,
        "words": words,
        "table": _table(found, order, names),
    }


def _decision(mine: Recommendation) -> str:
    """Say a segment's decision; with feedback by item, with the loss that is expected of each."""
    if not mine.items:
        return mine.words or "a point"
    return ", ".join(f"{label_text(name)} ({significant(loss)})" for name, (loss, _) in mine.items.items())


def _how_many(same: int, count: int) -> str:
    if same in (0, count):
        return f"All of them have {'a decision of their own' if not same else 'the same decision'}."
    return f"{same:,} of them {'has' if same == 1 else 'have'} the decision for all, {count - same:,} one of their own."


def _table(found: Recommendation, order: list[Segment], names: Sequence[Hashable] | None) -> Table:
    caption = (
        "All segments, the largest first. How sure: in how many of the worlds that fit what was released this is the "
        "best decision, or close to it. Better per event: than the decision for all, with 95% of what is believed."
    )
    columns: dict[str, Callable[[Segment], Any]] = {
        "segment": segment_text,
        "decision": lambda one: text(_decision(found[one]), long=True),
        "differs from the one for all by": lambda one: text(
            _how(found, one, names) if differs(found[one]) else "nothing", long=True
        ),
        "events": lambda one: found[one].events,
        "how sure": lambda one: _sure_cell(found[one].share),
        "better per event": lambda one: _gain_cell(found[one].gain),
    }
    return table("segments", caption, order, columns, sortable=True)


def _sure_cell(share: float | None) -> TableCell:
    return TableCell("–" if share is None else f"{share:.0%}", value=repr(share), style="n")


def differs(one: Recommendation) -> bool:
    """Whether a segment's decision is another than that for all."""
    return one.gain is not None and one.gain.differs


def _gain_cell(gain: SegmentGain | None) -> TableCell:
    if gain is None or not gain.differs:
        return TableCell("–", value=repr(0.0), style="n")
    return replace(number(gain.mean), aside=f"{significant(gain.low, 2)} to {significant(gain.high, 2)}")


def _how(found: Recommendation, one: Segment, names: Sequence[Hashable] | None) -> str:
    """Say what a segment's decision has that the one for all has not, and the other way round."""
    apart = np.asarray(found[one].x) - found.x
    if not np.isin(np.abs(apart), (0.0, 1.0)).all():
        return f"a distance of {significant(float(np.linalg.norm(apart)))}"
    said = []
    for word, where in (("adds", apart > 0), ("leaves out", apart < 0)):
        places = np.flatnonzero(where).tolist()
        if places:
            few = [str(place) if names is None else label_text(names[place]) for place in places[:_NAMED]]
            more = [f"{len(places) - _NAMED:,} more"] if len(places) > _NAMED else []
            said.append(f"{word} {joined([*few, *more])}")
    return "; ".join(said)
