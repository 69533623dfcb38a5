"""One algorithm, one colour: in figures and on pages."""

import re

import pytest

import sottovoce as sv
from sottovoce.lab import ALGORITHMS
from sottovoce.report import run_report, sweep_report
from sottovoce.report._palette import NO_PRIVACY, SHADES, algorithm_colours, colour, dashes, run_colours
from sottovoce.report.figures import _regret

ENVIRONMENT = sv.lab.MovingTarget(sv.domains.Ball(3))


def played(privacy, plan="auto"):
    options = {"horizon": 300, "loss_range": ENVIRONMENT.loss_range, "seed": 1, "plan": plan}
    optimizer = sv.PrivateBandit(ENVIRONMENT.domain, privacy=privacy, noise=sv.SimulatedNoise(1), **options)
    return sv.lab.simulate(optimizer, ENVIRONMENT)


def line_class(page, name):
    """The number of the colour that a line has on a page."""
    found = {
        re.search(r"\bc(\d)", path.attributes["class"])[1]
        for series in page.tags("g", "series")
        if series.attributes["data-name"] == name
        for path in series.all("path", "line")
    }
    (number,) = found
    return int(number)


@pytest.mark.parametrize("free_first", [False, True])
def test_no_privacy_has_one_colour_everywhere(free_first, make_sweep, grid_of, read_page, tmp_path):
    runs, labels = [played(sv.PureDP(1.0)), played(sv.NoPrivacy())], ["private", "free"]
    algorithms = ("default", "no-privacy")
    if free_first:
        runs, labels, algorithms = runs[::-1], labels[::-1], algorithms[::-1]
    run_page = read_page(run_report(runs, tmp_path / "run.html", labels=labels))
    sweep_page = read_page(sweep_report(make_sweep(grid_of(algorithms=algorithms, seeds=1)), tmp_path / "sweep.html"))
    assert line_class(run_page, "free") == line_class(sweep_page, "no-privacy") == NO_PRIVACY
    assert line_class(run_page, "private") == line_class(sweep_page, "default")
    assert f"--c{NO_PRIVACY}: {colour(NO_PRIVACY)};" in run_page.source
    (free,) = (text for text in _regret.draw(runs, labels).axes[0].texts if text.get_text().startswith("free"))
    assert free.get_color() == colour(NO_PRIVACY)


def test_no_two_algorithms_look_the_same():
    numbers = algorithm_colours([*ALGORITHMS, "default:play=around", "default:delay=1", "<unknown>"])
    assert len(set(numbers.values())) == len(numbers)
    looks = {(number % len(SHADES), dashes(number)) for name, number in numbers.items() if name in ALGORITHMS}
    assert len(looks) == len(ALGORITHMS)


def test_the_colour_of_an_algorithm_does_not_depend_on_its_company():
    alone = {name: algorithm_colours([name])[name] for name in ALGORITHMS}
    assert algorithm_colours(reversed(ALGORITHMS)) == alone


def colours_on(figure):
    """The colour of each run's name in a figure, by its first words."""
    texts = [text for axes in figure.axes for text in axes.texts if text.get_text()]
    return {text.get_text().split("\n")[0]: text.get_color() for text in texts}


def test_an_algorithm_has_one_colour_in_every_figure_and_on_every_page(make_sweep, grid_of, read_page, tmp_path):
    """In the figure of runs, on their page, and on the page of a sweep, whatever the company and the order."""
    plans = {"default": "auto", "worst-case": "worst-case", "paper-laplace": "paper"}
    runs = {name: played(sv.PureDP(1.0), plan=plan) for name, plan in plans.items()}
    runs["no-privacy"] = played(sv.NoPrivacy())
    expected = {name: colour(number) for name, number in algorithm_colours(ALGORITHMS).items()}
    for order in (list(runs), list(runs)[::-1]):
        figure = _regret.draw([runs[name] for name in order], order)
        assert {name: shade for name, shade in colours_on(figure).items() if name in runs} == {
            name: expected[name] for name in runs
        }
        page = read_page(run_report([runs[name] for name in order], tmp_path / "run.html", labels=order))
        assert {name: colour(line_class(page, name)) for name in runs} == {name: expected[name] for name in runs}
    page = read_page(sweep_report(make_sweep(grid_of(algorithms=tuple(runs), seeds=1)), tmp_path / "sweep.html"))
    assert {name: colour(line_class(page, name)) for name in runs} == {name: expected[name] for name in runs}


def test_the_colour_of_no_privacy_is_nobody_elses():
    numbers = algorithm_colours(ALGORITHMS)
    assert [name for name, number in numbers.items() if number % len(SHADES) == NO_PRIVACY] == ["no-privacy"]


def test_two_runs_of_one_algorithm_share_its_colour_and_differ_in_their_dashes():
    runs = [played(sv.PureDP(epsilon)) for epsilon in (1.0, 0.1, 10.0)]
    numbers = run_colours(runs)
    assert {number % len(SHADES) for number in numbers} == {0}
    assert len({dashes(number) for number in numbers}) == 3
