"""Regret of posterior probes beside the worst-case plan, no privacy, and Thompson sampling: linear losses.

`python -m benchmarks regret` takes ten seeds, on which no constant was chosen; `python -m benchmarks.regret --seeds 50`
takes as many as it is told, and shows tails.
"""

import argparse

import numpy as np
from scipy import stats

import sottovoce as sv
from benchmarks.harness import show, side_by_side
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
)

EVENTS = 1_000_000
FIRST_SEED, SEEDS = 101, 10
PRIVACY = {"none": NONE, "1": ONE, "0.1": TENTH}
PLANS = {"posterior": POSTERIOR, "worst-case": WORST_CASE}
BASELINES = {"Thompson sampling": sv.lab.baselines.ThompsonSampling}
PROBLEMS = ("slate", "ranking")
HORIZONS = (10_000, 100_000, 1_000_000, 10_000_000)


def regret(task):
    """Regret per event of one run on a set: against the best decision in hindsight."""
    name, plan, privacy, events, seed = task
    environment = sv.lab.NoisyLinear(SETS[name](), seed=seed)
    if plan in BASELINES:
        options = {"horizon": events, "loss_range": environment.loss_range, "seed": seed}
        optimizer = BASELINES[plan](environment.domain, **options)
    else:
        optimizer = optimizer_of(environment.domain, events, PRIVACY[privacy], seed, **PLANS[plan])
    return sv.lab.simulate(optimizer, environment, record=2).final_regret / events


def problem_regret(task):
    """Regret per event of one run of a problem that the library has."""
    name, plan, seed = task
    problem = sv.lab.problems.PROBLEMS[name](seed=seed)
    options = {name: value for name, value in PLANS[plan].items() if name not in ("losses", "integral")}
    noise = sv.SimulatedNoise(seed)
    optimizer = problem.optimizer(horizon=200_000, privacy=ONE, seed=seed, noise=noise, **options)
    return sv.lab.simulate(optimizer, problem.environment, record=2).final_regret / 200_000


def gathered(work, tasks):
    """Run tasks, and return the regrets of each: a list over seeds for all that comes before the seed."""
    found = {}
    for task, value in zip(tasks, in_parallel(work, tasks), strict=True):
        found.setdefault(task[:-1], []).append(value)
    return found


def sets(seeds):
    names = list(SETS)[:4]
    kinds = [(plan, privacy) for plan in PLANS for privacy in PRIVACY] + [(plan, "none") for plan in BASELINES]
    tasks = [(name, *kind, EVENTS, seed) for name in names for kind in kinds for seed in seeds]
    found = gathered(regret, tasks)
    rows = []
    for name in names:
        at = {kind: found[(name, *kind, EVENTS)] for kind in kinds}
        one, tenth, free = (at["posterior", privacy] for privacy in ("1", "0.1", "none"))
        rows += [
            (f"{name}: posterior, no privacy", milli(free), ""),
            (
                "  posterior, epsilon = 1",
                milli(one),
                f"{judged(over(one, at['worst-case', '1']), 0.2)}; {judged(over(one, free), 1.8)} of no privacy",
            ),
            ("  posterior, epsilon = 0.1", milli(tenth), f"{judged(over(tenth, at['worst-case', '0.1']), 0.3)}"),
            *((f"  worst-case, {label}", milli(at["worst-case", label]), "") for label in PRIVACY),
            *(
                (f"  {plan}, no privacy", milli(at[plan, "none"]), f"{judged(over(one, at[plan, 'none']), 2.5)}")
                for plan in BASELINES
            ),
        ]
    title = f"Linear losses, integral actions, 10^6 events, thousandths, mean / worst of {len(seeds)} seeds"
    show("regret_linear", title, ["", "regret", "posterior, as a share"], rows)


def problems(seeds):
    tasks = [(name, plan, seed) for name in PROBLEMS for plan in PLANS for seed in seeds]
    found = gathered(problem_regret, tasks)
    rows = [
        (
            name,
            *(milli(found[name, plan]) for plan in PLANS),
            judged(over(*(found[name, plan] for plan in PLANS)), 0.35),
        )
        for name in PROBLEMS
    ]
    title = "Linear problems of the library, epsilon = 1, 2 * 10^5 events, thousandths, mean / worst"
    show("regret_problems", title, ["", *PLANS, "share"], rows)


