"""A figure of audits: what is claimed, what was shown, and how the attacks' scores are spread in the two worlds."""

import math
import os
import textwrap
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from sottovoce.auditing import Audit
from sottovoce.report._canvas import GREY, REFUTED, canvas, short_ticks
from sottovoce.report._palette import WORLDS

_WORLDS = tuple(shade.light for shade in WORLDS)
_FINE = "#3d7a4e"
_LETTERS = 108  # of a line of words
_BINS = 48
_MOST_PANELS = 12
_DASHES = (0, (4, 2))


def audit_figure(audits: Audit | Sequence[Audit], path: str | os.PathLike[str]) -> Path:
    """Draw one or several audits, and write them as an image.

    Parameters
    ----------
    audits : Audit or sequence of Audit
        What `sottovoce.auditing.audit` returned.
    path : path
        The kind of image follows from its ending, such as ``.png``.

    Returns
    -------
    Path
        Where the image is.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import sottovoce as sv
    >>> from sottovoce.auditing import MechanismAlone, audit
    >>> from sottovoce.report import audit_figure
    >>> found = audit(MechanismAlone("probe-sums", sv.PureDP(epsilon=1.0), rounds=2), runs=1000, noise_seed=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     audit_figure(found, pathlib.Path(folder) / "audit.png").name
    'audit.png'
    """
    audits = [audits] if isinstance(audits, Audit) else list(audits)
    if not audits:
        raise ValueError("audits must hold at least one audit")
    path = Path(path)
    draw(audits).savefig(path)
    return path


def draw(audits: Sequence[Audit]) -> Figure:
    """Return the figure that `audit_figure` writes."""
    shown = sorted(audits, key=lambda one: -one.epsilon_lower / one.epsilon_claimed)[:_MOST_PANELS]
    columns = min(2, len(shown))
    rows = math.ceil(len(shown) / columns)
    tall = max(2.6, 1.2 + 0.3 * len(audits)), 1.6 + 2.1 * rows
    figure = canvas(10, sum(tall))
    parts = figure.add_gridspec(2, 1, height_ratios=tall)
    above, below = figure.add_subfigure(parts[0]), figure.add_subfigure(parts[1])
    _overview(above.subplots(), audits)
    _headings(above, _headline(audits), _reading(audits), 15)
    which = "" if len(shown) == len(audits) else f" ({len(shown)} that come closest to their claim)"
    _headings(below, f"What the strongest attack saw{which}", _SCORES, 13)
    panels = np.atleast_1d(below.subplots(rows, columns)).ravel()
    for axes, one in zip(panels, shown, strict=False):
        _distributions(axes, one)
    for axes in panels[len(shown) :]:
        axes.set_axis_off()
    _legend(below)
    return figure


_SCORES = textwrap.fill(
    "From all that is seen of a run the attack makes one number, its score. Above the upper dashed line, which was "
    "fixed on other runs, it guesses the second world, below the lower one the first. Where the two colours cover each "
    "other, the attack cannot tell the worlds apart.",
    _LETTERS,
)


def _headings(part: SubFigure, title: str, words: str, size: float) -> None:
    """Write a headline and, below it, what to know for reading; the title has empty lines, so that plots keep clear."""
    part.suptitle(title + "\n" * (1 + words.count("\n")), x=0.01, ha="left", fontsize=size, fontweight="bold")
    height = part.bbox.height / part.get_figure(root=True).dpi * 72
    part.text(0.01, 1 - 1.8 * size / height, words, fontsize=10, color=GREY, va="top", linespacing=1.25)


def _legend(part: SubFigure) -> None:
    names = ("the person's losses in the first world", "in the second")
    patches = [Patch(color=shade, alpha=0.6, label=name) for shade, name in zip(_WORLDS, names, strict=True)]
    line = Line2D([], [], color="black", linewidth=1.2, linestyle=_DASHES, label="threshold, fixed on other runs")
    part.legend(handles=[*patches, line], loc="outside lower left", ncols=3, frameon=False, fontsize=10)


