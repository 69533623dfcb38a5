"""Lines, points and bars against numbers, for images and pages alike."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.axis import Axis as Side
from matplotlib.ticker import MaxNLocator, NullLocator

from sottovoce._arrays import Floats
from sottovoce.report._canvas import apart, note, sized, to_svg
from sottovoce.report._palette import SHADES, colour, dashes, linestyle
from sottovoce.report._per_event import around_zero, asinh_ticks
from sottovoce.report.numbers import short, with_errors

WIDTH, HEIGHT, TOP, RIGHT, BOTTOM = 520, 320, 14, 18, 52
_CHARACTER = 10.2  # units of a tick's letter, at the size that phones get
NAMES_ON_AXIS, LETTERS_ON_AXIS = 4, 10  # names that have room below a chart, and letters of one
_MARKERS = "os^D"


@dataclass(frozen=True, slots=True)
class Curve:
    """One line of a chart, with its standard error where there is one.

    Parameters
    ----------
    name
        For the read-out; names of lines stand in a legend outside of the chart.
    x, y, error
        Error is half the height of the band.
    colour
        Of the palette: a number, the same for the same thing in all charts; -1 is grey and dashed, for what is not
        compared.
    line, markers
        What to draw. With markers the error is drawn as bars, otherwise as a band.

    Examples
    --------
    >>> import numpy as np
    >>> line = Curve("default", np.array([1.0, 2.0]), np.array([3.0, 4.0]), colour=0)
    >>> "<path" in line_chart([line], Axis("events"), Axis("regret"), "Regret over events")
    True
    """

    name: str
    x: Floats
    y: Floats
    error: Floats | None = None
    colour: int = 0
    line: bool = True
    markers: bool = False

    @property
    def style(self) -> str:
        """Its classes: colour, and dashes."""
        number = "grey" if self.colour < 0 else str(self.colour % len(SHADES))
        return f"c{number} {dashes(self.colour)}".rstrip()


@dataclass(frozen=True, slots=True)
class Axis:
    """What an axis shows.

    Parameters
    ----------
    label, log
        Its name, and whether it is logarithmic; then values that are not positive are left out.
    signed
        Logarithmic if all values are positive, and otherwise linear around zero.
    ticks
        (position, words) where they are not found by themselves.
    places
        (position, words) of what is read out at a point, where that is neither its number nor a tick.
    holds
        Values that must be on it besides those that are drawn, so that several charts share a scale.
    zero
        Whether a linear one begins at zero.
    tight
        Whether a linear one ends where its values do, and not at a tick.
    """

    label: str
    log: bool = False
    ticks: tuple[tuple[float, str], ...] = ()
    holds: tuple[float, ...] = ()
    signed: bool = False
    places: tuple[tuple[float, str], ...] = ()
    zero: bool = True
    tight: bool = False

    def set_up(self, side: Side, values: Sequence[Floats]) -> None:
        """Give one side of a chart its scale, which holds all values, its ticks and its name."""
        axes, across = side.axes, side is side.axes.xaxis
        set_scale, set_limits = (axes.set_xscale, axes.set_xlim) if across else (axes.set_yscale, axes.set_ylim)
        every = np.concatenate([np.array(self.holds), *(np.ravel(value) for value in values)])
        every = every[np.isfinite(every)]
        width = around_zero([every]) if self.signed else 0.0
        if width:
            set_scale("asinh", linear_width=width)
            low, high, found = _asinh(every, width)
        elif self.log or self.signed:
            set_scale("log")
            low, high, found = _logarithmic(every[every > 0])
        else:
            low, high, found = _linear(every, zero=self.zero, tight=self.tight)
        shown = [(tick, short(tick)) for tick in found] if not self.ticks else self.ticks
        set_limits(low, high)
        side.set_ticks([at for at, _ in shown], labels=[words for _, words in shown])
        side.set_minor_locator(NullLocator())
        side.set_label_text(self.label)

    def read_out(self, values: Sequence[float]) -> list[str]:
        """Return how places are read out."""
        known = dict(self.ticks) | dict(self.places)
        return [known.get(value) or short(value) for value in values] if known else with_errors(values)


def line_chart(series: Sequence[Curve], x: Axis, y: Axis, title: str) -> Markup:
    """Return a chart of lines or points for a page; `title` is what a screen reader says."""
    axes = sized(WIDTH, HEIGHT, 60, RIGHT, TOP, BOTTOM)
    draw_lines(axes, series, replace(x, tight=not x.log), y)
    return _finished(axes, title)


def draw_lines(axes: Axes, series: Sequence[Curve], x: Axis, y: Axis) -> None:
    """Draw lines with their bands, or points with their bars."""
    series = [_drawable(one, x, y) for one in series]
    x.set_up(axes.xaxis, [one.x for one in series])
    y.set_up(axes.yaxis, [edge for one in series for edge in _edges(one)])
    axes.grid(axis="y", color="#e4e4e4", linewidth=0.8)
    axes.set_axisbelow(True)
    for one in series:
        if len(one.x):
            _draw(axes, one, x)


def _draw(axes: Axes, one: Curve, x: Axis) -> None:
    """Draw a line, with its points' words, from which a page makes its read-out."""
    shade, floor = colour(one.colour), axes.get_ylim()[0]
    if one.error is not None and np.any(one.error > 0):
        low, high = np.maximum(one.y - one.error, floor), one.y + one.error
        if one.markers:
            some = one.error > 0
            axes.vlines(one.x[some], low[some], high[some], color=shade, linewidth=1.2, gid=f".error {one.style}")
        elif len(one.x) > 1:
            edges = np.concatenate([one.x, one.x[::-1]]), np.concatenate([high, low[::-1]])
            axes.fill(*edges, color=shade, alpha=0.17, linewidth=0, gid=f".band {one.style}")
    said = with_errors(one.y.tolist(), None if one.error is None else one.error.tolist())
    read_out = {
        "class": "series" if one.line else "series points",
        "data_name": one.name,
        "data_at": "|".join(words.replace("|", "/") for words in x.read_out(one.x.tolist())),
        "data_words": "|".join(said),
    }
    (drawn,) = axes.plot(one.x, one.y, color=shade, linestyle=linestyle(one.colour), linewidth=2.2)
    drawn.set(solid_capstyle="round", gid=note(axes, f"line {one.style}", f"{one.name}: {said[-1]}", **read_out))
    if one.markers:
        drawn.set(marker=_marker(one.colour), markersize=7.5)