def slope(seeds):
    """How regret grows with the horizon: least squares on logarithms, an interval of 95% over runs."""
    name = "5 of 20"
    rows = []
    for privacy in ("1", "0.1"):
        tasks = [(name, "posterior", privacy, events, seed) for events in HORIZONS for seed in seeds]
        found = gathered(regret, tasks)
        means = [found[task] for task in dict.fromkeys(task[:-1] for task in tasks)]
        x = np.repeat(np.log(HORIZONS), [len(values) for values in means])
        y = np.log(np.concatenate([events * np.array(values) for events, values in zip(HORIZONS, means, strict=True)]))
        fit = stats.linregress(x, y)
        wide = stats.t.ppf(0.975, len(x) - 2) * fit.stderr
        rows.append((f"{name}, epsilon = {privacy}", *map(milli, means), f"{fit.slope:.2f} ± {wide:.2f}"))
    columns = ["", *(f"T = 10^{len(str(events)) - 1}" for events in HORIZONS), "exponent"]
    show("regret_slope", "Regret per event, thousandths, mean / worst, and exponent of T in the regret", columns, rows)


def tails(seeds):
    """How bad luck gets: the worst run, over the mean (aim: 3)."""
    kinds = [(events, privacy) for events in (20_000, 200_000, EVENTS) for privacy in ("1", "0.1")]
    tasks = [(name, "posterior", privacy, events, seed) for name in SETS for events, privacy in kinds for seed in seeds]
    found = gathered(regret, tasks)
    rows = []
    for name in SETS:
        cells = [found[name, "posterior", privacy, events] for events, privacy in kinds]
        rows.append((name, *(f"{milli(values)} ({np.max(values) / np.mean(values):.1f})" for values in cells)))
    title = f"Mean / worst of {len(seeds)} instances, thousandths (worst over mean; aim: 3)"
    show("regret_tails", title, ["", *(f"{events:g}, ε {privacy}" for events, privacy in kinds)], rows)


def few(seeds):
    """What is lost at few events, as a shop has them."""
    kinds = [(events, privacy) for events in HORIZONS[:2] for privacy in PRIVACY]
    tasks = [(name, "posterior", privacy, events, seed) for name in SETS for events, privacy in kinds for seed in seeds]
    found = gathered(regret, tasks)
    rows = [(name, *(milli(found[name, "posterior", privacy, events]) for events, privacy in kinds)) for name in SETS]
    title = f"Few events: regret per event, thousandths, mean / worst of {len(seeds)} seeds"
    show("regret_few", title, ["", *(f"{events:,}, ε {privacy}" for events, privacy in kinds)], rows)


def speed():
    environment = sv.lab.NoisyLinear(SETS["5 of 20"](), seed=1)

    def simulated(plan):
        optimizer = optimizer_of(environment.domain, EVENTS, ONE, 1, **PLANS[plan])
        return sv.lab.simulate(optimizer, environment, record=2)

    times = side_by_side({plan: lambda plan=plan: simulated(plan) for plan in PLANS}, repeats=3)
    ratio = times["posterior"] / times["worst-case"]
    rows = [(plan, f"{seconds:.2f} s") for plan, seconds in times.items()] + [("ratio", judged(ratio, 2.0))]
    show("regret_speed", "Simulating 10^6 events in 20 dimensions, epsilon = 1", ["", "time"], rows)


def main(count=SEEDS, *, with_tails=False):
    seeds = range(FIRST_SEED, FIRST_SEED + count)
    sets(seeds)
    problems(seeds)
    slope(seeds)
    speed()
    if with_tails:
        tails(seeds)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--tails", action="store_true", help="more sets, horizons; how bad the worst run is")
    parser.add_argument("--only-tails", action="store_true")
    parser.add_argument("--few", action="store_true", help="10,000 and 100,000 events, and nothing else")
    given = parser.parse_args()
    if given.few:
        few(range(FIRST_SEED, FIRST_SEED + given.seeds))
    elif given.only_tails:
        tails(range(FIRST_SEED, FIRST_SEED + given.seeds))
    else:
        main(given.seeds, with_tails=given.tails)