def _reading(audits: Sequence[Audit]) -> str:
    """Say what bar, line and ring are, and how little so few runs could have shown."""
    confidence = f"{100 * min(one.confidence for one in audits):.6g}%"
    runs = sorted({one.runs for one in audits})
    count = f"{runs[0]:,}" if len(runs) == 1 else f"{runs[0]:,} to {runs[-1]:,}"
    seen = [one.smallest_seen / one.epsilon_claimed for one in audits if math.isfinite(one.smallest_seen)]
    blind = len(audits) - len(seen)
    words = (
        f"Green or red bar: the epsilon that an attack showed to be needed, with {confidence} confidence each. Black "
        f"line: the epsilon that is claimed. "
    )
    if seen:
        reach = f"{min(seen):.3g}" if max(seen) - min(seen) < 0.005 else f"{min(seen):.3g} to {max(seen):.3g}"
        words += f"With {count} runs little can be seen: a true epsilon below {reach} times the claim (ring) "
        words += "could have gone unnoticed. "
    if blind:
        bare = all(one.sees_bare_values for one in audits if not math.isfinite(one.smallest_seen))
        where = f"In the {blind} rows without a ring" if seen else f"With {count} runs"
        what = "only values without any noise" if bare else "not even bare values"
        words += f"{where} {what} would have been noticed. "
    return textwrap.fill(words + "More runs see more; no audit proves a claim.", _LETTERS)


def _overview(axes: Axes, audits: Sequence[Audit]) -> None:
    """One row per audit, in units of what is claimed: a bar up to what was shown, a ring at what could be seen."""
    finite = [one.smallest_seen / one.epsilon_claimed for one in audits if math.isfinite(one.smallest_seen)]
    furthest = max(1.0, *(one.epsilon_lower / one.epsilon_claimed for one in audits), *(finite or [1.0]))
    for row, one in enumerate(audits):
        shade = _FINE if one.passed else REFUTED
        axes.barh(row, one.epsilon_lower / one.epsilon_claimed, height=0.55, color=shade, alpha=0.85)
        if math.isfinite(one.smallest_seen):
            axes.plot(one.smallest_seen / one.epsilon_claimed, row, "o", color=GREY, markersize=6, fillstyle="none")
    axes.axvline(1.0, color="black", linewidth=1.8)
    axes.set_xlim(0, 1.08 * furthest)
    axes.set_ylim(len(audits) - 0.4, -0.6)
    axes.set_yticks(range(len(audits)), [_name(one) for one in audits], fontsize=9.5)
    for label, one in zip(axes.get_yticklabels(), audits, strict=True):
        label.set_color("black" if one.passed else REFUTED)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("epsilon, as a multiple of what is claimed", fontsize=10)
    axes.spines[["top", "right", "left"]].set_visible(False)


def _name(one: Audit) -> str:
    words = f"{one.label}{'' if one.passed else '  REFUTED'}{'  (simulated)' if one.simulated else ''}"
    at = f" at delta {one.delta:g}" if one.delta else ""
    return f"{words}: {one.epsilon_claimed:.3g}{at}"


def _headline(audits: Sequence[Audit]) -> str:
    refuted = sum(not one.passed for one in audits)
    if refuted:
        return f"{refuted} of {len(audits)} claims REFUTED"
    return "The claim is not refuted" if len(audits) == 1 else f"None of {len(audits)} claims is refuted"


def _distributions(axes: Axes, one: Audit) -> None:
    """Histograms of the two worlds' scores, and the threshold that was fixed beforehand."""
    both = np.concatenate(one.scores)
    low, high = np.quantile(both, [0.002, 0.998])
    room = 0.02 * max(high - low, 1e-12 * max(1.0, abs(low)))
    edges = np.linspace(low - room, high + room, _BINS + 1)
    for scores, shade in zip(one.scores, _WORLDS, strict=True):
        heights = np.histogram(np.clip(scores, low, high), bins=edges)[0] / len(scores)
        axes.stairs(heights, edges, fill=True, color=shade, alpha=0.45)
        axes.stairs(heights, edges, color=shade, linewidth=1.1)
    for threshold in one.thresholds:
        axes.axvline(threshold, color="black", linewidth=1.2, linestyle=_DASHES)
    shown = f"claimed {one.epsilon_claimed:.3g}, shown {one.epsilon_lower:.3g}, by {one.distinguisher}"
    lines = textwrap.wrap(shown, 62)
    axes.set_title(
        one.label, fontsize=10.5, loc="left", color="black" if one.passed else REFUTED, pad=6 + 11 * len(lines)
    )
    axes.text(0, 1.02, "\n".join(lines), transform=axes.transAxes, fontsize=8.5, color=GREY, va="bottom")
    axes.set_yticks([])
    axes.set_xlabel("score of a run", fontsize=8.5, color=GREY, labelpad=1)
    axes.set_ylabel("share of runs", fontsize=8.5, color=GREY)
    axes.tick_params(labelsize=8.5)
    axes.xaxis.set_major_formatter(short_ticks())
    axes.spines[["top", "right", "left"]].set_visible(False)
