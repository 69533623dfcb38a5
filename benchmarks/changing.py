"""Worlds that change, and worlds made against the learner: posterior probes beside the worst-case plan.

Losses are shares of items that fail by lot. `python -m benchmarks changing` takes ten seeds, on which no constant was
chosen; `python -m benchmarks.changing --seeds 30` takes as many as it is told.
"""

import argparse
from contextlib import contextmanager, nullcontext
from unittest import mock

import numpy as np

import sottovoce as sv
from benchmarks.harness import show
from benchmarks.worlds import (
    NONE,
    ONE,
    POSTERIOR,
    SETS,
    TENTH,
    WORST_CASE,
    in_parallel,
    judged,
    milli,
    optimizer_of,
    over,
    play,
)
from sottovoce.models import changes, linear

EVENTS, SHORT = 1_000_000, 200_000
FIRST_SEED, SEEDS = 501, 10
PRIVACY = {"none": NONE, "1": ONE, "0.1": TENTH}
PLANS = {"posterior": POSTERIOR, "worst-case": WORST_CASE}
MEASURED = {  # with an earlier variant: what is aimed at is 1.3 times these, in thousandths
    ("5 x 5 grid paths", "one switch"): 4.7,
    ("5 x 5 grid paths", "four switches"): 15,
    ("5 x 5 grid paths", "steady drift"): 6.3,
    ("5 of 20", "one switch"): 7.1,
    ("5 of 20", "four switches"): 28,
    ("5 of 20", "steady drift"): 11,
}


