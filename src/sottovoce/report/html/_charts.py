"""Charts as inline SVG that follow the page: its fonts, its light and dark colours, its width."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from markupsafe import Markup, escape
from numpy.typing import ArrayLike

from sottovoce._arrays import Floats
from sottovoce.domains.naming import label_text
from sottovoce.report._numbers import short, significant, with_errors
from sottovoce.report._palette import SHADES, dashes
from sottovoce.report._per_event import around_zero, asinh_ticks

__all__ = [
    "NAMES_ON_AXIS",
    "Axis",
    "Curve",
    "Scale",
    "asinh_scale",
    "bar_chart",
    "line_chart",
    "linear_scale",
    "log_scale",
    "shortened",
    "swatch",
]

WIDTH, HEIGHT, TOP, RIGHT, BOTTOM = 520, 320, 14, 18, 52
_CHARACTER = 10.2  # pixels of a tick's letter, at the size that phones get
NAMES_ON_AXIS, _LETTERS = 4, 10  # names that have room below a chart, and letters of one
_MARKERS = (
    "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0",
    "M-3.6-3.6h7.2v7.2h-7.2z",
    "M0-4.8L4.6 3.4H-4.6z",
    "M0-5L5 0L0 5L-5 0z",
)


@dataclass(frozen=True, slots=True)
class Scale:
    """A line from `low` to `high`, drawn from pixel `start` to pixel `end`, with ticks.

    Examples
    --------
    >>> scale = linear_scale([0.0, 97.0], 0, 100)
    >>> scale.ticks
    (0.0, 20.0, 40.0, 60.0, 80.0, 100.0)
    >>> scale(50.0)
    array(50.)
    """

    low: float
    high: float
    start: float
    end: float
    ticks: tuple[float, ...]
    log: bool = False
    linear_width: float = 0.0  # of a scale that is logarithmic away from zero

    def __call__(self, values: ArrayLike) -> Floats:
        """Return where values are, in pixels."""
        place: Floats = np.asarray(values, dtype=np.float64)
        low, high = self.low, self.high
        if self.log:
            place, low, high = np.log10(place), math.log10(low), math.log10(high)
        elif self.linear_width:
            place = np.arcsinh(place / self.linear_width)
            low, high = math.asinh(low / self.linear_width), math.asinh(high / self.linear_width)
        return np.asarray(self.start + (place - low) / (high - low) * (self.end - self.start))


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
    def style(self) -> Markup:
        """Its classes: colour, and dashes."""
        number = "grey" if self.colour < 0 else str(self.colour % len(SHADES))
        return Markup(f"c{number} {dashes(self.colour)}".rstrip())


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
    """

    label: str
    log: bool = False
    ticks: tuple[tuple[float, str], ...] = ()
    holds: tuple[float, ...] = ()
    signed: bool = False
    places: tuple[tuple[float, str], ...] = ()
    zero: bool = True

    def scale(self, values: Sequence[Floats], start: float, end: float, *, tight: bool = False) -> Scale:
        """Return the scale that holds all values."""
        every = np.concatenate([np.array(self.holds), *(np.ravel(value) for value in values)])
        width = around_zero([every]) if self.signed else 0.0
        if width:
            found = asinh_scale(every, start, end, width)
        elif self.log or self.signed:
            found = log_scale(every, start, end)
        else:
            found = linear_scale(every, start, end, tight=tight, zero=self.zero)
        return replace(found, ticks=tuple(at for at, _ in self.ticks)) if self.ticks else found

    def words(self, tick: float) -> str:
        """Return how a tick is written."""
        return dict(self.ticks).get(tick, short(tick))

    def read_out(self, values: Sequence[float]) -> list[str]:
        """Return how places are read out."""
        known = dict(self.ticks) | dict(self.places)
        return [known.get(value) or short(value) for value in values] if known else with_errors(values)


def line_chart(series: Sequence[Curve], x: Axis, y: Axis, title: str) -> Markup:
    """Return a chart of lines or points; `title` is what a screen reader says."""
    series = [_drawable(one, x, y) for one in series]
    reach = [edge for one in series for edge in _edges(one)]
    rough = y.scale(reach, 0, 1)
    left = 36 + _CHARACTER * max(len(y.words(tick)) for tick in rough.ticks)
    across = x.scale([one.x for one in series], left, WIDTH - RIGHT, tight=not x.log)
    up = y.scale(reach, HEIGHT - BOTTOM, TOP)
    parts = [_grid(across, up, x, y, left), *(_band(one, across, up) for one in series if not one.markers)]
    parts += [_line(one, across, up, x) for one in series]
    return _svg(parts, title)


