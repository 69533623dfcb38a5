"""Draw what every problem learned in private, next to the best: `python -m benchmarks.problem_figures [NAME ...]`.

Writes docs/figures/problem-NAME.png and prints the figures of the run. Instances were tuned on seeds below 10; the
optimizer's seed here is held out.
"""

import sys
import time
from pathlib import Path

import sottovoce as sv
from benchmarks.harness import show
from sottovoce.lab.simulation import decision_of
from sottovoce.models import segment_text
from sottovoce.report import decision_figure

FOLDER = Path(__file__).parents[1] / "docs" / "figures"
EVENTS, SEED = 200_000, 101
MOST = 200_000  # bytes that an image may have


def learned(problem, epsilon):
    """Return the optimizer that a run ends with, the run, and its seconds."""
    privacy = sv.NoPrivacy() if epsilon is None else sv.PureDP(epsilon)
    started = time.perf_counter()
    optimizer = problem.optimizer(horizon=EVENTS, privacy=privacy, seed=SEED, noise=sv.SimulatedNoise(SEED))
    run = sv.lab.simulate(optimizer, problem.environment, record=2)
    return optimizer, run, time.perf_counter() - started


def panels_of(problem, optimizer):
    """Return what is drawn side by side: learned next to best, or one for all next to those of two segments."""
    if problem.environment.segments is None:
        return {
            "at the start": problem.domain.center,
            "learned privately, epsilon = 1": decision_of(optimizer),
            "best in hindsight": problem.environment.comparator(EVENTS).point,
        }
    found = optimizer.recommend()
    largest = sorted(found, key=lambda one: -found.sizes[one])[:2]
    learned_for = {f"for {segment_text(one)}": found[one].x for one in largest}
    return {"for all segments": found.x, **learned_for}


def draw(name):
    """Write the figure of one problem and return a row for each run."""
    problem = sv.lab.problems.PROBLEMS[name]()
    rows = []
    for epsilon in (None, 1.0, 0.1):
        optimizer, run, seconds = learned(problem, epsilon)
        words = "no privacy" if epsilon is None else f"epsilon {epsilon:g}"
        figures = f"{run.regret_per_event:.4f}", f"{run.no_learning_per_event:.4f}", f"{seconds:.1f}"
        rows.append((name, words, *figures))
        if epsilon == 1.0:
            panels = panels_of(problem, optimizer)
    path = FOLDER / f"problem-{name}.png"
    decision_figure(problem, panels).savefig(path, dpi=120)
    assert path.stat().st_size <= MOST, f"{path} has {path.stat().st_size} bytes"
    return rows


def main():
    FOLDER.mkdir(exist_ok=True)
    names = sys.argv[1:] if __name__ == "__main__" else []
    rows = [row for name in names or sv.lab.problems.PROBLEMS for row in draw(name)]
    show(
        "problem_figures",
        "What was learned",
        ("problem", "privacy", "regret per event", "never learning", "seconds"),
        rows,
    )


if __name__ == "__main__":
    main()
