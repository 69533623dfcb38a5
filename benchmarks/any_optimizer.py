"""Optuna on people's losses: what privacy costs where the library's own plans do not apply, and which splits are good.

`python -m benchmarks.any_optimizer [price] [convex] [split]` prints these tables, all of them in some five
minutes on one core. Constants of the library (the spread by which events are split, the events of a finalist) were
chosen on seeds 1 to 10; what is printed is of others.
"""

import functools
import itertools
import math
import statistics
import sys

import numpy as np
import optuna

import sottovoce as sv
from benchmarks.harness import show
from sottovoce.integrations.optuna import private_optimize
from sottovoce.privacy.gaussian import mu_for

SEEDS = range(101, 113)
DELTA = 1e-6  # of Gaussian noise on each loss; sums have pure privacy


class Message:
    """Conditional settings: which channel to write to people by, and what else there is to choose depends on that."""

    name, best = "conditional: a channel, its settings", 0.3

    @staticmethod
    def suggest(trial):
        channel = trial.suggest_categorical("channel", ["mail", "push", "letter"])
        if channel == "mail":
            return channel, trial.suggest_int("words", 20, 400, log=True), trial.suggest_float("hour", 0.0, 24.0)
        if channel == "push":
            return (
                channel,
                trial.suggest_float("delay", 0.1, 100.0, log=True),
                trial.suggest_categorical("badge", [0, 1]),
            )
        return channel, trial.suggest_float("weight", 5.0, 100.0), 0

    @staticmethod
    def mean(shown):
        channel, first, second = shown
        if channel == "mail":
            return 0.3 + 0.12 * math.log(first / 80) ** 2 + 0.2 * math.sin((second - 19) * math.pi / 24) ** 2
        if channel == "push":
            return 0.42 + 0.04 * math.log(first / 3) ** 2 + 0.15 * second
        return 0.55 + 0.002 * abs(first - 20)


class Page:
    """Categories that depend on each other: 4 x 5 x 3 x 3 pages, a few of which work."""

    name, best = "categories: 180 pages", 0.1695
    sizes = (4, 5, 3, 3)

    @staticmethod
    def suggest(trial):
        names = ("layout", "colour", "font", "button")
        return tuple(
            trial.suggest_categorical(name, list(range(size))) for name, size in zip(names, Page.sizes, strict=True)
        )

    @staticmethod
    @functools.cache
    def table():
        """Mean losses: what each category adds, and what each pair of them does."""
        coins, total = np.random.default_rng(7), np.full(Page.sizes, 0.5)
        for axis, size in enumerate(Page.sizes):
            total += coins.normal(0, 0.06, size).reshape([-1 if axis == one else 1 for one in range(4)])
        for pair in itertools.combinations(range(4), 2):
            shape = [size if one in pair else 1 for one, size in enumerate(Page.sizes)]
            total += coins.normal(0, 0.04, shape)
        return total.clip(0.02, 0.98)

    @staticmethod
    def mean(shown):
        return float(Page.table()[shown])


class Price:
    """A price that two kinds of people accept up to different limits: two valleys, the wrong one wider."""

    name, best = "non-convex: a price and a fee", 0.7370

    @staticmethod
    def suggest(trial):
        return trial.suggest_float("price", 1.0, 20.0), trial.suggest_float("fee", 0.0, 3.0)

    @staticmethod
    def buys(shown):
        price, fee = shown
        many, few = 1 / (1 + math.exp((price - 6) / 0.6)), 1 / (1 + math.exp((price - 16) / 0.5))
        return (0.62 * many + 0.38 * few) * math.exp(-0.5 * (fee - 0.8) ** 2)

    @classmethod
    def mean(cls, shown):
        return 1 - min(shown[0] / 20, 1.0) * cls.buys(shown)


class Bowl:
    """A convex loss in four coordinates, which the library's own plan is made for."""

    name, best = "convex: a bowl in 4 dimensions", 0.2
    centre = np.array([0.5, -0.3, 0.1, 0.7])

    @staticmethod
    def suggest(trial):
        return tuple(trial.suggest_float(f"x{one}", -1.0, 1.0) for one in range(4))

    @classmethod
    def mean(cls, shown):
        return min(0.2 + 0.1 * float(np.sum((np.array(shown) - cls.centre) ** 2)), 1.0)


def losses_of(problem, shown, size, people):
    """All or nothing, but for a price: who buys loses less the more they pay."""
    if problem is Price:
        return 1 - shown[0] / 20 * (people.random(size) < Price.buys(shown))
    return (people.random(size) < problem.mean(shown)).astype(float)


PROBLEMS = (Message, Page, Price)


@functools.cache
def sigma_of(epsilon):
    return 1 / mu_for(epsilon, DELTA)  # losses in [0, 1]


def world(way, seed):
    """Return evaluations, and the noise that is added to each loss before they see it."""
    noise = sv.SimulatedNoise(seed)
    kind, epsilon = way
    if kind == "sums":
        return sv.PrivateEvaluations((0.0, 1.0), sv.PureDP(epsilon), noise=noise), 0.0
    if kind == "bits":
        return sv.PrivateEvaluations((0.0, 1.0), sv.LocalDP(epsilon), seed=seed), 0.0
    if kind == "each":
        sigma = sigma_of(epsilon)
        return sv.PrivateEvaluations((-10 * sigma, 1 + 10 * sigma), sv.NoPrivacy()), sigma
    return sv.PrivateEvaluations((0.0, 1.0), sv.NoPrivacy()), 0.0