def bar_chart(values: Floats, marks: Floats | None, title: str, names: Sequence[Hashable] | None = None) -> Markup:
    """Return bars of a vector's coordinates, with a mark on each where another vector lies."""
    ends = [values] if marks is None else [values, marks]
    y = Axis("")
    up = y.scale(ends, HEIGHT - BOTTOM, TOP)
    left = 36 + _CHARACTER * max(len(y.words(tick)) for tick in up.ticks)
    places = _places(len(values), 10 if names is None else NAMES_ON_AXIS)
    across = Scale(0.5, len(values) + 0.5, left, WIDTH - RIGHT, places)
    named = () if names is None else tuple((at, shortened(label_text(names[int(at) - 1]))) for at in places)
    wide = 0.72 * (WIDTH - RIGHT - left) / len(values)
    zero = float(up(0.0))
    parts = [_grid(across, up, Axis("coordinate" if names is None else "", ticks=named), Axis("value"), left)]
    for i, value in enumerate(values, start=1):
        top, centre = float(up(value)), float(across(i))
        low, high = min(top, zero), max(top, zero)
        words = f"{f'coordinate {i}' if names is None else label_text(names[i - 1])}: {significant(float(value))}"
        if marks is not None:
            words += f", best {significant(float(marks[i - 1]))}"
        bar = f'<rect class="bar c0" x="{centre - wide / 2:.1f}" y="{low:.1f}" width="{wide:.1f}" '
        parts.append(Markup(f'{bar}height="{max(high - low, 0.5):.1f}"><title>{escape(words)}</title></rect>'))
        if marks is not None:
            at, half = float(up(marks[i - 1])), wide * 0.62
            parts.append(Markup(f'<path class="line ink" d="M{centre - half:.1f} {at:.1f}H{centre + half:.1f}"/>'))
    return _svg(parts, title)


def swatch(colour: int, *, markers: bool = False) -> Markup:
    """Return the key of a line for a legend."""
    one = Curve("", np.zeros(0), np.zeros(0), colour=colour)
    mark = f'<path class="mark {one.style}" transform="translate(14 6)" d="{_shape(colour)}"/>' if markers else ""
    line = f'<path class="line {one.style}" d="M1 6H27"/>'
    return Markup(f'<svg class="swatch" viewBox="0 0 28 12" aria-hidden="true">{line}{mark}</svg>')


def _svg(parts: Sequence[str], title: str) -> Markup:
    head = f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">'
    return Markup(head + "".join(parts) + '<line class="cursor" y1="0" y2="0" visibility="hidden"/></svg>')


def _drawable(one: Curve, x: Axis, y: Axis) -> Curve:
    """Leave out what no axis can show: what is not finite, and what is not positive on a logarithmic one."""
    keep = np.isfinite(one.x) & np.isfinite(one.y)
    keep &= (one.x > 0) | (not x.log)
    keep &= (one.y > 0) | (not y.log)
    error = None if one.error is None else np.nan_to_num(one.error[keep])
    return replace(one, x=one.x[keep], y=one.y[keep], error=error)


def _edges(one: Curve) -> list[Floats]:
    return [one.y] if one.error is None else [one.y, one.y - one.error, one.y + one.error]


