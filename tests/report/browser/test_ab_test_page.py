"""The page of an A/B test in a real browser: it fits a phone, in light and dark, and names keep to their place."""

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.report import ab_test_report

SCHEDULE = (100, 100, 300)
OVERLAPS = """
return Array.from(document.querySelectorAll("svg.chart g text")).filter(text => {
  const mine = text.getBoundingClientRect(), chart = text.closest("svg").getBoundingClientRect();
  const others = Array.from(text.closest("svg").querySelectorAll("text")).filter(one => one !== text);
  const beside = one => mine.right < one.left || one.right < mine.left;
  const meets = one => !beside(one) && mine.top + 3 < one.bottom && one.top + 3 < mine.bottom;
  return mine.right > chart.right || others.some(one => meets(one.getBoundingClientRect()));
}).map(text => text.textContent);
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """Three arms, one with a name that is too long to draw, after two of three looks."""
    evaluations = sv.PrivateEvaluations((0.0, 1.0), sv.PureDP(1.0), noise=sv.SimulatedNoise(1))
    coins, arms = np.random.default_rng(0), {name: [] for name in ("the old page", "B", "w" * 60)}
    for events in SCHEDULE[:2]:
        for name, found in arms.items():
            found.append(evaluations.open(events))
            found[-1].tell(coins.random(events) < 0.5 - 0.4 * (name == "B"))
    comparison = sv.ab_test(arms, schedule=SCHEDULE, pairs="all")
    path = tmp_path_factory.mktemp("ab") / "page.html"
    return ab_test_report(path, comparison, privacy=evaluations.privacy, command="sottovoce abtest run events.csv")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_it_fits_and_loads_nothing(browser, show, page, scheme, width):
    browser.get_log("browser")
    show(browser, page, width=width, scheme=scheme)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert browser.execute_script(OVERLAPS) == []
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0
    assert browser.get_log("browser") == []
