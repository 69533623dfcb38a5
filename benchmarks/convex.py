"""Convex losses: posterior probes beside the worst-case plan (frames), one run, on seeds on which nothing was chosen.

python -m benchmarks convex                      # 10^6 events, four problems, three epsilons
python -m benchmarks.convex --long               # floors as well: 10^5 to 10^7 events; hours
python -m benchmarks.convex --seeds 3 --only pricing planes-10
python -m benchmarks.convex --events 1e3 2e3 1e4 --epsilons 1  # few events: beside never learning
python -m benchmarks.convex --said 50 --events 2e4 --epsilons 1  # how often what recommend() says holds
"""

import argparse
import json
import statistics
import time

import numpy as np
from scipy.optimize import linprog

import sottovoce as sv
from benchmarks.harness import RESULTS, show
from sottovoce.lab import FiniteEnvironment

EVENTS = 1_000_000
SEEDS = range(301, 311)  # constants were chosen on seeds below 100
PRIVACIES = {"none": sv.NoPrivacy(), "1": sv.PureDP(1.0), "0.1": sv.PureDP(0.1)}
PLANS = {"posterior": {"exploration": "posterior"}, "worst-case": {"plan": "worst-case"}}
KINDS = 256


class Targets(FiniteEnvironment):
    """Losses in [0, 1] that depend on where each coordinate lies to a target that scatters around its home."""

    def __init__(self, dimension, seed):
        super().__init__(sv.domains.Box(-np.ones(dimension), np.ones(dimension)), seed)
        rng = self._design_rng()
        home, scatter = rng.uniform(-0.7, 0.7, dimension), rng.uniform(-0.3, 0.3, (KINDS, dimension))
        self.library = Pinballs(home + scatter, rng.uniform(0.2, 0.8, dimension))
        self.loss_range, self.lipschitz = (0.0, 1.0), 1.0 / dimension**0.5

    def schedule(self, start, size, rng):
        return rng.integers(0, KINDS, size=size)


class Pinballs:
    """Mean over coordinates of the pinball loss, of a level of its own for each."""

    def __init__(self, targets, levels):
        self.targets, self.levels = targets, levels

    def __len__(self):
        return len(self.targets)

    def losses(self, actions, kinds):
        short = self.targets.take(kinds, axis=0) - actions
        return np.maximum(self.levels * short, (self.levels - 1) * short).mean(axis=1) / 1.6

    def best(self, domain, weights):
        found = []
        for targets, level in zip(self.targets.T, self.levels, strict=True):
            order = np.argsort(targets)
            found.append(targets[order][np.searchsorted(np.cumsum(weights[order]), level)])
        return np.array(found)

    def gradient(self, point, weights):
        return np.zeros(len(point))  # the quantiles are exact


class Planes(FiniteEnvironment):
    """The largest of 40 planes over a box, in [0, 1], and a level that is drawn for each event."""

    def __init__(self, dimension, seed):
        super().__init__(sv.domains.Box(-np.ones(dimension), np.ones(dimension)), seed)
        rng = self._design_rng()
        slopes = rng.standard_normal((40, dimension)) / dimension**0.5
        self.library = LargestPlane(slopes, rng.uniform(-0.3, 0.3, 40), rng.uniform(-0.1, 0.1, KINDS))
        self.loss_range, self.lipschitz = (0.0, 1.0), float(np.linalg.norm(self.library.slopes, axis=1).max())

    def schedule(self, start, size, rng):
        return rng.integers(0, KINDS, size=size)


class LargestPlane:
    """max_j <g_j, x> + h_j, scaled so that the box's largest and least values are 0.9 and, about, 0.1; and a level."""

    def __init__(self, slopes, heights, levels):
        largest = float((np.abs(slopes).sum(axis=1) + heights).max())
        least = float(linprog(*_program(slopes, heights), bounds=_bounds(slopes)).fun)
        scale = 0.8 / (largest - least)
        self.slopes, self.heights, self.levels = scale * slopes, scale * (heights - least) + 0.1, levels

    def __len__(self):
        return len(self.levels)

    def losses(self, actions, kinds):
        planes = np.atleast_2d(actions) @ self.slopes.T + self.heights
        return planes.max(axis=1) + self.levels.take(kinds)

    def best(self, domain, weights):
        return linprog(*_program(self.slopes, self.heights), bounds=_bounds(self.slopes)).x[:-1]

    def gradient(self, point, weights):
        return np.zeros(len(point))  # a linear program is exact


def _program(slopes, heights):
    """Least z with z >= <g_j, x> + h_j."""
    cost = np.append(np.zeros(slopes.shape[1]), 1.0)
    return cost, np.column_stack([slopes, -np.ones(len(slopes))]), -heights


def _bounds(slopes):
    return [(-1, 1)] * slopes.shape[1] + [(None, None)]


