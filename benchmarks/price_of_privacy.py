"""What epsilon costs: regret per event on two problems, at two horizons and several epsilons."""

import statistics

import sottovoce as sv
from benchmarks.harness import show
from sottovoce.lab.problems import BallTracking, Slate

EPSILONS = (0.1, 0.3, 1.0, 3.0)
HORIZONS = (100_000, 1_000_000)
SEEDS = range(101, 105)  # constants of the plans were chosen on other seeds


def run(problem, horizon, privacy, seed):
    optimizer = problem.optimizer(horizon=horizon, privacy=privacy, seed=seed, noise=sv.SimulatedNoise(seed))
    return sv.lab.simulate(optimizer, problem.environment, record=2)


def cell(kind, horizon, privacy):
    """Mean regret per event over the seeds, and that of never learning."""
    runs = [run(kind(seed=seed), horizon, privacy, seed) for seed in SEEDS]
    regret = statistics.mean(one.regret_per_event for one in runs)
    return regret, statistics.mean(one.no_learning_per_event for one in runs)


def main():
    rows = []
    for kind in (Slate, BallTracking):
        for horizon in HORIZONS:
            free, never = cell(kind, horizon, sv.NoPrivacy())
            private = [cell(kind, horizon, sv.PureDP(epsilon))[0] for epsilon in EPSILONS]
            shares = [f"{regret:.3f} ({max(0.0, 1 - regret / never):.0%})" for regret in [*private, free]]
            rows.append((f"{kind.name}, {horizon // 1000}k", f"{never:.3f}", *shares))
    show(
        "price_of_privacy",
        "Regret per event (and what was learned, of what a fixed point can gain), mean of 4 seeds, noise simulated",
        ["", "never learning", *(f"ε = {epsilon:g}" for epsilon in EPSILONS), "no privacy"],
        rows,
    )


if __name__ == "__main__":
    main()
