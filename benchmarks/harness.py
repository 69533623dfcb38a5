"""What all benchmarks share: timing side by side, and a table that is printed and saved."""

import statistics
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

RESULTS = Path("results/benchmarks")


def seconds(work):
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def side_by_side(contenders, repeats=5):
    """Return the median seconds of each contender; they take turns, so that a busy machine slows all of them alike."""
    times = {name: [] for name in contenders}
    for work in contenders.values():
        work()  # caches, compilation, page faults
    for _ in range(repeats):
        for name, work in contenders.items():
            times[name].append(seconds(work))
    return {name: statistics.median(values) for name, values in times.items()}


def show(name, title, columns, rows):
    """Print a table, and save it as results/benchmarks/NAME.txt."""
    table = Table(title=title, title_justify="left")
    for number, column in enumerate(columns):
        table.add_column(column, justify="left" if number == 0 else "right")
    for row in rows:
        table.add_row(*map(str, row))
    Console().print(table)
    RESULTS.mkdir(parents=True, exist_ok=True)
    with open(RESULTS / f"{name}.txt", "w") as file:
        Console(file=file, width=120).print(table)
