"""The paper's claims, measured: tables of all evidence and all numbers, and regret against what it depends on."""

import csv
import math
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sottovoce._arrays import Vector
from sottovoce.lab.reproduction.claims import WORDS, PaperClaim, along
from sottovoce.lab.reproduction.evidence import Evidence
from sottovoce.lab.reproduction.extent import Extent
from sottovoce.lab.reproduction.tables import SeedTable
from sottovoce.lab.summary import Summary, summarise
from sottovoce.lab.sweeps.cell import Result
from sottovoce.lab.sweeps.swept import Sweep
from sottovoce.report._canvas import canvas, headed
from sottovoce.report._charts import Axis, Curve, draw_lines, name_lines

_TITLES = {
    "horizon": ("Regret against the number of events", "events"),
    "dimension": ("Regret against the dimension", "dimension"),
    "1/epsilon": ("Regret against epsilon", "epsilon (to the left: more private)"),
}


def write_reproduction(sweep: Sweep, claims: Sequence[PaperClaim], scale: Extent, folder: Path) -> list[Path]:
    """Write a table of all numbers, one of what each verdict rests on, and the figures; return the paths.

    Parameters
    ----------
    sweep, claims
        The runs, and what they say.
    scale
        What was run.
    folder
        Where the files go.
    """
    numbers, evidence = folder / "reproduction.csv", folder / "reproduction-evidence.csv"
    _write(numbers, _NUMBERS, sorted(map(_numbers, summarise(sweep.results)), key=lambda row: row[0]))
    _write(evidence, _EVIDENCE, [_evidence(claim, row) for claim in claims for row in claim.rows])
    figures = {axis: folder / f"reproduction-{axis.replace('1/', '')}.png" for axis in _TITLES}
    for axis, path in figures.items():
        draw(sweep.results, scale, axis).savefig(path)
    return [numbers, evidence, *figures.values()]


_NUMBERS = ("problem", "algorithm", "epsilon", "events", "regret", "standard error", "of never", "runs")
_EVIDENCE = ("claim", "algorithm", "of never", "of own bound", "measured", "verdict", "why")


def _numbers(one: Summary) -> list[str]:
    epsilon = "" if math.isinf(one.epsilon) else f"{one.epsilon:g}"
    measured = [f"{one.regret:.4f}", f"{one.regret_error:.4f}", f"{one.ratio:.2f}"] if one.runs else ["failed"] * 3
    return [one.problem, one.algorithm, epsilon, f"{one.horizon}", *measured, f"{one.runs}"]


def _evidence(claim: PaperClaim, row: Evidence) -> list[str]:
    return [claim.title, row.who, row.level, row.share_of_bound, row.measured, row.verdict, row.why]


def _write(path: Path, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([columns, *rows])


def draw(results: Sequence[Result], scale: Extent, axis: str) -> Figure:
    """Return one figure: a line per algorithm, named where it ends, and one for never learning."""
    figure = canvas(10, 5.6, dpi=120)
    axes = figure.add_subplot()
    found = {name: along(results, name, axis, scale.base) for name in WORDS}
    found = {name: one for name, one in found.items() if len(one.values) > 1 and one.seeds}
    numbers = {name: number for number, name in enumerate(WORDS)}
    curves = [
        Curve(WORDS[name], *_per_event(one, one.regrets, scale, axis), numbers[name], markers=True)
        for name, one in found.items()
    ]
    if found:
        longest = max(found.values(), key=lambda one: len(one.values))
        curves.append(Curve("never learning", *_per_event(longest, longest.never, scale, axis)[:2], colour=-1))
    ticks = tuple((float(n), str(n)) for n in scale.dimensions) if axis == "dimension" else ()
    draw_lines(axes, curves, Axis(_TITLES[axis][1], log=True, ticks=ticks), Axis("regret per event", log=True))
    _dress(axes, scale, axis)
    name_lines(axes, curves)
    return figure


def _per_event(one: SeedTable, regrets: Vector, scale: Extent, axis: str) -> tuple[Vector, Vector, Vector]:
    """Return places, means and standard errors, from left to right."""
    values = np.array(one.values)
    per_event = regrets / (values if axis == "horizon" else float(scale.base.horizon))
    spread = per_event.std(axis=0, ddof=1) / np.sqrt(len(per_event)) if len(per_event) > 1 else 0 * per_event[0]
    x = 1 / values if axis == "1/epsilon" else values
    order = np.argsort(x)
    return x[order], per_event.mean(axis=0)[order], spread[order]


def _dress(axes: Axes, scale: Extent, axis: str) -> None:
    base = scale.base
    fixed = {
        "horizon": f"T = {base.horizon:,}",
        "dimension": f"n = {base.dimension}",
        "1/epsilon": f"epsilon = {base.epsilon:g}",
    }
    caption = ", ".join(words for name, words in fixed.items() if name != axis)
    words = f"{caption}; {scale.seeds} seeds, mean ± standard error; simulated noise: NOT PRIVATE"
    headed(axes, _TITLES[axis][0], words, letters=120)