def pieces(horizon, *many):
    """Odds that stay for an equal share of the horizon each."""

    def odds(number, position):
        piece = position * len(many) // horizon
        return many[piece], -(-(piece + 1) * horizon // len(many)) - position

    return odds


def at(horizon, share, before, after):
    """Odds that change once, after a share of the horizon."""
    moment = round(share * horizon)
    return lambda number, position: (before, moment - position) if position < moment else (after, horizon)


def moving(horizon, path, steps=400):
    """Odds that move along a path from 0 to 1, in many small steps."""
    return pieces(horizon, *(path((step + 0.5) / steps) for step in range(steps)))


def every(rounds, one, other):
    """Odds that flip after so many of the learner's own rounds: an adversary who knows its schedule."""
    return lambda number, position: ((one, other)[number // rounds % 2], np.inf)


def world(name, dimension, horizon, seed):
    """Return odds by round and position."""
    coins = np.random.default_rng([seed, 3])
    one, other = coins.beta(1, 2, dimension), coins.beta(1, 2, dimension)
    few = coins.permutation(dimension)[: dimension // 4]
    decoys, before, after, hidden = np.zeros(dimension, dtype=bool), one.copy(), one.copy(), one.copy()
    decoys[few] = True
    before[decoys], after[decoys] = 0.02, 0.9
    hidden[np.argsort(one)[: dimension // 4]] = 0.9
    made = {
        "still": lambda: pieces(horizon, one),
        "one switch": lambda: pieces(horizon, one, other),
        "four switches": lambda: pieces(horizon, *(coins.beta(1, 2, dimension) for _ in range(5))),
        "twelve switches": lambda: pieces(horizon, *(coins.beta(1, 2, dimension) for _ in range(13))),
        "steady drift": lambda: moving(horizon, lambda share: (1 - share) * one + share * other),
        "flips every round": lambda: every(1, one, other),
        "flips every third round": lambda: every(3, one, other),
        "flips every eighth round": lambda: every(8, one, other),
        "flips every fiftieth of the horizon": lambda: pieces(horizon, *[one, other] * 25),
        "decoys, good for the first tenth": lambda: at(horizon, 0.1, before, after),
        "silent improvement after a twentieth": lambda: at(horizon, 0.05, hidden, one),
        "slow rotation": lambda: moving(horizon, lambda share: np.roll(one, int(share * dimension)), dimension),
        "four seasons, twice": lambda: moving(
            horizon, lambda share: (one + other) / 2 + np.sin(4 * np.pi * share) * (one - other) / 2
        ),
        "a tenth of events corrupted": lambda: pieces(horizon, 0.9 * one + 0.1 * (1 - one)),
    }
    return made[name]()


def result(task):
    """What one run costs; "unready" is posterior probes with one memory and no reset."""
    name, kind, plan, privacy, horizon, seed = task
    domain, ready = SETS[name](), plan != "unready"
    if plan in sv.lab.baselines.BASELINES:
        given = {"loss_range": (0.0, 1.0), "privacy": PRIVACY[privacy], "noise": sv.SimulatedNoise(seed)}
        rival = sv.lab.baselines.BASELINES[plan](domain, horizon=horizon, seed=seed, **given)
        return play(rival, world(kind, domain.dimension, horizon, seed), seed)
    options = PLANS[plan if ready else "posterior"]
    with nothing_changes() if not ready else nullcontext():
        optimizer = optimizer_of(domain, horizon, PRIVACY[privacy], seed, **options)
        return play(optimizer, world(kind, domain.dimension, horizon, seed), seed)


@contextmanager
def nothing_changes():
    """Believe in a still world for once: one memory, and no surprise is large enough."""
    with (
        mock.patch.object(linear, "MEMORIES", (changes.Memory(np.inf),)),
        mock.patch.object(changes, "_LIMIT", np.inf),
    ):
        yield


def gathered(tasks):
    found = {}
    for task, value in zip(tasks, in_parallel(result, tasks), strict=True):
        found.setdefault(task[:-1], []).append(value)
    return found


def change(seeds):
    names, kinds = list(SETS)[:2], ["one switch", "four switches", "steady drift", "twelve switches"]
    plans = [("posterior", "1"), ("posterior", "0.1"), ("worst-case", "1")]
    tasks = [
        (name, kind, *plan, EVENTS, seed)
        for name in names
        for kind in kinds
        for plan in plans
        for seed in (seeds[:3] if plan[0] == "worst-case" else seeds)  # it has many rounds, and takes its time
    ]
    found, rows = gathered(tasks), []
    for name in names:
        for kind in kinds:
            each = [[one.moment for one in found[(name, kind, *plan, EVENTS)]] for plan in plans]
            aim = MEASURED.get((name, kind))
            share = judged(1000 * float(np.mean(each[0])) / aim, 1.3) if aim else ""
            rows.append((f"{name}, {kind}", *map(milli, each), share))
    title = f"Regret to the best decision of each moment, 10^6 events, thousandths, mean / worst of {len(seeds)}"
    columns = ["", "posterior, ε = 1", "posterior, ε = 0.1", "worst-case, ε = 1", "of what was measured before"]
    show("changing_change", title, columns, rows)


def still(seeds):
    names, plans = list(SETS)[:2], ["unready", "posterior"]
    tasks = [
        (name, "still", plan, privacy, EVENTS, seed)
        for name in names
        for privacy in ("1", "0.1")
        for plan in plans
        for seed in seeds
    ]
    found, rows = gathered(tasks), []
    for name in names:
        for privacy in ("1", "0.1"):
            each = [[one.fixed for one in found[name, "still", plan, privacy, EVENTS]] for plan in plans]
            rows.append((f"{name}, ε = {privacy}", *map(milli, each), judged(over(each[1], each[0]), 1.3)))
    title = "What it costs to be ready where nothing changes, 10^6 events, thousandths, mean / worst"
    columns = ["", "one memory, no reset", "posterior", "ready"]
    show("changing_still", title, columns, rows)


ADVERSARIES = (
    "flips every round",
    "flips every third round",
    "flips every eighth round",
    "flips every fiftieth of the horizon",
    "decoys, good for the first tenth",
    "silent improvement after a twentieth",
    "slow rotation",
    "four seasons, twice",
    "a tenth of events corrupted",
)


def adversaries(seeds):
    tasks = [("5 of 20", kind, plan, "1", SHORT, seed) for kind in ADVERSARIES for plan in PLANS for seed in seeds]
    found, rows = gathered(tasks), []
    for kind in ADVERSARIES:
        each = [[one.fixed for one in found["5 of 20", kind, plan, "1", SHORT]] for plan in PLANS]
        worse = 1000 * (np.mean(each[0]) - np.mean(each[1]))
        rows.append((kind, *map(milli, each), f"{worse:+.1f}"))
    title = "Adversaries, 5 of 20, epsilon = 1, 2 * 10^5 events: regret to the best fixed decision, mean / worst"
    show("changing_adversaries", title, ["", *PLANS, "posterior less worst-case"], rows)


def arms(seeds):
    kinds, plans = ("still", "one switch", *ADVERSARIES[3:6]), ("posterior", "worst-case", "asi-raman-talwar")
    tasks = [
        ("10 arms", kind, plan, privacy, SHORT, seed)
        for kind in kinds
        for privacy in ("1", "0.1")
        for plan in plans
        for seed in (seeds[:3] if privacy == "1" else seeds[:5])  # batches of two events take their time
    ]
    found, rows = gathered(tasks), []
    for kind in kinds:
        for privacy in ("1", "0.1"):
            each = [[one.fixed for one in found["10 arms", kind, plan, privacy, SHORT]] for plan in plans]
            rows.append((f"{kind}, ε = {privacy}", *map(milli, each)))
    title = "Ten arms, 2 * 10^5 events: regret to the best fixed arm, mean / worst; five seeds, three at ε = 1"
    show("changing_arms", title, ["", *plans], rows)


def main(count=SEEDS):
    seeds = range(FIRST_SEED, FIRST_SEED + count)
    change(seeds)
    still(seeds)
    adversaries(seeds)
    arms(seeds)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    main(parser.parse_args().seeds)
