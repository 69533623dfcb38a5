"""The picture of what to expect: curves and prices as forecast, words that can be read."""

import itertools

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

import sottovoce as sv
from sottovoce.plans.forecast import Curve, Forecast, Spread
from sottovoce.rehearsal import Prices
from sottovoce.report._palette import NO_PRIVACY, PRIVATE, colour
from sottovoce.report.figures._plan import draw_forecast, plan_figure

PRICES = Prices("epsilon", (0.1, 1.0, 10.0), (Spread(9.0, 4.0, 20.0), Spread(2.0, 1.2, 3.3), Spread(1.0, 1.0, 1.2)))


def curve(*shares):
    lengths = (1000, 10_000, 100_000)
    return Curve(lengths, tuple(Spread(one, one / 2, one * 2) for one in shares))


def forecast(longest=100_000):
    private, free = curve(1.2, 0.4, 0.1), curve(0.5, 0.2, 0.05)
    return Forecast(
        100_000, private.shares[-1], free.shares[-1], PRICES.prices[1], Spread(7e3, 3e3, 2e4), Spread(1e5, 5e4, 3e5),
        (0.1, 0.3), private, free, 4, longest, 10**6,
    )  # fmt: skip


@pytest.fixture(scope="module", params=[100_000, 10_000])
def found(request):
    return forecast(request.param)


def drawn(found, title="", prices=PRICES):
    return draw_forecast(found, sv.PureDP(1.0), title, prices)


def lines(axes, shade):
    return [line for line in axes.lines if line.get_color() == colour(shade)]


def test_the_curves_are_what_is_learned(found):
    learning = drawn(found, "a decision").axes[0]
    for shade, known in ((PRIVATE, found.curve), (NO_PRIVACY, found.curve_without_privacy)):
        points = np.concatenate([line.get_xydata() for line in lines(learning, shade)])
        for length, share in zip(known.horizons, known.shares, strict=True):
            x, y = points[np.argmin(np.abs(np.log(points[:, 0] / length)))]
            assert x == pytest.approx(length, rel=0.03)
            assert y == pytest.approx(max(0.0, 1 - share.central), abs=0.02)
    low, high = learning.get_ylim()
    assert low <= 0
    assert high >= 1


def test_prices_are_drawn_by_budget(found):
    paying = drawn(found).axes[1]
    (line,) = (one for one in lines(paying, PRIVATE) if len(one.get_xdata()) == 3)
    assert line.get_xdata().tolist() == list(PRICES.budgets)
    assert line.get_ydata().tolist() == [one.central for one in PRICES.prices]


def test_what_was_extrapolated_is_dashed_and_nothing_else(found):
    learning = drawn(found).axes[0]
    dashed = [line for line in lines(learning, PRIVATE) if line.get_linestyle() == "--" and len(line.get_xdata())]
    extrapolated = found.longest < found.horizon
    assert len(dashed) == extrapolated
    assert ("extrapolated" in learning.get_xlabel()) == extrapolated


def test_every_line_is_named_and_the_plan_is_said(found):
    figure = drawn(found, "a decision")
    for axes in figure.axes:
        assert "no privacy" in [text.get_text() for text in axes.get_legend().get_texts()]
    assert figure.axes[0].get_title(loc="left") == "100,000 events: 90% (80% to 95%) learned"
    assert figure.axes[1].get_title(loc="left") == "epsilon = 1: 2 times (1.2 to 3.3) the regret without privacy"
    assert figure.get_suptitle() == "What to expect: a decision"


def test_words_neither_overlap_nor_leave_the_picture(found):
    figure = drawn(found, "Hypersimplex(2000, 50), linear losses, integral decisions that are long to say")
    FigureCanvasAgg(figure).draw()
    words = [figure._suptitle]
    for axes in figure.axes:
        words += [axes._left_title, axes.xaxis.label, axes.yaxis.label, *axes.get_legend().get_texts()]
    boxes = [text.get_window_extent() for text in words]
    for one, other in itertools.combinations(boxes, 2):
        assert not one.overlaps(other)
    for box in boxes:
        assert figure.bbox.x0 <= box.x0
        assert box.x1 <= figure.bbox.x1


def test_the_file_is_a_png_that_a_telephone_shows(found, tmp_path):
    content = plan_figure(found, sv.PureDP(1.0), tmp_path / "plan.png", prices=PRICES).read_bytes()
    assert content.startswith(b"\x89PNG")
    wide, tall = int.from_bytes(content[16:20]), int.from_bytes(content[20:24])
    assert wide >= 1200
    assert tall > wide  # one panel above the other


def test_without_prices_there_is_one_panel(found):
    assert len(drawn(found, prices=None).axes) == 1
