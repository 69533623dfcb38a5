"""Forecasts against what happens: the library's problems and the worlds of the regret table, none of them rehearsed in.

python -m benchmarks forecast                         # all of it; half an hour on one core
python -m benchmarks.forecast --only slate "5 of 20" --events 1e5
python -m benchmarks.forecast --how-long              # events until half and 90% is learned

A forecast is made from set, range, horizon and privacy alone: a table by contrast, read here at the contrast that the
world turned out to have. Where it says "told the contrast", it was told that and nothing else, as somebody may know it
from last year; "under way" is `forecast()` of a run of which a tenth is over.
"""

import argparse
import json

import numpy as np

import sottovoce as sv
from benchmarks.harness import RESULTS, show
from benchmarks.worlds import SETS

EVENTS = (20_000, 100_000)
EPSILONS = (1.0, 0.1)
# Constants of rehearsals were chosen on seeds 1 to 3, what a price is on 501 to 503, how wide its spread is on these.
SEEDS = range(601, 604)
LENGTH_SEEDS = range(501, 504)
UNDER_WAY = 604
HINTS = {"": "by its table", "_hinted": "told the contrast", "_running": "under way"}
LENGTHS = [int(round(100 * 2**step, -2)) for step in range(14)]
LINEAR = {"losses": "linear", "integral": True}


def environment_of(name, seed):
    """Return a world, and what an optimizer is told of its losses."""
    if name in SETS:
        return sv.lab.NoisyLinear(SETS[name](), seed=seed), LINEAR
    problem = sv.lab.problems.PROBLEMS[name](seed=seed)
    return problem.environment, {"losses": problem.losses, "integral": problem.integral}


WORLDS = (*sv.lab.problems.PROBLEMS, *SETS)


def guarantee(epsilon):
    return sv.NoPrivacy() if epsilon is None else sv.PureDP(epsilon)


def outcome(name, events, epsilon, seeds=SEEDS):
    """Return regret over that of never learning, all seeds taken together, and the contrast of the worlds."""
    regret = never = width = 0.0
    for seed in seeds:
        environment, options = environment_of(name, seed)
        optimizer = sv.PrivateBandit(
            environment.domain,
            horizon=events,
            loss_range=environment.loss_range,
            privacy=guarantee(epsilon),
            seed=seed,
            noise=sv.SimulatedNoise(seed),
            **options,
        )
        run = sv.lab.simulate(optimizer, environment, record=2)
        regret += run.final_regret
        never += run.final_no_learning
        width += events * (environment.loss_range[1] - environment.loss_range[0])
    return regret / never, never / width


def forecast(name, events, epsilon, contrast=None):
    environment, options = environment_of(name, 0)  # its losses are not looked at, only its set and its range
    made = sv.plan(environment.domain, events, environment.loss_range, guarantee(epsilon), contrast=contrast, **options)
    return made.forecast


