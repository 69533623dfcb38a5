"""A figure of audits: what is claimed, what was shown, and how the attacks' scores are spread in the two worlds."""

import math
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from sottovoce.auditing import Audit
from sottovoce.report._palette import colour
from sottovoce.report.figures._canvas import GREY, REFUTED, canvas

__all__ = ["audit_figure"]

_WITHOUT, _WITH, _FINE = map(colour, range(3))
_BINS = 48


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
    >>> from sottovoce.auditing import Mechanism, audit
    >>> from sottovoce.report import audit_figure
    >>> found = audit(Mechanism("probe-sums", sv.PureDP(epsilon=1.0), rounds=2), runs=1000, noise_seed=0)
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
    columns = min(3, math.ceil(math.sqrt(len(audits))))
    rows = math.ceil(len(audits) / columns)
    figure = canvas(5.2 + 3.4 * columns, max(4.6, 1.5 + 2.5 * rows))
    parts = figure.add_gridspec(1, 2, width_ratios=[5.2, 3.4 * columns])
    left, right = figure.add_subfigure(parts[0]), figure.add_subfigure(parts[1])
    _overview(left.subplots(), audits)
    right.suptitle("Scores of the strongest attack found, over the runs that judged it", fontsize=11, x=0.01, ha="left")
    panels = np.atleast_1d(right.subplots(rows, columns)).ravel()
    for axes, one in zip(panels, audits, strict=False):
        _distributions(axes, one)
    for axes in panels[len(audits) :]:
        axes.set_axis_off()
    names = ("nobody differs", "one person's losses differ")
    patches = [Patch(color=shade, alpha=0.6, label=name) for shade, name in zip((_WITHOUT, _WITH), names, strict=True)]
    right.legend(handles=patches, loc="outside lower left", ncols=2, frameon=False, fontsize=10)
    return figure


def _overview(axes: Axes, audits: Sequence[Audit]) -> None:
    """One row per audit: a bar up to what was shown, and a mark at what is claimed."""
    for row, one in enumerate(audits):
        shade = _FINE if one.passed else REFUTED
        axes.barh(row, one.epsilon_lower, height=0.34, color=shade, alpha=0.85)
        axes.plot([one.epsilon_claimed] * 2, [row - 0.3, row + 0.3], color="black", linewidth=2.2)
        words = f"{one.label}{'' if one.passed else '  REFUTED'}{'  (simulated)' if one.simulated else ''}"
        axes.text(0, row - 0.36, words, fontsize=9.5, color=GREY if one.passed else REFUTED, va="bottom")
    deltas = {one.delta for one in audits if one.delta}
    at = f" at delta = {deltas.pop():g}" if len(deltas) == 1 else ""
    axes.set_xlim(0, 1.12 * max(max(one.epsilon_claimed, one.epsilon_lower) for one in audits))
    axes.set_ylim(len(audits) - 0.4, -0.75)
    axes.set_yticks([])
    axes.set_xlabel(f"epsilon{at}")
    subtitle = f"bar: shown, with {100 * min(one.confidence for one in audits):g}% confidence; line: claimed"
    axes.set_title(f"{_headline(audits)}\n", loc="left", fontsize=14, fontweight="bold")
    axes.text(0, 1.01, subtitle, transform=axes.transAxes, fontsize=9.5, color=GREY, va="bottom")
    axes.spines[["top", "right", "left"]].set_visible(False)


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
    axes.axvline(one.threshold, color="black", linewidth=1.0, linestyle=(0, (4, 2)))
    axes.set_title(one.label, fontsize=9.5, loc="left", color="black" if one.passed else REFUTED, pad=14)
    shown = f"claimed {one.epsilon_claimed:.3g}, shown {one.epsilon_lower:.3g}, by {one.distinguisher}"
    axes.text(0, 1.02, shown, transform=axes.transAxes, fontsize=7, color=GREY, va="bottom")
    axes.set_yticks([])
    axes.tick_params(labelsize=7.5)
    axes.spines[["top", "right", "left"]].set_visible(False)
