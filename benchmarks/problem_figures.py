"""Draw what every problem learned in private, next to the best: `python -m benchmarks.problem_figures [NAME ...]`.

Writes docs/figures/problem-NAME.png and prints the figures of the run. Instances were tuned on seeds below 10; the
optimizer's seed here is held out.
"""

import sys
import time
from pathlib import Path

import sottovoce as sv
from benchmarks.harness import show
from sottovoce.report import decision_figure

FOLDER = Path(__file__).parents[1] / "docs" / "figures"
EVENTS, SEED = 200_000, 101
MOST = 200_000  # bytes that an image may have


def learned(problem, epsilon):
    """Return the point that a run ends at, the run, and its seconds."""
    privacy = sv.NoPrivacy() if epsilon is None else sv.PureDP(epsilon)
    started = time.perf_counter()
    optimizer = problem.optimizer(horizon=EVENTS, privacy=privacy, seed=SEED, noise=sv.SimulatedNoise(SEED))
    run = sv.simulate(optimizer, problem.environment, record=2)
    return optimizer.point, run, time.perf_counter() - started


def draw(name):
    """Write the figure of one problem and return a row for each run."""
    problem = sv.problems.PROBLEMS[name]()
    rows = []
    for epsilon in (None, 1.0, 0.1):
        point, run, seconds = learned(problem, epsilon)
        words = "no privacy" if epsilon is None else f"epsilon {epsilon:g}"
        figures = f"{run.regret_per_event:.4f}", f"{run.no_learning_per_event:.4f}", f"{seconds:.1f}"
        rows.append((name, words, *figures))
        if epsilon == 1.0:
            shown = point
    best = problem.environment.comparator(EVENTS).point
    panels = {
        "at the start": problem.domain.center,
        "learned privately, epsilon = 1": shown,
        "best in hindsight": best,
    }
    path = FOLDER / f"problem-{name}.png"
    decision_figure(problem, panels).savefig(path, dpi=120)
    assert path.stat().st_size <= MOST, f"{path} has {path.stat().st_size} bytes"
    return rows


def main():
    FOLDER.mkdir(exist_ok=True)
    names = sys.argv[1:] if __name__ == "__main__" else []
    rows = [row for name in names or sv.problems.PROBLEMS for row in draw(name)]
    show(
        "problem_figures",
        "What was learned",
        ("problem", "privacy", "regret per event", "never learning", "seconds"),
        rows,
    )


if __name__ == "__main__":
    main()