def name_lines(axes: Axes, curves: Sequence[Curve]) -> None:
    """Write each line's name to the right of its end, moved apart where ends are close; in shares of the axes."""
    shares = axes.transData + axes.transAxes.inverted()
    tall = [0.02 + 0.045 * (one.name.count("\n") + 1) for one in curves]
    places = [shares.transform((one.x[-1], one.y[-1])) for one in curves]
    heights = apart([float(y) for _, y in places], tall, 1.0)
    placed: dict[str, Any] = {"transform": axes.transAxes, "clip_on": False}
    for (x, y), one, height in zip(places, curves, heights, strict=True):
        shade = colour(one.colour)
        axes.plot([x, 1.035], [y, height], color=shade, linewidth=0.8, **placed)
        axes.text(
            1.045, height, one.name, color=shade, fontsize=10.5, verticalalignment="center", linespacing=1.2, **placed
        )


@cache
def swatch(number: int, *, markers: bool = False) -> Markup:
    """Return the key of a line for a legend."""
    axes, one = sized(28, 12, 1, 1, 1, 1), Curve("", np.zeros(0), np.zeros(0), colour=number)
    axes.spines["bottom"].set_visible(False)
    axes.set(xlim=(0, 26), ylim=(0, 1), xticks=[], yticks=[])
    axes.plot([0, 26], [0.5, 0.5], gid=f".line {one.style}")
    if markers:
        axes.plot([13], [0.5], linestyle="", marker=_marker(number), markersize=7.5, gid=f".mark {one.style}")
    drawn = to_svg(axes, "", kind="swatch")
    return Markup(drawn.replace('role="img" aria-label=""', 'aria-hidden="true"'))


def _finished(axes: Axes, title: str) -> Markup:
    """Leave the ticks the room that they need at the size that phones get, and put names at the edges."""
    left = 36 + _CHARACTER * max((len(one.get_text()) for one in axes.get_yticklabels()), default=0)
    box = (left / WIDTH, BOTTOM / HEIGHT, (WIDTH - left - RIGHT) / WIDTH, (HEIGHT - TOP - BOTTOM) / HEIGHT)
    axes.set_position(box)
    axes.yaxis.set_label_coords((13 - left) / (WIDTH - left - RIGHT), 0.5)
    axes.xaxis.set_label_coords(0.5, (20 - BOTTOM) / (HEIGHT - TOP - BOTTOM))
    axes.tick_params(axis="x", length=5, pad=7)
    axes.tick_params(axis="y", pad=7)
    return to_svg(axes, title)


def _drawable(one: Curve, x: Axis, y: Axis) -> Curve:
    """Leave out what no axis can show: what is not finite, and what is not positive on a logarithmic one."""
    keep = np.isfinite(one.x) & np.isfinite(one.y)
    keep &= (one.x > 0) | (not x.log)
    keep &= (one.y > 0) | (not y.log)
    error = None if one.error is None else np.nan_to_num(one.error[keep])
    return replace(one, x=one.x[keep], y=one.y[keep], error=error)


def _edges(one: Curve) -> list[Floats]:
    return [one.y] if one.error is None else [one.y, one.y - one.error, one.y + one.error]


def _marker(number: int) -> str:
    """Return the shape of a point; of what is not compared: not the shape of the first thing that is."""
    return "s" if number < 0 else _MARKERS[(number + number // len(SHADES)) % len(_MARKERS)]


def _linear(values: Floats, *, zero: bool, tight: bool) -> tuple[float, float, list[float]]:
    """Return ends and ticks that hold the values."""
    if zero or not len(values):
        values = np.append(values, 0.0)
    low, high = float(values.min()), float(values.max())
    if high == low:
        high = low + 1.0
    ticks = [float(tick) for tick in MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)]
    if tight:
        return low, high, [tick for tick in ticks if low <= tick <= high]
    return ticks[0], ticks[-1], ticks


def _logarithmic(values: Floats) -> tuple[float, float, list[float]]:
    """Return ends and ticks around positive values, with a little room on both sides."""
    low, high = (float(values.min()), float(values.max())) if len(values) else (1.0, 10.0)
    room = max(1.15, (high / low) ** 0.06)
    low, high = low / room, high * room
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in ((1,), (1, 3), (1, 2, 5)):
        ticks = [step * 10.0**decade for decade in decades for step in steps if low <= step * 10.0**decade <= high]
        if len(ticks) >= 3:
            return low, high, ticks[:: math.ceil(len(ticks) / 7)]
    return low, high, _linear(np.array([low, high]), zero=False, tight=True)[2]  # it is almost linear


def _asinh(values: Floats, width: float) -> tuple[float, float, list[float]]:
    """Return ends and ticks that hold the values, and zero, with a little room on both sides."""
    found = np.arcsinh(np.append(values, 0.0) / width)
    room = 0.06 * (found.max() - found.min() or 1.0)
    low, high = (float(width * np.sinh(one)) for one in (found.min() - room, found.max() + room))
    return low, high, list(asinh_ticks(low, high, width))
