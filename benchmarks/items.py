"""Feedback by item: what is lost, in per cent of never learning, beside what a prototype had reached.

`python -m benchmarks items` takes ten seeds, on which no constant was chosen: mean, and the worst in brackets.
`python -m benchmarks.items --worlds "5 of 20" --horizons 10000 --feedback decision` takes a part, and plays it
by one number a decision; `--feedback cucb` plays private CUCB (private_cucb.py), with the best of six
radii on the very seeds that it is judged by.
"""

import argparse
import functools
import math
import time

import numpy as np

import sottovoce as sv
from benchmarks.private_cucb import PrivateCUCB
from benchmarks.worlds import NONE, ONE, TENTH, in_parallel

FIRST_SEED, SEEDS = 100, 10
RADII = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003)  # of CUCB
PRIVACY = {"none": NONE, "1": ONE, "0.1": TENTH}
HORIZONS = (10_000, 100_000, 1_000_000)
# What the prototype reached: columns without privacy, epsilon 1, epsilon 0.1, by horizon.
EXPECTED = {
    "5 of 20": ((2.2, 5.4, 43), (0.3, 0.9, 4.6), (0.1, 0.1, 0.6)),
    "8 of 50": ((2.3, 10, 51), (0.5, 1.9, 9.3), (0.2, 0.2, 1.6)),
    "20 of 1000": ((8.5, 56, 88), (2.6, 15, 55), (1.1, 3.8, 16)),
    "clicks 1-5%": ((23, 44, 82), (8, 13, 34), (1.6, 2.1, 7)),
    "paths": ((0.9, 12, 65), (0.2, 2.4, 12), (0.0, 0.3, 2.3)),
}


class World:
    """Mean values of items, and people who tell them."""

    def __init__(self, name, seed):
        rng = np.random.default_rng(10_000 + seed)
        self.name, self.most, self.range = name, None, (0.0, 1.0)
        if name == "paths":
            side = range(6)
            edges = [((i, j), (i, j + 1)) for i in side for j in range(5)]
            edges += [((i, j), (i + 1, j)) for i in range(5) for j in side]
            self.domain = sv.domains.Paths(edges, source=(0, 0), target=(5, 5))
            low, high = 0.2, 0.8
        elif name.startswith("clicks"):
            self.domain, self.most, self.range = sv.domains.Hypersimplex(50, 8), 1.0, (-1.0, 0.0)
            low, high = (0.01, 0.05) if name == "clicks 1-5%" else (0.002, 0.01)
        else:
            k, n = map(int, name.split(" of "))
            self.domain, low, high = sv.domains.Hypersimplex(n, k), 0.2, 0.8
        sign = 1.0 if self.most is None else -1.0
        self.losses = sign * rng.uniform(low, high, self.domain.dimension)
        self.rng = np.random.default_rng(20_000 + seed)
        self.best = float(self.losses @ self.domain.extreme_point(self.losses))
        costs = np.random.default_rng(5).random((500, self.domain.dimension))
        self.never = float(np.mean([self.domain.extreme_point(cost) @ self.losses for cost in costs])) - self.best

    def told(self, chosen):
        """Return what people tell of what they were shown."""
        means = self.losses[chosen]
        if self.name == "paths":  # graded, with a variance of .02
            return np.clip(means + math.sqrt(0.02) * self.rng.standard_normal(means.shape), 0, 1)
        return np.sign(means) * (self.rng.random(means.shape) < np.abs(means))


def lost(task):
    """Return the share of what never learning loses that a run has lost."""
    name, privacy, horizon, seed, feedback, *radius = task
    world = World(name, seed)
    items = {"feedback": "items", "most": world.most, "loss_range": world.range}
    whole = world.domain.most_chosen if world.most is None else world.most
    low, high = whole * np.array(world.range)
    make = functools.partial(PrivateCUCB, radius=radius[0]) if feedback == "cucb" else sv.PrivateBandit
    optimizer = make(
        world.domain,
        horizon=horizon,
        privacy=PRIVACY[privacy],
        integral=True,
        seed=seed,
        noise=sv.SimulatedNoise(seed),
        **({"loss_range": (float(low), float(high))} if feedback == "decision" else items),
    )
    regret = 0.0
    while optimizer.remaining:
        actions = optimizer.ask_round(100_000)
        chosen = actions.indices
        if name == "paths":
            chosen = [world.domain.in_order(one) for one in chosen]
        chosen = np.array(chosen)
        regret += float((world.losses[chosen].sum(axis=1) - world.best).sum())
        told = world.told(chosen)
        optimizer.tell(actions.ids, told.sum(axis=1) if feedback == "decision" else told)
    return regret / (horizon * world.never)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--worlds", nargs="*", default=list(EXPECTED))
    parser.add_argument("--horizons", nargs="*", type=int, default=list(HORIZONS))
    parser.add_argument("--privacy", nargs="*", default=list(PRIVACY))
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--feedback", choices=("items", "decision", "cucb"), default="items")
    options, _ = parser.parse_known_args()
    seeds = range(FIRST_SEED, FIRST_SEED + options.seeds)
    for name in options.worlds:
        for horizon in options.horizons:
            row = []
            for privacy in options.privacy:
                begin = time.perf_counter()
                extra = [(one,) for one in RADII] if options.feedback == "cucb" else [()]
                tasks = [(name, privacy, horizon, seed, options.feedback, *more) for more in extra for seed in seeds]
                runs = 100 * np.array(in_parallel(lost, tasks)).reshape(len(extra), -1)
                shares = min(runs, key=np.mean)
                expected = EXPECTED[name][HORIZONS.index(horizon)][list(PRIVACY).index(privacy)]
                seconds = (time.perf_counter() - begin) / len(seeds)
                row.append(
                    f"{privacy}: {shares.mean():.2f} ({shares.max():.1f}) of {expected}"
                    f" = {shares.mean() / max(expected, 0.05):.2f}  {seconds:.1f} s"
                )
            print(f"{name:12s} {horizon:9d}  " + " | ".join(row), flush=True)


if __name__ == "__main__":
    main()
