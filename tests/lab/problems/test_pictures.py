"""Pictures of decisions can be read where they are shown small: sizes, and names that keep clear of links."""

import itertools

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from sampling import every
from sottovoce.lab.problems import PROBLEMS, Backbone, Routing
from sottovoce.lab.problems._pictures._lettering import Box, crosses

LEAST = 7.0  # points on a canvas of 4.4 inches: 7.7 pixels on a phone


def drawn(problem, point):
    figure = Figure(figsize=(4.4, 4.2), dpi=100, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    figure.draw_without_rendering()
    problem.draw(axes, point)
    figure.canvas.draw()
    return axes


def box_of(text):
    extent = text.get_window_extent()
    return Box(extent.x0, extent.y0, extent.x1, extent.y1)


@every("name", PROBLEMS)
def test_words_are_large_enough_to_read(name):
    problem = PROBLEMS[name]()
    axes = drawn(problem, problem.domain.center)
    labels = [*axes.texts, *axes.get_xticklabels(), *axes.get_yticklabels(), axes.xaxis.label, axes._left_title]
    sizes = {text.get_text(): text.get_fontsize() for text in labels if text.get_text() and text.get_visible()}
    assert {text: size for text, size in sizes.items() if size < LEAST} == {}


@every("problem", [Routing(), Backbone()])
def test_names_on_a_map_keep_clear_of_the_decision_and_of_each_other(problem):
    point = problem.environment.comparator(10_000).point
    axes = drawn(problem, point)
    faint, strong = (one for one in axes.collections if isinstance(one, LineCollection))
    wide = np.array(strong.get_linewidths()) > 1.3 * np.min(faint.get_linewidths())  # more than 5% of the decision
    ends = axes.transData.transform(np.array(strong.get_segments())[wide].reshape(-1, 2)).reshape(-1, 2, 2)
    named = [text for text in axes.texts if text.get_text() in problem.network.nodes]
    assert len(named) >= 0.8 * len(problem.network.nodes)
    for text in named:
        left, bottom, right, top = box_of(text)
        letters = Box(left + 1, bottom + 2, right - 1, top - 2)  # the room above and below small letters may be crossed
        assert not crosses(letters, ends).any(), text.get_text()
    for one, other in itertools.combinations(axes.texts, 2):
        assert not box_of(one).overlaps(box_of(other)), (one.get_text(), other.get_text())
    assert len(faint.get_segments()) == len(problem.network.links)


def test_a_name_stands_nearest_to_its_own_place():
    problem = Backbone()
    axes = drawn(problem, problem.domain.center)
    places = axes.transData.transform(np.array(problem.network.positions))
    for text in axes.texts:
        if text.get_text() in problem.network.nodes:
            distances = [box_of(text).distance(x, y) for x, y in places]
            assert problem.network.nodes[int(np.argmin(distances))] == text.get_text()


@pytest.mark.long
def test_a_large_network_is_drawn_with_what_has_room():
    problem = Backbone.sized(400)
    axes = drawn(problem, problem.domain.extreme_point(np.random.default_rng(0).random(problem.domain.dimension)))
    assert 10 < len(axes.texts) < len(problem.network.nodes)
    for one, other in itertools.combinations(axes.texts, 2):
        assert not box_of(one).overlaps(box_of(other))


def test_crossing_is_what_points_along_the_segment_say():
    rng = np.random.default_rng(0)
    segments = rng.uniform(0, 4, (300, 2, 2))
    segments[:40, 1, 0] = segments[:40, 0, 0]  # upright
    segments[40:80, 1, 1] = segments[40:80, 0, 1]  # level
    box = Box(1.0, 1.0, 3.0, 2.0)
    along = segments[:, :1] + np.linspace(0, 1, 2001)[:, None] * (segments[:, 1:] - segments[:, :1])
    inside = ((along >= [1.0, 1.0]) & (along <= [3.0, 2.0])).all(axis=2).any(axis=1)
    assert (crosses(box, segments) == inside).mean() > 0.99  # points may step over a corner
    assert inside.any()
    assert not inside.all()
