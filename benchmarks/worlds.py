"""Sets and worlds that benchmarks of regret share: items that fail by lot, with odds that stay or change."""

import os
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np

import sottovoce as sv

NONE, ONE, TENTH = sv.NoPrivacy(), sv.PureDP(1.0), sv.PureDP(0.1)
POSTERIOR = {"losses": "linear", "integral": True, "exploration": "posterior"}
WORST_CASE = {"losses": "linear", "integral": True, "plan": "worst-case"}
_BLOCK = 8192  # events at once


def grid(side):
    """Edges of a grid DAG: right and down."""
    nodes = np.arange(side * side).reshape(side, side)
    right = np.stack([nodes[:, :-1].ravel(), nodes[:, 1:].ravel()], axis=1)
    down = np.stack([nodes[:-1].ravel(), nodes[1:].ravel()], axis=1)
    return np.concatenate([right, down])


def thirty_edges():
    """A connected graph of 15 nodes and 30 edges."""
    rng = np.random.default_rng(0)
    edges = {(node, int(rng.integers(node))) for node in range(1, 15)}
    while len(edges) < 30:
        a, b = sorted(rng.choice(15, 2, replace=False).tolist(), reverse=True)
        edges.add((a, b))
    return np.array(sorted(edges))


SETS = {
    "5 x 5 grid paths": lambda: sv.domains.Paths(grid(5), source=0, target=24),
    "5 of 20": lambda: sv.domains.Hypersimplex(20, 5),
    "trees of 30 edges": lambda: sv.domains.SpanningTrees(thirty_edges()),
    "Birkhoff 5": lambda: sv.domains.Birkhoff(5),
    "8 of 50": lambda: sv.domains.Hypersimplex(50, 8),
    "10 arms": lambda: sv.domains.Simplex(10),
}


def optimizer_of(domain, events, privacy, seed, **options):
    return sv.PrivateBandit(
        domain,
        horizon=events,
        loss_range=(0.0, 1.0),
        privacy=privacy,
        seed=seed,
        noise=sv.SimulatedNoise(seed),
        **options,
    )


@dataclass(frozen=True)
class Result:
    """Regret per event: against the best decision of each moment, and against the best fixed one."""

    moment: float
    fixed: float


def play(optimizer, odds, seed):
    """Play to the end; `odds(round, position)` are those of failing, a coordinate each, and how long they stay.

    Losses are realised, regret is counted in expectations: what was played, against what could have been.
    """
    domain, horizon = optimizer.domain, optimizer.remaining
    coins, entries = np.random.default_rng([seed, 7]), domain.extreme_point(np.ones(domain.dimension)).sum()
    position, lost, least, total = 0, 0.0, 0.0, np.zeros(domain.dimension)
    while position < horizon:
        chances, stay = odds(optimizer.round, position)
        actions = optimizer.ask_round(most=int(min(stay, _BLOCK, horizon - position)))
        failed = coins.random(actions.x.shape) < chances
        optimizer.tell(actions.ids, (actions.x * failed).sum(axis=1) / entries)
        size = len(actions.ids)
        position += size
        lost += float((actions.x @ chances).sum())
        least += size * float(chances @ domain.extreme_point(chances))
        total += size * chances
    fixed = float(total @ domain.extreme_point(total))
    return Result((lost - least) / entries / horizon, (lost - fixed) / entries / horizon)


def in_parallel(work, tasks):
    """Return what `work` returns for each task, by all processors."""
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(work, tasks))


def milli(values):
    """Mean and worst, in thousandths."""
    return f"{1000 * np.mean(values):.2f} / {1000 * np.max(values):.2f}"


def over(values, others):
    return float(np.mean(values) / np.mean(others))


def judged(ratio, aim):
    """A ratio, and whether it is what was aimed at."""
    return f"{ratio:.2f} ({'aim' if ratio <= aim else 'MISSED'}: {aim:g})"
