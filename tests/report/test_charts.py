"""Charts put points where their numbers are."""

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sottovoce as sv
from sampling import every
from sottovoce.lab import Cell, Result
from sottovoce.lab.summary import price_of, summarise
from sottovoce.report import run_report
from sottovoce.report._canvas import canvas
from sottovoce.report._charts import Axis, Curve, line_chart
from sottovoce.report._palette import SHADES, colour, dashes
from sottovoce.report._promises import plain_words
from sottovoce.report._regret_figure import draw
from sottovoce.report.numbers import significant

positive = st.floats(1e-6, 1e6)
numbers = st.floats(-1e6, 1e6).filter(lambda value: value == 0 or abs(value) > 1e-6)


def path_of(chart, kind):
    found = re.findall(rf'<path class="{kind} [^"]*" d="M([^"]*?)z?"', chart)
    return [np.array([[float(v) for v in pair.split()] for pair in one.split("L")]) for one in found]


def ends_of(axis, values):
    """The ends of an axis that holds values, and its ticks."""
    axes = canvas(4, 3).add_subplot()
    axis.set_up(axes.yaxis, [np.array(values)])
    return *axes.get_ylim(), axes.get_yticks()


@given(st.lists(numbers, min_size=1, max_size=8))
def test_a_linear_axis_holds_its_values_and_zero_between_round_ticks(values):
    low, high, ticks = ends_of(Axis(""), values)
    least, most = min([0, *values]), max([0, *values])
    slack = 1e-8 * (most - least)  # less than a pixel
    assert low - slack <= least <= most <= high + slack
    assert 2 <= len(ticks) <= 9
    steps = np.diff(ticks)
    np.testing.assert_allclose(steps, steps[0], rtol=1e-6)


@given(st.lists(positive, min_size=1, max_size=8))
def test_a_logarithmic_axis_holds_its_values_between_its_ends(values):
    low, high, ticks = ends_of(Axis("", log=True), values)
    assert low < min(values) <= max(values) < high
    assert all(low <= tick <= high for tick in ticks)
    assert len(ticks) >= 2


def test_points_are_where_their_numbers_are():
    x, y = np.array([0.0, 50.0, 100.0]), np.array([0.0, 1.0, 4.0])
    chart = line_chart([Curve("a", x, y, np.array([0.2, 0.5, 1.0]))], Axis("x"), Axis("y"), "title")
    (line,), (band,) = path_of(chart, "line"), path_of(chart, "band")
    along, up = np.diff(line[:, 0]), -np.diff(line[:, 1])
    assert along[0] == pytest.approx(along[1], abs=0.11)
    assert up[1] / up[0] == pytest.approx(3, rel=0.01)
    per_unit = up[0]
    np.testing.assert_allclose(band[:3, 1], line[:, 1] - per_unit * np.array([0.2, 0.5, 1.0]), atol=0.11)  # upper edge
    np.testing.assert_allclose(band[3:, 1], (line[:, 1] + per_unit * np.array([0.2, 0.5, 1.0]))[::-1], atol=0.11)


def test_what_an_axis_cannot_show_is_left_out():
    y = np.array([1.0, -1.0, np.nan, 10.0])
    chart = line_chart([Curve("a", np.arange(1.0, 5), y)], Axis("x"), Axis("y", log=True), "title")
    (line,) = path_of(chart, "line")
    assert len(line) == 2
    assert "nan" not in chart.lower()


def test_words_in_charts_are_escaped():
    evil = Curve("<b>&", np.array([1.0, 2.0]), np.array([1.0, 2.0]))
    chart = line_chart([evil], Axis("<i>"), Axis("<u>"), '"><script>')
    assert not re.search("<b>|<i>|<u>|<script>", chart)
    assert "&lt;b&gt;&amp;" in chart


@given(st.floats(1e-4, 1e11))
def test_significant_digits_keep_the_value(value):
    assert float(significant(value).replace(",", "")) == pytest.approx(value, rel=0.0051)
    assert float(significant(-value).replace(",", "").replace("−", "-")) == pytest.approx(-value, rel=0.0051)


