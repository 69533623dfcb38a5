import itertools
import subprocess
import sys
from dataclasses import replace

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from sampling import every
from sottovoce.report import regret_figure
from sottovoce.report._regret_figure import draw

CURVES = ("events", "rounds", "simulation_only_loss", "simulation_only_best_loss", "simulation_only_center_loss")


@pytest.fixture(scope="module")
def run_with(make_run):
    """A run whose regret grows by `slope` per event, where never learning costs 0.4."""

    def make(slope, headline="epsilon = {:g}, pure differential privacy", events=1_000_000):
        return make_run(regret=slope * events, never=0.4 * events, horizon=events, headline=headline, power=1.0)

    return make


def texts_of(figure):
    axes = figure.axes[0]
    return [text for text in (*axes.texts, axes.title, axes._left_title) if text.get_text()]


def test_every_line_is_named_and_the_privacy_is_in_the_picture(run_with):
    headline = "epsilon = 1, pure differential privacy (SIMULATED NOISE: NOT PRIVATE)"
    figure = draw([run_with(0.1, headline), run_with(0.05, "no privacy: NOT PRIVATE")], ["private", "open"])
    written = " ".join(text.get_text() for text in texts_of(figure))
    for part in (
        "private\n0.1 per event",
        "open\n0.05 per event",
        "never learning\n0.4 per event",
        headline,
        "Invented(seed=0)",
    ):
        assert part in written


def test_a_line_that_never_learns_leaves_room_for_those_that_do(run_with):
    """At the right edge 0.01 and 0.03 stand further apart than 0.3 and 0.4, on a logarithmic axis or around zero."""
    for slopes in ([0.3, 0.03, 0.01], [0.3, 0.03, 0.01, -0.02]):
        axes = draw([run_with(slope) for slope in slopes], list("abcd")[: len(slopes)]).axes[0]
        low, middle, high = (axes.transData.transform((1e6, y))[1] for y in (0.01, 0.03, 0.3))
        assert middle - low > 0.08 * axes.bbox.height
        assert high - middle > 0.25 * axes.bbox.height
        assert axes.get_yscale() == ("asinh" if min(slopes) < 0 else "log")


@every(
    "slopes",
    [[0.1], [0.1, 0.1, 0.1], [0.4, 0.39, 0.01, 0.0], [1.2, 0.1, 0.05], [-0.1, -0.1], [0.4, 0.4, 0.4, 0.4, 0.4]],
)
def test_names_neither_overlap_nor_leave_the_picture(run_with, slopes):
    figure = draw(
        [run_with(slope) for slope in slopes], [f"a rather long name, number {i}" for i in range(len(slopes))]
    )
    FigureCanvasAgg(figure).draw()
    boxes = [text.get_window_extent() for text in texts_of(figure)]
    assert len(boxes) == len(slopes) + 3
    for one, other in itertools.combinations(boxes, 2):
        assert not one.overlaps(other)
    for box in boxes:
        assert figure.bbox.containsx(box.x0)
        assert figure.bbox.containsx(box.x1)
        assert figure.bbox.containsy(box.y0)
        assert figure.bbox.containsy(box.y1)


def test_an_interrupted_run_ends_where_it_ended(run_with):
    short = replace(run_with(0.1, events=300_000))
    axes = draw([run_with(0.2), short], ["whole", "short"]).axes[0]
    assert axes.get_xlim()[1] == 1_000_000
    assert sorted(line.get_xdata()[-1] for line in axes.lines if len(line.get_xdata()) > 2) == [300_000, 1e6, 1e6]


@pytest.mark.parametrize("slopes", [[0.0], [0.4, 0.0], [-0.4], [1e-12, 1e12], [0.0, -1e-300]])
def test_odd_regrets_are_drawn(run_with, slopes, tmp_path):
    """Nothing lost at all, less than nothing, and values that are many powers apart."""
    runs = [run_with(slope) for slope in slopes]
    assert regret_figure(runs, tmp_path / "regret.png").stat().st_size > 10_000
    single = replace(runs[0], **{name: getattr(runs[0], name)[-1:] for name in CURVES})
    assert regret_figure(single, tmp_path / "regret.png").is_file()


def test_the_global_state_of_matplotlib_is_left_alone():
    check = "import sys, sottovoce.report; assert 'matplotlib.pyplot' not in sys.modules"
    subprocess.run([sys.executable, "-c", check], check=True)
