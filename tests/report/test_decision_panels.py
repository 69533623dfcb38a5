"""Decisions side by side."""

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.report import decision_figure


@pytest.mark.parametrize("name", sv.lab.problems.PROBLEMS)
def test_every_panel_shows_its_decision_under_its_title(name, tmp_path):
    problem = sv.lab.problems.PROBLEMS[name]()
    vertex = problem.domain.extreme_point(np.arange(problem.domain.dimension) % 3.0)
    figure = decision_figure(problem, {"at the start": problem.domain.center, "at a corner": vertex})
    panels = {axes.get_title().strip(): axes for axes in figure.axes}
    assert list(panels)[:2] == ["at the start", "at a corner"]
    assert all(len(panels[title].get_children()) > 10 for title in ("at the start", "at a corner"))
    figure.savefig(tmp_path / "decision.png")
    assert (tmp_path / "decision.png").stat().st_size > 5000


def test_no_decision_is_refused():
    with pytest.raises(ValueError, match="points"):
        decision_figure(sv.lab.problems.Pricing(), {})


def test_a_title_is_not_written_over_what_the_problem_wrote():
    problem = sv.lab.problems.Slate()
    figure = decision_figure(problem, {"where the run started": problem.domain.center})
    figure.canvas.draw()
    (axes,) = figure.axes
    assert axes.get_title(loc="left")
    own, title = axes._left_title.get_window_extent(), axes.title.get_window_extent()
    lines = axes.get_title().split("\n")
    words_end = title.y1 - title.height * sum(1 for line in lines if line) / len(lines)
    assert words_end >= own.y1 - 2  # an empty last line is beside what the problem wrote
