"""Regret beside algorithms of the literature that are made for arms and for linear losses, one run."""

import math
import statistics
import time

import sottovoce as sv
from benchmarks.harness import show
from benchmarks.worlds import grid

EVENTS = 1_000_000
SEEDS = range(201, 211)  # nothing was chosen on these
RIVALS = (  # name, guarantee
    ("thompson-sampling", None),
    ("dp-imed", sv.PureDP(1.0)),
    ("dp-klucb", sv.PureDP(1.0)),
    ("phased-elimination", sv.PureDP(1.0)),
    ("zcdp-elimination", sv.ZCDP(0.5)),
    ("zcdp-thompson-sampling", sv.ZCDP(0.5)),
)


def domains():
    """Sets whose vertices can be listed, but for one."""
    return {
        "10 arms": sv.domains.Simplex(10),
        "5 x 5 grid paths": sv.domains.Paths(grid(5), source=0, target=24),
        "Birkhoff 5": sv.domains.Birkhoff(5),
        "5 of 20": sv.domains.Hypersimplex(20, 5),
    }


def library(environment, seed, privacy, **options):
    """This library's own choice."""
    return sv.PrivateBandit(
        environment.domain,
        horizon=EVENTS,
        loss_range=environment.loss_range,
        losses="linear",
        integral=True,
        privacy=privacy,
        seed=seed,
        noise=sv.SimulatedNoise(seed),
        **options,
    )


def rival(name, privacy, environment, seed):
    """A baseline, or None if it is not for such a set."""
    options = {} if privacy is None else {"privacy": privacy, "noise": sv.SimulatedNoise(seed)}
    try:
        return sv.lab.baselines.BASELINES[name](
            environment.domain,
            horizon=EVENTS,
            loss_range=environment.loss_range,
            lipschitz=environment.lipschitz,
            seed=seed,
            **options,
        )
    except sv.errors.DomainError:
        return None


def regrets(make, environments):
    """Regret per event of one run for each seed, and the seconds of a run."""
    values, started = [], time.perf_counter()
    for seed, environment in zip(SEEDS, environments, strict=True):
        optimizer = make(environment, seed)
        if optimizer is None:
            return [math.nan], math.nan
        values.append(sv.lab.simulate(optimizer, environment, record=2).final_regret / EVENTS)
    return values, (time.perf_counter() - started) / len(values)


def contenders():
    """Names, and how each is made."""
    yield "no privacy", lambda environment, seed: library(environment, seed, sv.NoPrivacy())
    yield "epsilon = 1", lambda environment, seed: library(environment, seed, sv.PureDP(1.0))
    yield "rho = 0.5", lambda environment, seed: library(environment, seed, sv.ZCDP(0.5))
    for name, privacy in RIVALS:
        said = "" if privacy is None else f", {privacy}".replace(" differential privacy", "")
        yield f"{name}{said}", lambda environment, seed, rest=(name, privacy): rival(*rest, environment, seed)


def main():
    rows = []
    for title, domain in domains().items():
        environments = [sv.lab.NoisyLinear(domain, seed=seed) for seed in SEEDS]
        for number, (name, make) in enumerate(contenders()):
            values, seconds = regrets(make, environments)
            shown = ["too many vertices", "", ""]
            if not math.isnan(seconds):
                shown = [f"{1000 * statistics.mean(values):.2f}", f"{1000 * max(values):.2f}", f"{seconds:.1f}"]
            rows.append((f"{title}: {name}" if number == 0 else f"  {name}", *shown))
    columns = ["", "mean", "worst", "seconds"]
    show("rivals", "Regret in thousandths of the range per event, a million events, ten instances", columns, rows)


if __name__ == "__main__":
    main()
