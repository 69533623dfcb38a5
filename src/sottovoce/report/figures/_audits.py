"""A figure of audits: what is claimed, what was shown, and how the attacks' scores are spread in the two worlds."""

import math
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from sottovoce.auditing import Audit
from sottovoce.report._palette import colour
from sottovoce.report.figures._canvas import GREY, REFUTED, canvas

__all__ = ["audit_figure"]

_WITHOUT, _WITH, _FINE = map(colour, range(3))
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
    columns = min(3, math.ceil(math.sqrt(len(shown))))
    rows = math.ceil(len(shown) / columns)
    figure = canvas(7.6 + 3.4 * columns, max(4.6, 1.5 + 2.5 * rows, 1.6 + 0.24 * len(audits)))
    parts = figure.add_gridspec(1, 2, width_ratios=[7.6, 3.4 * columns])
    left, right = figure.add_subfigure(parts[0]), figure.add_subfigure(parts[1])
    _overview(left.subplots(), audits)
    which = "" if len(shown) == len(audits) else f" ({len(shown)} that come closest to their claim)"
    right.suptitle(
        f"Scores of the strongest attack found, over the runs that judged it{which}", fontsize=11, x=0.01, ha="left"
    )
    panels = np.atleast_1d(right.subplots(rows, columns)).ravel()
    for axes, one in zip(panels, shown, strict=False):
        _distributions(axes, one)
    for axes in panels[len(shown) :]:
        axes.set_axis_off()
    names = ("the person's losses in one world", "in the other")
    patches = [Patch(color=shade, alpha=0.6, label=name) for shade, name in zip((_WITHOUT, _WITH), names, strict=True)]
    threshold = "threshold, fixed on other runs: how often each world's score exceeds it is what was counted"
    line = Line2D([], [], color="black", linewidth=1.0, linestyle=_DASHES, label=threshold)
    right.legend(handles=[*patches, line], loc="outside lower left", ncols=3, frameon=False, fontsize=8.5)
    return figure


def _overview(axes: Axes, audits: Sequence[Audit]) -> None:
    """One row per audit, in units of what is claimed: a bar up to what was shown, a ring at what could be seen."""
    finite = [one.smallest_seen / one.epsilon_claimed for one in audits if math.isfinite(one.smallest_seen)]
    furthest = max(1.0, *(one.epsilon_lower / one.epsilon_claimed for one in audits), *(finite or [1.0]))
    for row, one in enumerate(audits):
        shade = _FINE if one.passed else REFUTED
        axes.barh(row, one.epsilon_lower / one.epsilon_claimed, height=0.55, color=shade, alpha=0.85)
        if math.isfinite(one.smallest_seen):
            axes.plot(one.smallest_seen / one.epsilon_claimed, row, "o", color=GREY, markersize=4, fillstyle="none")
    axes.axvline(1.0, color="black", linewidth=1.8)
    axes.set_xlim(0, 1.08 * furthest)
    axes.set_ylim(len(audits) - 0.4, -0.6)
    axes.set_yticks(range(len(audits)), [_name(one) for one in audits], fontsize=8)
    for label, one in zip(axes.get_yticklabels(), audits, strict=True):
        label.set_color("black" if one.passed else REFUTED)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("epsilon, as a multiple of what is claimed")
    confidence = f"{100 * min(one.confidence for one in audits):.6g}%"
    first = f"bar: shown, each with {confidence} confidence; line: claimed"
    subtitle = f"{first}\nring: least that these runs tell from the claim"
    axes.set_title(f"{_headline(audits)}\n\n", loc="left", fontsize=14, fontweight="bold")
    axes.text(0, 1.005, subtitle, transform=axes.transAxes, fontsize=8.5, color=GREY, va="bottom")
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
    for scores, shade in zip(one.scores, (_WITHOUT, _WITH), strict=True):
        heights = np.histogram(np.clip(scores, low, high), bins=edges)[0] / len(scores)
        axes.stairs(heights, edges, fill=True, color=shade, alpha=0.45)
        axes.stairs(heights, edges, color=shade, linewidth=1.1)
    axes.axvline(one.threshold, color="black", linewidth=1.0, linestyle=_DASHES)
    axes.set_title(one.label, fontsize=9.5, loc="left", color="black" if one.passed else REFUTED, pad=14)
    shown = f"claimed {one.epsilon_claimed:.3g}, shown {one.epsilon_lower:.3g}, by {one.distinguisher}"
    axes.text(0, 1.02, shown, transform=axes.transAxes, fontsize=7, color=GREY, va="bottom")
    axes.set_yticks([])
    axes.set_xlabel("score; height: share of runs", fontsize=7, color=GREY, labelpad=1)
    axes.tick_params(labelsize=7)
    axes.spines[["top", "right", "left"]].set_visible(False)
