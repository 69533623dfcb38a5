"""A sweep's page holds the numbers of its results, escapes what it shows, and says what failed."""

import csv
import math
import re
import statistics

import pytest

from sottovoce.lab import Cell
from sottovoce.report import sweep_report

EVIL = "<script>alert(1)</script>"
EVIL_ATTRIBUTE = '"><img src=x onerror=alert(2)>'


@pytest.fixture(scope="module")
def sweep(make_sweep):
    return make_sweep(failed=(1, 20), missing=(5,), error="LookupError: no such <b>thing</b>")


@pytest.fixture(scope="module")
def page(sweep, read_page):
    return read_page(sweep_report(sweep, sweep.folder / "report.html"))


def rows_of(sweep):
    with open(sweep.folder / "results.csv", newline="") as file:
        return list(csv.DictReader(file))


def done(sweep, **wanted):
    rows = [row for row in rows_of(sweep) if row["status"] == "done"]
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


def test_means_errors_and_prices_follow_from_the_results_file(page, sweep):
    """Against the standard library's means; the ratio over the seeds that both have."""
    seen = 0
    for algorithm, horizon, epsilon, seeds, regret, share, price, against in page.table("prices-problem-0"):
        mine = done(sweep, algorithm=algorithm[1], horizon=horizon[0], epsilon=epsilon[0])
        each = [float(row["regret"]) / float(row["horizon"]) for row in mine]
        never = [float(row["never_learning"]) / float(row["horizon"]) for row in mine]
        assert int(seeds[0]) == len(mine)
        assert float(regret[0]) == pytest.approx(statistics.fmean(each), rel=1e-12)
        error = statistics.stdev(each) / math.sqrt(len(each))
        assert float(regret[1].split("±")[1]) == pytest.approx(error, rel=0.06)
        assert float(share[0]) == pytest.approx(statistics.fmean(each) / statistics.fmean(never), rel=1e-12)
        if algorithm[1] == "no-privacy":
            assert (price[0], against[1]) == ("nan", "")
            continue
        free = {row["seed"]: float(row["regret"]) for row in done(sweep, algorithm="no-privacy", horizon=horizon[0])}
        pairs = [(float(row["regret"]), free[row["seed"]]) for row in mine if row["seed"] in free]
        ratio = sum(a for a, _ in pairs) / sum(b for _, b in pairs)
        assert float(price[0]) == pytest.approx(ratio, rel=1e-12)
        assert against[1] == "no-privacy"
        seen += 1
    assert seen == 6


def test_the_headline_is_the_price_at_an_epsilon_next_to_one(page):
    (tile,) = page.tags(cls="tile")
    (row,) = (
        row for row in page.table("prices-problem-0") if [row[0][1], row[1][0], row[2][0]] == ["default", "4000", "1.0"]
    )
    (number,) = tile.all(cls="number")
    assert number.text == f"{float(row[6][0]):.2f}×"
    assert "At epsilon 1 the price of privacy is" in tile.text


def test_the_curve_ends_at_the_mean_with_its_standard_error(page, sweep):
    charts = [chart for chart in page.tags("svg", "chart") if "At epsilon 10" in chart.attributes["aria-label"]]
    (series,) = (one for one in charts[0].all("g", "series") if one.attributes["data-name"] == "default")
    last = series.attributes["data-words"].split("|")[-1]
    each = [float(row["regret"]) for row in done(sweep, algorithm="default", epsilon="10.0", horizon="4000")]
    mean, error = (float(part.replace(",", "")) for part in last.split("±"))
    assert mean == pytest.approx(statistics.fmean(each) / 4000, rel=0.006)
    assert error == pytest.approx(statistics.stdev(each) / math.sqrt(len(each)) / 4000, rel=0.06)
    assert list(charts[0].all("path", "band"))


def test_failed_and_missing_cells_are_shown_with_the_reason(page):
    assert "ball:dimension=3 / default, 1 cells: LookupError: no such <b>thing</b>" in page.text
    assert "ball:dimension=3 / no-privacy, 1 cells: LookupError: no such <b>thing</b>" in page.text
    assert "1 of 24 cells has not been run" in page.text
    assert not page.tags("b")


def test_simulated_noise_has_a_banner(page):
    assert [one.attributes["id"] for one in page.tags(cls="banner")] == ["not-private"]
    assert "NOT PRIVATE" in page.tags(cls="banner")[0].text


def test_markup_in_names_commands_and_errors_is_text(make_sweep, read_page, tmp_path):
    cells = [
        Cell(EVIL, EVIL_ATTRIBUTE, epsilon, horizon, seed)
        for epsilon in (1.0, 2.0, math.inf)
        for horizon in (100, 200)
        for seed in range(2)
    ]
    sweep = make_sweep(cells, command=f"sottovoce {EVIL} </code></pre>", failed=(0,), error=f"{EVIL}{EVIL_ATTRIBUTE}")
    page = read_page(sweep_report(sweep, tmp_path / "report.html"))
    assert len(page.tags("script")) == 1
    assert not page.tags("img")
    assert not [one for one in page.tags() if any(name.startswith("on") for name in one.attributes)]
    for text in (EVIL, EVIL_ATTRIBUTE, f"sottovoce {EVIL} </code></pre>"):
        assert text in page.text


def test_a_single_seed_has_no_error(make_sweep, read_page, tmp_path, grid_of):
    page = read_page(sweep_report(make_sweep(grid_of(seeds=1)), tmp_path / "report.html"))
    assert "single seed" in page.text
    assert "±" not in "".join(one.attributes["data-words"] for one in page.tags("g", "series"))
    assert not page.tags("path", "band")


def test_two_settings_of_one_problem_have_different_headlines(make_sweep, grid_of, tmp_path):
    sweep = make_sweep(grid_of(("ball:dimension=3", "ball:dimension=4"), ("no-privacy",)))
    page = sweep_report(sweep, tmp_path / "report.html").read_text(encoding="utf-8")
    headlines = re.findall(r"<h2>(.*?)</h2>", page)
    assert len(headlines) == len(set(headlines))
    assert sum("dimension=" in one for one in headlines) == 2
