"""Opening a report in Chromium, against a blank page and a page with as many matplotlib pictures; and sizes."""

import base64
import io
import math
import shutil
import statistics
import tempfile
import time
from html import escape
from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

from benchmarks.harness import show
from sottovoce.lab import Cell, Result, Sweep, run_cell
from sottovoce.lab.sweeps.swept import row_of, write_record
from sottovoce.report import sweep_report

EPSILONS, HORIZONS, SEEDS, REPEATS = (0.1, 0.3, 1.0, 3.0, 10.0), (1_000, 2_000, 4_000), 14, 7
FLAGS = "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
FLAGS += " --disable-component-update --disable-sync"
OPENED = """
const [entry] = performance.getEntriesByType("navigation");
const paint = performance.getEntriesByName("first-contentful-paint")[0];
return [entry.loadEventEnd - entry.startTime, paint ? paint.startTime : null];
"""


def large_sweep(folder):
    """Over 500 cells: each problem and algorithm is run once, and its figures are shaken for the other cells."""
    cells = [
        Cell(problem, algorithm, epsilon, horizon, seed)
        for problem in ("ball", "slate")
        for algorithm in ("default", "no-privacy")
        for epsilon in (EPSILONS if algorithm == "default" else (math.inf,))
        for horizon in HORIZONS
        for seed in range(SEEDS)
    ]
    sweep = Sweep.create(folder, cells, command="sottovoce compare ball slate")
    rng, models = np.random.default_rng(0), {}
    for cell in cells:
        key = cell.problem, cell.algorithm, cell.horizon
        if key not in models:
            models[key] = run_cell(Cell(cell.problem, cell.algorithm, min(cell.epsilon, 1.0), cell.horizon, 0))
        outcome = models[key]
        row = {**{name: getattr(outcome.result, name) for name in Result.__slots__}, "cell": cell}
        write_record(sweep.record_path(cell), Result(**{**row, "regret": row["regret"] * rng.uniform(0.8, 1.2)}))
        outcome.run.save(sweep.run_path(cell))
    return sweep.refreshed()


def picture_page(sweep, path, charts):
    """The plain alternative: the same number of charts as PNG, and the same table without exact values or sorting."""
    run = sweep.run_of(sweep.cells[0])
    images = []
    for _ in range(charts):
        figure = Figure(figsize=(5.2, 3.2), dpi=150)
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        axes.plot(run.events, run.regret)
        axes.fill_between(run.events, 0.9 * run.regret, 1.1 * run.regret, alpha=0.2)
        content = io.BytesIO()
        figure.savefig(content)
        images.append(f'<img src="data:image/png;base64,{base64.b64encode(content.getvalue()).decode()}">')
    rows = ("<tr>" + "".join(f"<td>{escape(str(text))}" for text in row_of(one).values()) for one in sweep.results)
    path.write_text(f"<!doctype html><title>plain</title>{''.join(images)}<table>{''.join(rows)}</table>")
    return path


def opened(browser, page):
    browser.get(page.as_uri())
    while browser.execute_script("return performance.getEntriesByType('navigation')[0].loadEventEnd") == 0:
        time.sleep(0.01)
    return browser.execute_script(OPENED)


def start(folder):
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for flag in (*FLAGS.split(), f"--user-data-dir={folder}"):
        options.add_argument(flag)
    return webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))


def main():
    if not (shutil.which("chromium") and shutil.which("chromedriver")):
        print("reports: not measured, because chromium and chromedriver are not installed (make system)")
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sweep = large_sweep(folder / "sweep")
        started = time.perf_counter()
        report = sweep_report(sweep, folder / "report.html")
        writing = time.perf_counter() - started
        charts = report.read_text().count('class="chart"')
        blank = folder / "blank.html"
        blank.write_text("<!doctype html><title>blank</title><p>blank")
        pages = {
            "blank page": blank,
            f"{charts} matplotlib PNGs and a plain table": picture_page(sweep, folder / "plain.html", charts),
            "report": report,
        }
        browser = start(folder / "profile")
        try:
            times = {name: [] for name in pages}
            for turn in range(REPEATS + 1):
                for name, page in pages.items():
                    load, paint = opened(browser, page)
                    if turn:  # the first one warms the browser up
                        times[name].append((load, paint or load))
        finally:
            browser.quit()
        medians = {
            name: tuple(statistics.median(column) for column in zip(*all_, strict=True)) for name, all_ in times.items()
        }
        plain = list(medians)[1]
        rows = [
            (
                name,
                f"{load:.0f}",
                f"{load / medians[plain][0]:.2f}",
                f"{paint:.0f}",
                f"{pages[name].stat().st_size / 1e6:.2f}",
            )
            for name, (load, paint) in medians.items()
        ]
    show(
        "reports",
        f"Opening the report of {len(sweep.cells)} cells (aims: under 1000 ms and 3 MB); written in {writing:.1f} s",
        ["", "load, ms", "times plain", "first paint, ms", "MB"],
        rows,
    )


if __name__ == "__main__":
    main()