def _shape(colour: int) -> str:
    if colour < 0:
        return _MARKERS[1]  # of what is not compared: not the shape of the first thing that is
    return _MARKERS[(max(colour, 0) + max(colour, 0) // len(SHADES)) % len(_MARKERS)]


def shortened(name: str) -> str:
    """Return a name that has room below a chart."""
    return name if len(name) <= _LETTERS else f"{name[: _LETTERS - 1]}…"


def _places(count: int, most: int) -> tuple[float, ...]:
    step = max(1, math.ceil(count / most))
    return tuple(float(place) for place in range(1, count + 1, step))


def _grid(across: Scale, up: Scale, x: Axis, y: Axis, left: float) -> Markup:
    base, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    parts = []
    for tick in up.ticks:
        at = float(up(tick))
        words = escape(y.words(tick))
        parts.append(f'<path class="grid" d="M{left:.0f} {at:.1f}H{right}"/>')
        parts.append(f'<text class="tick" x="{left - 7:.0f}" y="{at + 4:.1f}" text-anchor="end">{words}</text>')
    for tick in across.ticks:
        at = float(across(tick))
        parts.append(f'<path class="axis" d="M{at:.1f} {base}v5"/>')
        words = escape(x.words(tick))
        parts.append(f'<text class="tick" x="{at:.1f}" y="{base + 20}" text-anchor="middle">{words}</text>')
    parts.append(f'<path class="axis" d="M{left:.0f} {base}H{right}"/>')
    middle, height = (left + right) / 2, (TOP + base) / 2
    parts.append(
        f'<text class="name" x="{middle:.0f}" y="{HEIGHT - 8}" text-anchor="middle">{escape(x.label)}</text>'
        f'<text class="name" transform="translate(13 {height:.0f}) rotate(-90)" text-anchor="middle">'
        f"{escape(y.label)}</text>"
    )
    return Markup("".join(parts))


def _points(x: Floats, y: Floats) -> str:
    return "L".join(f"{a:.1f} {b:.1f}" for a, b in zip(x, y, strict=True))


def _band(one: Curve, across: Scale, up: Scale) -> Markup:
    if one.error is None or len(one.x) < 2 or not np.any(one.error > 0):
        return Markup("")
    x, low, high = across(one.x), up(_above(one.y - one.error, up)), up(one.y + one.error)
    outline = f"M{_points(x, high)}L{_points(x[::-1], low[::-1])}z"
    return Markup(f'<path class="band {one.style}" d="{outline}"/>')


def _above(values: Floats, up: Scale) -> Floats:
    return np.maximum(values, up.low) if up.log else values


def _line(one: Curve, across: Scale, up: Scale, x: Axis) -> Markup:
    """Return a line with its points' words, from which the page makes its read-out."""
    if not len(one.x):
        return Markup("")
    a, b = across(one.x), up(one.y)
    said = with_errors(one.y.tolist(), None if one.error is None else one.error.tolist())
    words, at = "|".join(said), "|".join(one.replace("|", "/") for one in x.read_out(one.x.tolist()))
    head = f'<g class="series" data-name="{escape(one.name)}" data-at="{escape(at)}" data-words="{escape(words)}">'
    title = f"<title>{escape(one.name)}: {escape(said[-1])}</title>"
    shown = "" if one.line else ' visibility="hidden"'
    path = f'<path class="line {one.style}"{shown} d="M{_points(a, b)}"/>'
    return Markup(head + title + path + (_marks(one, a, b, up) if one.markers else "") + "</g>")


def _marks(one: Curve, a: Floats, b: Floats, up: Scale) -> str:
    parts, style = [], one.style
    for i, (at, height) in enumerate(zip(a, b, strict=True)):
        if one.error is not None and one.error[i] > 0:
            low = float(up(_above(one.y[i] - one.error[i], up)))
            high = float(up(one.y[i] + one.error[i]))
            parts.append(f'<path class="error {style}" d="M{at:.1f} {low:.1f}V{high:.1f}"/>')
        place = f"translate({at:.1f} {height:.1f})"
        parts.append(f'<path class="mark {style}" transform="{place}" d="{_shape(one.colour)}"/>')
    return "".join(parts)


def linear_scale(
    values: ArrayLike, start: float, end: float, *, count: int = 5, tight: bool = False, zero: bool = True
) -> Scale:
    """Return a scale that holds the values, and zero unless told otherwise; it ends at a tick, unless it is tight."""
    found = _finite(values)
    if zero or not len(found):
        found = np.append(found, 0.0)
    low, high = float(found.min()), float(found.max())
    if high == low:
        high = low + 1.0
    step = _round_step((high - low) / count)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    ticks = tuple(float(np.round(i * step, 12)) for i in range(first, last + 1))
    if tight:
        return Scale(low, high, start, end, tuple(tick for tick in ticks if low <= tick <= high))
    return Scale(ticks[0], ticks[-1], start, end, ticks)


def log_scale(values: ArrayLike, start: float, end: float) -> Scale:
    """Return a logarithmic scale that holds the positive values, with a little room on both sides."""
    found = _finite(values)
    found = found[found > 0]
    low, high = (found.min(), found.max()) if len(found) else (1.0, 10.0)
    room = max(1.15, (high / low) ** 0.06)
    low, high = float(low / room), float(high * room)
    return Scale(low, high, start, end, _log_ticks(low, high), log=True)


def asinh_scale(values: ArrayLike, start: float, end: float, width: float) -> Scale:
    """Return a scale that is linear within `width` of zero and logarithmic beyond, and holds the values."""
    found = np.arcsinh(np.append(_finite(values), 0.0) / width)
    room = 0.06 * (found.max() - found.min() or 1.0)
    low, high = (float(width * np.sinh(one)) for one in (found.min() - room, found.max() + room))
    return Scale(low, high, start, end, asinh_ticks(low, high, width), linear_width=width)


def _log_ticks(low: float, high: float) -> tuple[float, ...]:
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in ((1,), (1, 3), (1, 2, 5)):
        ticks = tuple(step * 10.0**decade for decade in decades for step in steps if low <= step * 10.0**decade <= high)
        if len(ticks) >= 3:
            return ticks[:: math.ceil(len(ticks) / 7)]
    step = _round_step((high - low) / 4)  # so little room that a logarithmic axis is almost a linear one
    return tuple(float(np.round(i * step, 12)) for i in range(math.ceil(low / step), math.floor(high / step) + 1))


def _round_step(rough: float) -> float:
    size = 10.0 ** math.floor(math.log10(rough))
    return size * next(step for step in (1, 2, 2.5, 5, 10) if step * size >= rough * (1 - 1e-9))


def _finite(values: ArrayLike) -> Floats:
    values = np.asarray(values, dtype=np.float64).ravel()
    return values[np.isfinite(values)]