WORLDS = {
    "ball-10": lambda seed: sv.lab.MovingTarget(sv.domains.Ball(10), seed=seed),
    "pricing": lambda seed: sv.lab.problems.Pricing(seed=seed).environment,
    "routing": lambda seed: sv.lab.problems.Routing(seed=seed).environment,
    "pinball-10": lambda seed: Targets(10, seed),
    "planes-10": lambda seed: Planes(10, seed),
    "planes-30": lambda seed: Planes(30, seed),
    "simplex-200": lambda seed: sv.lab.MovingTarget(sv.domains.Simplex(200), seed=seed),
}
FLOORS = ("ball-10", "pinball-10", "planes-10")  # distances, pinball, piecewise-linear
USUAL = ("ball-10", "pricing", "routing", "pinball-10", "planes-10")


def run(world, seed, events, privacy, options):
    """Return regret per event, that of never learning, the seconds of the run, and what there is to ask."""
    environment = WORLDS[world](seed)
    optimizer = sv.PrivateBandit(
        environment.domain,
        horizon=events,
        loss_range=environment.loss_range,
        privacy=PRIVACIES[privacy],
        seed=seed,
        noise=sv.SimulatedNoise(seed),
        **options,
    )
    started = time.perf_counter()
    played = sv.lab.simulate(optimizer, environment, record=2)
    seconds = time.perf_counter() - started
    return played.final_regret / events, played.no_learning_per_event, seconds, (optimizer, environment)


def compare(world, events, privacy, seeds):
    """Return mean, worst, and seconds of each plan."""
    found = {}
    for plan, options in PLANS.items():
        runs = [run(world, seed, events, privacy, options) for seed in seeds]
        values = [regret for regret, *_ in runs]
        found[plan] = {
            "mean": statistics.mean(values),
            "worst": max(values),
            "share": statistics.mean(values) / statistics.mean(still for _, still, *_ in runs),
            "seconds": statistics.median(seconds for _, _, seconds, _ in runs),
        }
    ratio = found["posterior"]["mean"] / found["worst-case"]["mean"]
    return {"world": world, "events": events, "epsilon": privacy, "ratio": ratio, **found}


def said(world, events, privacy, seeds):
    """Return how often the stated shortfall and loss hold, and the median of stated over true shortfall."""
    short, told, ratios = 0, 0, []
    for seed in seeds:
        optimizer, environment = run(world, seed, events, privacy, PLANS["posterior"])[-1]
        found, best = optimizer.recommend(), environment.comparator(events)
        here, least = (environment.cumulative_loss(x, [events])[0] / events for x in (found.x, best.point))
        short += here - least <= found.shortfall[1]
        told += abs(here - found.loss) <= 1.96 * found.deviation
        ratios.append(found.shortfall[1] / max(here - least, 1e-9))
    return (
        world,
        f"{events:.0e}",
        privacy,
        f"{short}/{len(seeds)}",
        f"{told}/{len(seeds)}",
        f"{statistics.median(ratios):.1f}",
    )


def shown(one):
    return f"{1000 * one['mean']:.2f} / {1000 * one['worst']:.2f}"


def main(arguments=()):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.convex", description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=float, nargs="+", default=[EVENTS])
    parser.add_argument("--epsilons", nargs="+", default=list(PRIVACIES), choices=list(PRIVACIES))
    parser.add_argument("--only", nargs="+", default=list(USUAL), choices=list(WORLDS))
    parser.add_argument("--seeds", type=int, default=len(SEEDS))
    parser.add_argument("--long", action="store_true", help="10^5 to 10^7 events on losses that fit the model badly")
    parser.add_argument(
        "--said", type=int, metavar="RUNS", help="how often what recommend() says holds, in so many runs"
    )
    options = parser.parse_args(list(arguments))
    cells = [(world, int(e), p) for world in options.only for e in options.events for p in options.epsilons]
    if options.long:
        cells += [(world, events, "1") for world in FLOORS for events in (10**5, 10**7)]
    if options.said:
        rows = [said(*cell, range(SEEDS[0], SEEDS[0] + options.said)) for cell in cells]
        names = ["", "events", "epsilon", "shortfall holds", "loss holds", "stated over true, median"]
        show("convex, said", "What recommend() says at the end, at 95%", names, rows)
        return
    rows = []
    RESULTS.mkdir(parents=True, exist_ok=True)
    for cell in cells:
        rows.append(compare(*cell, SEEDS[: options.seeds]))
        (RESULTS / "convex.json").write_text(json.dumps(rows, indent=1))
    show(
        "convex",
        f"Convex losses, regret per event in thousandths, mean / worst of {options.seeds} seeds, noise simulated",
        ["", "events", "epsilon", "posterior", "worst-case", "ratio", "of never learning", "times its time"],
        [
            (
                row["world"],
                f"{row['events']:.0e}",
                row["epsilon"],
                shown(row["posterior"]),
                shown(row["worst-case"]),
                f"{row['ratio']:.2f}",
                f"{row['posterior']['share']:.2f}",
                f"{row['posterior']['seconds'] / row['worst-case']['seconds']:.2f}",
            )
            for row in rows
        ],
    )


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
