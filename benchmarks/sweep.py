"""Sweeps: both cores busy, 100 cells of 10^5 events in 20 dimensions within 10 minutes; what a Dask cluster adds."""

import tempfile
import time
from pathlib import Path

from benchmarks.harness import show
from sottovoce import lab

JOBS, CELLS, EVENTS = 2, 100, 100_000
FEW, MANY = 20, 220  # small cells: what the second 200 take is free of all that is done once


def main():
    with tempfile.TemporaryDirectory() as folder:
        busy_cores(folder)
        besides_the_cells(Path(folder))


def busy_cores(folder):
    cells = lab.grid(
        ["ball:dimension=20"],
        ["default", "no-privacy", "paper-gaussian", "garber-kretzu"],
        epsilons=[1.0],
        horizons=[EVENTS],
        seeds=range(CELLS // 4),
    )
    started = time.perf_counter()
    sweep = lab.sweep(folder, cells, command="python -m benchmarks sweep", jobs=JOBS)
    wall = time.perf_counter() - started
    done = [result for result in sweep.results if result.status == "done"]
    busy = sum(result.seconds for result in done)
    show(
        "sweep",
        f"{len(cells)} cells of {EVENTS:,} events in 20 dimensions, {JOBS} processes (aim: 600 s, and 85% busy)",
        ["", ""],
        [
            ("cells done", len(done)),
            ("wall clock, s", f"{wall:.1f}"),
            ("seconds of all cells together", f"{busy:.1f}"),
            (f"share of {JOBS} processes' time spent in cells", f"{busy / (JOBS * wall):.1%}"),
            ("million events per second", f"{len(done) * EVENTS / wall / 1e6:.2f}"),
        ],
    )


def besides_the_cells(folder):
    """Compare processes of this machine with as many workers of a Dask cluster on it, on small cells."""
    from distributed import Client, LocalCluster

    options = {"n_workers": JOBS, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        rows = [
            timed("processes of this machine", folder / "local", {"jobs": JOBS}),
            timed("workers of a Dask cluster on it", folder / "cluster", {"executor": client.get_executor(pure=False)}),
        ]
    columns = ["", "first cell done, s", "in a cell, ms", "besides, ms of a worker", "cells/s"]
    show("sweep_cluster", f"What a cell costs besides itself, {JOBS} workers, cells of 500 events", columns, rows)


def timed(name, folder, where):
    cells = lab.grid(["ball:dimension=5"], ["no-privacy"], epsilons=[1.0], horizons=[500], seeds=range(MANY))
    started = time.perf_counter()
    times, seconds = [], []

    def note(standing):
        if standing.latest is not None:
            times.append(time.perf_counter() - started)
            seconds.append(standing.latest.seconds)

    lab.sweep(folder, cells, progress=note, **where)
    each = (times[-1] - times[FEW - 1]) / (MANY - FEW)
    inside = sum(seconds[FEW:]) / (MANY - FEW)
    return (name, f"{times[0]:.1f}", f"{1e3 * inside:.1f}", f"{1e3 * (JOBS * each - inside):.1f}", f"{1 / each:.0f}")


if __name__ == "__main__":
    main()