def results(algorithm, epsilon, regrets):
    return [
        Result(Cell("ball", algorithm, epsilon, 10, seed), "done", regret=regret) for seed, regret in enumerate(regrets)
    ]


def test_the_error_of_a_price_agrees_with_the_jackknife():
    """Two ways to the error of a ratio of paired means; 200 pairs, so they agree within a few percent."""
    rng = np.random.default_rng(0)
    below = rng.uniform(1, 2, 200)
    above = 1.5 * below + rng.normal(0, 0.3, 200)
    groups = summarise(results("default", 1.0, above) + results("no-privacy", math.inf, below))
    found = price_of(groups[0], groups)
    left_out = np.array([np.delete(above, i).mean() / np.delete(below, i).mean() for i in range(200)])
    jackknife = math.sqrt(199 / 200 * ((left_out - left_out.mean()) ** 2).sum())
    assert found.ratio == pytest.approx(above.mean() / below.mean())
    assert found.error == pytest.approx(jackknife, rel=0.03)
    unpaired = math.hypot(above.std() / above.mean(), below.std() / below.mean()) * found.ratio / math.sqrt(200)
    assert found.error < 0.8 * unpaired  # the pairing is used


@every(
    "algorithm, free, told",
    [
        ("default", "no-privacy", True),
        ("default:play=around", "no-privacy:play=around", True),
        ("default:play=around", "no-privacy", False),
        ("paper-gaussian", "paper-no-noise", True),
        ("paper-gaussian", "no-privacy", False),
        ("smith-thakurta", "garber-kretzu", False),
    ],
)
def test_a_price_is_relative_to_the_same_algorithm_only(algorithm, free, told):
    groups = summarise(results(algorithm, 1.0, [2.0]) + results(free, math.inf, [1.0]))
    found = price_of(groups[0], groups)
    assert (found is not None) == told
    if found is not None:
        assert (found.ratio, found.relative_to, math.isnan(found.error)) == (2.0, free, True)
    assert price_of(groups[1], groups) is None


@every(
    "guarantee, words",
    [
        (sv.PureDP(1.0), "from 50% to at most 73%."),
        (sv.ApproxDP(1.0, 1e-6), "except with a probability of about 1e-06"),
        (sv.LocalDP(0.1), "from 50% to at most 52%."),
        (sv.ZCDP(0.5), "from 50% to at most 99.5%, except with a probability of about 1e-06"),
        (sv.PureDP(1.0, contributions=3), "losses, in up to 3 events, were high"),
    ],
)
def test_promises_in_plain_words(guarantee, words):
    ((_, said),) = plain_words(guarantee)
    assert words in said


@every("guarantee", [sv.NoPrivacy(), None])
def test_where_nothing_is_promised_nothing_is_said_to_be(guarantee):
    assert not plain_words(guarantee)


def test_forty_lines_look_different():
    assert len({(colour(number), dashes(number)) for number in range(5 * len(SHADES))}) == 5 * len(SHADES)


def test_a_run_has_one_colour_in_the_figure_and_on_the_page(make_run, read_page, tmp_path):
    runs, labels = [make_run(epsilon=epsilon) for epsilon in (1.0, 0.1, 10.0)], ["one", "tenth", "ten"]
    page = read_page(run_report(runs, tmp_path / "run.html", labels=labels))
    lines = {one.attributes["data-name"]: next(one.all("path", "line")) for one in page.tags("g", "series")}
    numbers = {name: re.search(r"\bc(\w+)", line.attributes["class"])[1] for name, line in lines.items()}
    assert numbers == {"one": "0", "tenth": "1", "ten": "2", "never learning": "grey"}
    texts = draw(runs, labels).axes[0].texts
    drawn = {text.get_text().split("\n")[0]: text.get_color() for text in texts}
    for name in labels:
        assert drawn[name] == colour(int(numbers[name]))
        assert f"--c{numbers[name]}: {drawn[name]};" in page.source