def under_way(name, events, epsilon):
    """Return the forecast of a run of which a tenth is over."""
    environment, options = environment_of(name, UNDER_WAY)
    optimizer = sv.PrivateBandit(
        environment.domain,
        horizon=events,
        loss_range=environment.loss_range,
        privacy=guarantee(epsilon),
        seed=UNDER_WAY,
        noise=sv.SimulatedNoise(UNDER_WAY),
        **options,
    )
    sv.lab.simulate(optimizer, environment, events=events // 10, record=2)
    return optimizer.forecast()


def at_contrast(found, contrast):
    """Return what a table says of a contrast: between its rows, on logarithmic scales."""
    if not found.cases:
        return found.share
    rows = [one for one in found.cases if one.share is not None]
    knots = np.log([one.contrast for one in rows])
    ends = ("central", "low", "high")
    shares = [np.log([getattr(one.share, end) for one in rows]) for end in ends]
    return type(found.share)(*(float(np.exp(np.interp(np.log(contrast), knots, one))) for one in shares))


def compared(name, events):
    """Return a record for each epsilon: what was forecast, without and with a hint, and what came."""
    free, contrast = outcome(name, events, None)
    for epsilon in EPSILONS:
        share, _ = outcome(name, events, epsilon)
        row = {"world": name, "events": events, "epsilon": epsilon, "share": share, "price": share / free}
        row["contrast"] = contrast
        for hint in HINTS:
            if hint == "_running":
                found = under_way(name, events, epsilon)
            else:
                found = forecast(name, events, epsilon, contrast if hint else None)
            row[f"share_forecast{hint}"], row[f"price_forecast{hint}"] = (
                [one.central, one.low, one.high] for one in (at_contrast(found, contrast), found.price)
            )
        yield row


def ratio(row, what, hint=""):
    """How many times as large the outcome is as the forecast."""
    return row[what] / row[f"{what}_forecast{hint}"][0]


def off(row, what, hint=""):
    one = ratio(row, what, hint)
    return max(one, 1 / one)


def inside(row, what, hint=""):
    _, low, high = row[f"{what}_forecast{hint}"]
    return low <= row[what] <= high


def cell(row, what):
    central, low, high = row[f"{what}_forecast"]
    return f"{central:.3g} ({low:.2g} to {high:.2g})"


def table(rows):
    show(
        "forecast",
        f"Forecast, and outcome of {len(SEEDS)} seeds on which nothing was chosen; ratios to the forecast, by its "
        "table, told the contrast, and under way",
        ["", "contrast", "events", "ε", "regret share forecast", "came", "ratio", "price forecast", "came", "ratio"],
        [
            (
                row["world"],
                f"{row['contrast']:.3f}",
                f"{row['events']:.0e}",
                f"{row['epsilon']:g}",
                cell(row, "share"),
                f"{row['share']:.3g}",
                ", ".join(f"{ratio(row, 'share', hint):.2f}" for hint in HINTS),
                cell(row, "price"),
                f"{row['price']:.3g}",
                ", ".join(f"{ratio(row, 'price', hint):.2f}" for hint in HINTS),
            )
            for row in rows
        ],
    )
    lines = []
    for what in ("share", "price"):
        for hint, words in HINTS.items():
            factors = np.array([off(row, what, hint) for row in rows])
            covered = np.mean([inside(row, what, hint) for row in rows])
            lines.append(
                (
                    f"{what}, {words}",
                    f"{np.mean(factors <= 1.5):.0%}",
                    f"{np.mean(factors <= 3):.0%}",
                    f"{factors.max():.2f}",
                    f"{np.exp(np.mean(np.log([ratio(row, what, hint) for row in rows]))):.2f}",
                    f"{covered:.0%}",
                )
            )
    columns = ["", "within 1.5", "within 3", "worst", "mean ratio", "inside the spread"]
    show("forecast_summary", f"{len(rows)} forecasts against outcomes", columns, lines)


def reached(name, epsilon, shares):
    """Return the events of runs whose regret falls to these shares of never learning's, between doubled lengths."""
    found, before = {}, None
    for events in LENGTHS:
        here = events, outcome(name, events, epsilon, LENGTH_SEEDS)[0]
        for share in shares:
            if share not in found and here[1] <= share:
                found[share] = events if before is None else _between(before, here, share)
        if len(found) == len(shares):
            break
        before = here
    return [found.get(share) for share in shares]


def _between(before, after, share):
    x, y = np.log([before[0], after[0]]), np.log([before[1], after[1]])
    return float(np.exp(x[0] + (np.log(share) - y[0]) / (y[1] - y[0]) * (x[1] - x[0])))


def how_long(names):
    """Events until half, and 90%, of what can be learned is learned: as forecast, and as it came."""
    rows = []
    for name in names:
        for epsilon in EPSILONS:
            found = forecast(name, EVENTS[0], epsilon, outcome(name, EVENTS[0], epsilon, LENGTH_SEEDS)[1])
            came = reached(name, epsilon, (0.5, 0.1))
            cells = []
            for one, real in zip((found.half, found.most), came, strict=True):
                cells += [f"{_digits(one.central)} ({_digits(one.low)} to {_digits(one.high)})"]
                cells += ["over " + _digits(LENGTHS[-1]) if real is None else _digits(real)]
            rows.append((name, f"{epsilon:g}", *cells))
            _kept("forecast_how_long", rows)
    columns = ["", "ε", "half: forecast", "came", "90%: forecast", "came"]
    show("forecast_how_long", "Events of a run that learns half, and 90%, of what can be learned", columns, rows)


def _digits(events):
    unit = 10 ** max(0, int(np.log10(max(events, 1))) - 1) if np.isfinite(events) else 1
    return f"{round(events / unit) * unit:,}" if np.isfinite(events) else "never"


def _kept(name, rows):
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(rows, indent=1))


def main(arguments=()):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.forecast", description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", default=list(WORLDS), choices=list(WORLDS))
    parser.add_argument("--events", type=float, nargs="+", default=list(EVENTS))
    parser.add_argument("--how-long", action="store_true", help="only the table of lengths")
    options = parser.parse_args(list(arguments))
    if not options.how_long:
        rows = []
        for name in options.only:
            for events in options.events:
                rows += compared(name, int(events))
                _kept("forecast", rows)
        table(rows)
    if options.how_long or not arguments:
        how_long(options.only)


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
