import itertools

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

import sottovoce as sv
from sottovoce.plans.outlook import outlook
from sottovoce.plans.problem import Problem
from sottovoce.report.figures._plan import draw_plan, plan_figure

CASES = {
    "learns": (sv.domains.Ball(3), 10**6, sv.PureDP(1.0), {}),
    "linear": (sv.domains.Ball(3), 10**5, sv.ApproxDP(0.1, 1e-6), {"losses": "linear"}),
    "too short": (sv.domains.Ball(3), 1000, sv.PureDP(0.1), {}),
}


@pytest.fixture(scope="module", params=[*CASES, "hopeless"])
def found(request):
    if request.param == "hopeless":
        return outlook(Problem(sv.domains.Ball(10), 1000, (0.0, 1.0), sv.PureDP(0.01)), "paper", points=5)
    domain, horizon, privacy, options = CASES[request.param]
    return outlook(Problem(domain, horizon, (0.0, 1.0), privacy, **options), points=5)


def texts(figure):
    return [text for axes in figure.axes for text in axes.get_legend().get_texts()]


def test_the_figure_is_a_readable_png(found, tmp_path):
    content = plan_figure(found, tmp_path / "plan.png").read_bytes()
    assert content.startswith(b"\x89PNG")
    assert int.from_bytes(content[16:20]) >= 1200
    assert int.from_bytes(content[20:24]) >= 700


def test_the_lines_drawn_are_the_bounds_and_never_learning(found):
    left, right = draw_plan(found).axes
    for axes, curve in ((left, found.by_budget), (right, found.by_horizon), (right, found.without_privacy)):
        assert any(np.array_equal(line.get_ydata(), curve) for line in axes.lines)
    assert any(set(line.get_ydata()) == {found.without_privacy_here} for line in left.lines)
    for axes in (left, right):
        assert any(list(line.get_ydata()) == [found.never_learning] * 2 for line in axes.lines)
        assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
        low, high = axes.get_ylim()
        assert low < found.never_learning < high


def test_every_line_is_named_and_the_plan_is_marked(found):
    figure = draw_plan(found, "a decision")
    for axes in figure.axes:
        written = [text.get_text() for text in axes.get_legend().get_texts()]
        for words in ("private", "no privacy", "never learning"):
            assert any(words in text for text in written), words
        assert f"{found.bound:.2g}" in axes.get_title(loc="left")
    assert "a decision" in figure.get_suptitle()
    assert f"{found.plan.horizon:,} events" in figure.axes[1].get_title(loc="left")
    assert str(found.privacy) in figure.axes[1].get_xlabel()


def test_words_neither_overlap_nor_leave_the_picture(found):
    figure = draw_plan(found)
    FigureCanvasAgg(figure).draw()
    boxes = [text.get_window_extent() for text in texts(figure)]
    for one, other in itertools.combinations(boxes, 2):
        assert not one.overlaps(other)
    for box in boxes:
        assert figure.bbox.containsx(box.x0)
        assert figure.bbox.containsx(box.x1)
        assert figure.bbox.containsy(box.y0)
        assert figure.bbox.containsy(box.y1)
