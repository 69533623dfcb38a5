"""Segments in the page of a run, in a real browser: three or two hundred fit a phone, in light and dark."""

import itertools
from dataclasses import replace

import pytest

import sottovoce as sv
from sottovoce.report import run_report

OUTSIDE = """
return Array.from(document.querySelectorAll("#segments-shown svg.chart")).flatMap(chart => {
  const frame = chart.closest("figure").getBoundingClientRect(), base = chart.getBoundingClientRect().bottom;
  return Array.from(chart.querySelectorAll("text")).filter(text => {
    const mine = text.getBoundingClientRect();
    return mine.left < frame.left - 1 || mine.right > frame.right + 1 || mine.bottom > base + 1;
  }).map(text => text.textContent);
});
"""


def many(found, count):
    """What is recommended for a few segments, for so many."""
    like = dict(zip([f"a country called {number}" for number in range(count)], itertools.cycle(found), strict=False))
    parts = {name: {one: getattr(found, name)[same] for one, same in like.items()} for name in ("segments", "gains")}
    sizes = {one: found.sizes[same] - place for place, (one, same) in enumerate(like.items())}
    return replace(found, **parts, sizes=sizes)


@pytest.fixture(scope="module", params=[3, 200])
def page(request, tmp_path_factory):
    problem = sv.lab.problems.Editions(items=10, slots=3, segments=3, differ=1.0)
    optimizer = problem.optimizer(horizon=3_000, privacy=sv.NoPrivacy(), seed=1)
    run = sv.lab.simulate(optimizer, problem.environment)
    found = many(optimizer.recommend(), request.param)
    path = tmp_path_factory.mktemp("segments") / "page.html"
    return run_report(run, path, points=[found.x], segments=[found], problem=problem)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_it_fits_and_loads_nothing(browser, show, page, scheme, width):
    browser.get_log("browser")
    show(browser, page, width=width, scheme=scheme)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert browser.execute_script("return document.querySelectorAll('#segments-shown svg.chart').length") == 1
    assert browser.execute_script(OUTSIDE) == []
    assert browser.get_log("browser") == []


def test_a_head_sorts_segments_by_the_exact_value(browser, show, page):
    show(browser, page)
    events = (
        "return Array.from(document.querySelectorAll('#segments tbody tr')).map(row => +row.children[3].dataset.value)"
    )
    assert browser.execute_script(events) == sorted(browser.execute_script(events), reverse=True)
    browser.execute_script("document.querySelectorAll('#segments thead th')[3].querySelector('button').click()")
    assert browser.execute_script(events) == sorted(browser.execute_script(events))
