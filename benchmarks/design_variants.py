"""Variants of designs, each changing one choice of the default: the table in benchmarks/README.md."""

import statistics

import sottovoce as sv
from benchmarks.harness import show
from benchmarks.regret import EVENTS
from benchmarks.worlds import grid

SEEDS = (101, 102, 103)  # held out: the default was chosen on others
VARIANTS = {
    "default": {},
    "step_multiplier=1": {"step_multiplier": 1},
    "step_multiplier=6": {"step_multiplier": 6},
    "decay=0": {"decay": 0.0},
    "reuse=True": {"reuse": True},
}


def regret(make_environment, epsilon, choices):
    values = []
    for seed in SEEDS:
        environment = make_environment(seed)
        optimizer = sv.PrivateBandit(
            environment.domain,
            horizon=EVENTS,
            loss_range=environment.loss_range,
            privacy=sv.PureDP(epsilon),
            losses="linear",
            integral=True,
            seed=seed,
            noise=sv.SimulatedNoise(seed),
            **choices,
        )
        values.append(sv.lab.simulate(optimizer, environment, record=2).final_regret / EVENTS)
    return f"{statistics.mean(values):.4f}"


def main():
    paths, slate = sv.domains.Paths(grid(5), source=0, target=24), sv.domains.Hypersimplex(20, 5)
    columns = {
        "paths, 1": (lambda seed: sv.lab.NoisyLinear(paths, seed=seed), 1.0),
        "paths, 0.1": (lambda seed: sv.lab.NoisyLinear(paths, seed=seed), 0.1),
        "5 of 20, 1": (lambda seed: sv.lab.NoisyLinear(slate, seed=seed), 1.0),
        "5 of 20, 0.1": (lambda seed: sv.lab.NoisyLinear(slate, seed=seed), 0.1),
        "paths, switch, 1": (lambda seed: sv.lab.Switching(paths, seed=seed), 1.0),
    }
    rows = [(name, *(regret(*column, choices) for column in columns.values())) for name, choices in VARIANTS.items()]
    show("design_variants", "Regret per event; the number is epsilon", ["", *columns], rows)


if __name__ == "__main__":
    main()
