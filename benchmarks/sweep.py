"""Sweeps: both cores busy, and 100 cells of 10^5 events in 20 dimensions within 10 minutes on 2 cores."""

import tempfile
import time

from benchmarks.harness import show
from sottovoce.experiments import grid, run_sweep

JOBS, CELLS, EVENTS = 2, 100, 100_000


def main():
    cells = grid(
        ["ball:dimension=20"],
        ["default", "no-privacy", "paper-gaussian", "garber-kretzu"],
        epsilons=[1.0],
        horizons=[EVENTS],
        seeds=range(CELLS // 4),
    )
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        sweep = run_sweep(folder, cells, command="python -m benchmarks sweep", jobs=JOBS)
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


if __name__ == "__main__":
    main()