def run(problem, way, seed, *, trials, per_trial, sampler=optuna.samplers.TPESampler):
    """Return the true mean loss of what is taken, that of everybody who was served, and what is said of it."""
    evaluations, sigma = world(way, seed)
    people, met = np.random.default_rng(seed + 5000), []

    def serve(shown):
        met.append(problem.mean(shown))
        (found,) = losses_of(problem, shown, 1, people)
        if way[0] == "bits":
            return sv.local.privatise(found, evaluations.channel)
        return found + people.normal(0, sigma) if sigma else found

    study = optuna.create_study(sampler=sampler(seed=seed))
    plan = {"events_per_trial": per_trial, "trials": trials}
    outcome = private_optimize(study, serve, evaluations, suggest=problem.suggest, **plan)
    taken = problem.mean(problem.suggest(optuna.trial.FixedTrial(outcome.best_params)))
    return taken, statistics.mean(met), outcome.best


def mean_and_worst(values):
    return f"{statistics.mean(values):.3f} ({max(values):.3f})"


WAYS = {
    "no privacy": ("none", 0.0),
    "ε = 1": ("sums", 1.0),
    "ε = 0.1": ("sums", 0.1),
    "noise on each, ε = 1": ("each", 1.0),
    "on each, ε = 0.1": ("each", 0.1),
    "one bit each, ε = 1": ("bits", 1.0),
}


def price():
    """What privacy costs, at 40 trials of 500 events."""
    rows, served = [], []
    for problem in PROBLEMS:
        found = {
            way: [run(problem, key, seed, trials=40, per_trial=500) for seed in SEEDS] for way, key in WAYS.items()
        }
        taken = {way: [one[0] for one in runs] for way, runs in found.items()}
        free = statistics.mean(taken["no privacy"])
        cells = [f"{mean_and_worst(one)} {statistics.mean(one) / free:.2f}x" for one in taken.values()]
        rows.append((f"{problem.name} (best {problem.best:.2f})", *cells))
        served.append(
            (
                f"{problem.name}, while searching",
                *(f"{statistics.mean(one[1] for one in runs):.3f}" for runs in found.values()),
            )
        )
    title = (
        f"True loss of what is taken, mean (worst) of {len(SEEDS)} seeds, and times that without privacy; TPE, 40 x 500"
    )
    show("any_optimizer_price", title, ["", *WAYS], rows + served)


def bandit(epsilon, seed, horizon):
    """The library's own plan on the bowl: posterior probes."""
    privacy = sv.PureDP(epsilon) if epsilon else sv.NoPrivacy()
    optimizer = sv.PrivateBandit(
        sv.domains.Box(-1.0, 1.0, dimension=4), horizon=horizon, loss_range=(0.0, 1.0), privacy=privacy, plan="auto",
        seed=seed, noise=sv.SimulatedNoise(seed),
    )  # fmt: skip
    people, met = np.random.default_rng(seed + 5000), []
    while optimizer.remaining:
        actions = optimizer.ask(size=min(500, optimizer.remaining))
        means = np.minimum(0.2 + 0.1 * ((actions.x - Bowl.centre) ** 2).sum(axis=1), 1.0)
        met.append(means)
        optimizer.tell(actions.ids, (people.random(len(means)) < means).astype(float))
    return Bowl.mean(optimizer.recommend().x), float(np.concatenate(met).mean())


def convex():
    """Where the library's own plan applies, it is the better choice."""
    rows, horizon = [], 20_000
    for label, epsilon in (("no privacy", 0.0), ("ε = 1", 1.0), ("ε = 0.1", 0.1)):
        way = ("sums", epsilon) if epsilon else ("none", 0.0)
        size = sv.integrations.events_per_trial(horizon, privacy=sv.PureDP(epsilon) if epsilon else sv.NoPrivacy())
        columns = [[bandit(epsilon, seed, horizon) for seed in SEEDS]]
        for sampler in (optuna.samplers.TPESampler, optuna.samplers.CmaEsSampler):
            plan = {"trials": horizon // size, "per_trial": size, "sampler": sampler}
            columns.append([run(Bowl, way, seed, **plan) for seed in SEEDS])
        cells = [
            f"{mean_and_worst([one[0] for one in runs])}, {statistics.mean(one[1] for one in runs):.3f}"
            for runs in columns
        ]
        rows.append((label, *cells))
    title = f"{Bowl.name} (best {Bowl.best}), {horizon:,} events: true loss taken, mean (worst), and while searching"
    show("any_optimizer_convex", title, ["", "posterior probes", "TPE", "CMA-ES"], rows)


def split():
    """Excess loss of what is taken, by how events are split."""
    rows = []
    for epsilon, events in ((1.0, 4_000), (1.0, 20_000), (0.1, 4_000), (0.1, 20_000)):
        rule = sv.integrations.events_per_trial(events, privacy=sv.PureDP(epsilon))
        cells = []
        for size in (rule, 50, 100, 200, 400, 800):
            if events // size > 200:
                cells.append("")
                continue
            plan = {"trials": events // size, "per_trial": size}
            runs = [run(one, ("sums", epsilon), seed, **plan)[0] - one.best for one in PROBLEMS for seed in SEEDS]
            cells.append(mean_and_worst(runs))
        rows.append((f"ε = {epsilon:g}, {events:,} events", f"{rule}: {cells[0]}", *cells[1:]))
    title = f"Loss above the best, mean (worst) of 3 problems and {len(SEEDS)} seeds, by events per trial; TPE"
    show("any_optimizer_split", title, ["", "the rule", "50", "100", "200", "400", "800"], rows)


TABLES = {one.__name__: one for one in (price, convex, split)}


def main():
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        for name in [one for one in sys.argv[1:] if one in TABLES] or TABLES:
            TABLES[name]()
    finally:
        optuna.logging.set_verbosity(verbosity)


if __name__ == "__main__":
    main()
