"""Colours and dashes: what is compared can be told apart, in figures as on pages."""

import re

from sottovoce.report import run_report
from sottovoce.report._palette import SHADES, colour, dashes
from sottovoce.report._regret_figure import draw


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
