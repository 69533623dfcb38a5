"""What is known beforehand: features of 2,000 items, and last season's posterior, beside a cold start.

`python -m benchmarks beforehand`; with `python -m benchmarks.beforehand --items 200 --events 20000` it takes seconds.
"""

import argparse

import numpy as np

from benchmarks.harness import show
from benchmarks.worlds import ONE, POSTERIOR, in_parallel, milli, optimizer_of
from sottovoce.domains import Hypersimplex

SEEDS, SLOTS, FEATURES = 4, 10, 20


def lost(optimizer, odds, seed):
    """Mean regret per event where the share of a slate that fails is a binomial's: no draw for each of its items."""
    world, position, total = np.random.default_rng([seed, 7]), 0, 0.0
    while optimizer.remaining:
        actions = optimizer.ask_round(most=512)
        means = actions.x @ odds / SLOTS
        optimizer.tell(actions.ids, world.binomial(SLOTS, means) / SLOTS)
        position, total = position + len(means), total + float(means.sum())
    return total / position - float(np.sort(odds)[:SLOTS].mean())


def with_features(task):
    """Regret with features that say most of the odds, without them, and of never learning."""
    seed, items, events = task
    world = np.random.default_rng(seed)
    features = world.normal(size=(items, FEATURES))
    own = world.normal(0, 0.03, items)
    odds = np.clip(0.4 + features @ world.normal(0, 0.15 / np.sqrt(FEATURES), FEATURES) + own, 0.02, 0.98)
    domain = Hypersimplex(items, SLOTS)
    found = [
        lost(optimizer_of(domain, events, ONE, seed, **POSTERIOR, features=known), odds, seed)
        for known in (features, None)
    ]
    return *found, float(odds.mean() - np.sort(odds)[:SLOTS].mean())


def with_prior(task):
    """Regret of a cold start, after a season that was nearly the same, and after one that was another."""
    seed, events = task
    world, domain = np.random.default_rng(seed), Hypersimplex(40, SLOTS)
    spring, autumn = world.beta(1, 2, (2, 40))
    summer = np.clip(spring + world.normal(0, 0.05, 40), 0.01, 0.99)
    priors = []
    for odds in (spring, autumn):
        optimizer = optimizer_of(domain, events, ONE, seed, **POSTERIOR)
        lost(optimizer, odds, seed)
        priors.append(optimizer.posterior())
    return tuple(
        lost(optimizer_of(domain, events, ONE, seed + 50, **POSTERIOR, prior=prior), summer, seed + 50)
        for prior in (None, *priors)
    )


def main(items=2000, events=1_000_000):
    found = np.array(in_parallel(with_features, [(seed, items, events) for seed in range(SEEDS)]))
    rows = [("features", milli(found[:, 0])), ("none", milli(found[:, 1])), ("never learning", milli(found[:, 2]))]
    title = f"{SLOTS} of {items:,} items, {FEATURES} features, {events:,} events, epsilon 1: thousandths, mean / worst"
    show("beforehand-features", title, ["known", "regret"], rows)
    found = np.array(in_parallel(with_prior, [(seed, events // 5) for seed in range(SEEDS)]))
    names = ("nothing", "a season nearly the same", "a season that was another")
    rows = [(name, milli(column)) for name, column in zip(names, found.T, strict=True)]
    title = f"{SLOTS} of 40 items, {events // 5:,} events, epsilon 1, after a season: thousandths, mean / worst"
    show("beforehand-prior", title, ["known", "regret"], rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=2000)
    parser.add_argument("--events", type=int, default=1_000_000)
    main(**vars(parser.parse_args()))
