"""The decision itself in a page: learned next to best."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from sottovoce._arrays import Vector
from sottovoce.lab.problems import DecisionProblem
from sottovoce.report.html._drawings import Drawing, draw_amounts, draw_decision
from sottovoce.report.numbers import significant

_LEARNED = "Learned"
_BEST = "Best in hindsight", "The best fixed decision, which nobody knew beforehand"


@dataclass(frozen=True, slots=True)
class Picture:
    """A decision as it is drawn, and in words."""

    title: str
    caption: str
    drawing: Drawing
    explained: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True, slots=True)
class Decision:
    """Pictures that stand side by side, and what they show."""

    words: str
    pictures: tuple[Picture, ...]


def decide(problem: DecisionProblem, learned: Vector, best: Vector, *, who: str) -> Decision:
    """Draw what was learned next to what is best in hindsight."""
    distance = float(np.linalg.norm(learned - best))
    words = (
        f"The last decision of the run ({who}), and the best fixed one in hindsight. They are {significant(distance)} "
        f"apart; two feasible decisions are at most {significant(problem.domain.diameter)} apart."
    )
    drawn = [draw_decision(problem.domain, point, places=problem.places) for point in (learned, best)]
    return Decision(
        words,
        (
            Picture(_LEARNED, f"Learned: {who}", drawn[0], problem.explain(learned)),
            Picture(*_BEST, drawn[1], problem.explain(best)),
        ),
    )


def plain_point(
    learned: Vector, best: Vector | None, *, who: str, said: str = "", names: Sequence[Hashable] | None = None
) -> Decision:
    """Show a point without a story: its coordinates, and what it is in the names of the set, if it has any."""
    words = f"The last point of the run ({who}), coordinate by coordinate." + (f" It is {said}." if said else "")
    called = [f"coordinate {place}" for place in range(len(learned))] if names is None else names
    pictures = [Picture(_LEARNED, f"Learned: {who}", draw_amounts(called, learned))]
    if best is not None:
        pictures.append(Picture(*_BEST, draw_amounts(called, best)))
    return Decision(words, tuple(pictures))
