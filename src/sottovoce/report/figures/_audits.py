"""A figure of audits: how the attacks' scores are spread in the two worlds that they are to tell apart."""

import math
import os
import textwrap
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from sottovoce.auditing import Audit
from sottovoce.report._canvas import GREY, REFUTED, canvas, short_ticks
from sottovoce.report._palette import WORLDS

_WORLDS = tuple(shade.light for shade in WORLDS)
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
    """Return the figure that `audit_figure` writes: histograms of scores, of those that come closest to their claim."""
    shown = sorted(audits, key=lambda one: -one.epsilon_lower / one.epsilon_claimed)[:_MOST_PANELS]
    columns = min(2, len(shown))
    rows = math.ceil(len(shown) / columns)
    figure = canvas(10, 2.0 + 2.2 * rows)
    which = "" if len(shown) == len(audits) else f" The {len(shown)} that come closest to their claim:"
    words = textwrap.fill(f"{_SCORES}{which}", _LETTERS)
    figure.suptitle(
        _headline(audits) + "\n" * (2 + words.count("\n")), x=0.01, ha="left", fontsize=15, fontweight="bold"
    )
    below = 1 - 0.42 / figure.get_figheight()
    figure.text(0.01, below, words, fontsize=10, color=GREY, va="top", linespacing=1.25)
    panels = np.atleast_1d(figure.subplots(rows, columns)).ravel()
    for axes, one in zip(panels, shown, strict=False):
        _distributions(axes, one)
    for axes in panels[len(shown) :]:
        axes.set_axis_off()
    names = ("the person's losses in the first world", "in the second")
    handles: list[Artist] = [
        Patch(color=shade, alpha=0.6, label=name) for shade, name in zip(_WORLDS, names, strict=True)
    ]
    handles.append(Line2D([], [], color="black", linewidth=1.2, linestyle=_DASHES, label=_THRESHOLD))
    figure.legend(handles=handles, loc="outside lower left", ncols=3, frameon=False, fontsize=10)
    return figure


_THRESHOLD = "threshold, fixed on other runs"
_SCORES = (
    "What the strongest attack saw: from all that is seen of a run it makes one number, its score. Above the upper "
    "dashed line it guesses the second world, below the lower one the first. Where the two colours cover each other, "
    "it cannot tell the worlds apart. More runs see more; no audit proves a claim."
)


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
    simulated = " (simulated noise)" if one.simulated else ""
    least = f"{one.smallest_seen:.3g}" if math.isfinite(one.smallest_seen) else "no noise at all"
    shown = f"claimed {one.epsilon_claimed:.3g}, shown {one.epsilon_lower:.3g} by {one.distinguisher}{simulated}"
    shown += f"; {one.runs:,} runs could have shown {least}"
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
