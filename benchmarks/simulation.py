"""Simulating 10^6 events in 10 dimensions, against the bare numpy cost of its directions and losses; and its memory.

Then integral rankings under worst-case plans: rounded by the set's own coins, by the decomposition that any set has,
and not rounded at all.
"""

import math
import tracemalloc

import numpy as np

import sottovoce as sv
from benchmarks.harness import show, side_by_side

EVENTS, DIMENSION = 1_000_000, 10
DOMAIN = sv.domains.Ball(DIMENSION)
ENVIRONMENT = sv.lab.MovingTarget(DOMAIN, seed=1)
RANKED, ROUNDED_EVENTS = (10, 20), 50_000


def optimizer(privacy, events=EVENTS):
    return sv.PrivateBandit(
        DOMAIN,
        horizon=events,
        loss_range=ENVIRONMENT.loss_range,
        lipschitz=ENVIRONMENT.lipschitz,
        privacy=privacy,
        plan="paper",
        play="around",
        seed=1,
        noise=sv.SimulatedNoise(1),
    )


def bare():
    """Directions and losses in the same batches, and nothing else."""
    coins = np.random.Generator(np.random.SFC64(1))
    batch, point = math.isqrt(EVENTS), np.zeros(DIMENSION)
    for start in range(0, EVENTS, batch):
        directions = coins.standard_normal((batch, DIMENSION))
        directions /= np.sqrt(np.einsum("ij,ij->i", directions, directions))[:, None]
        ENVIRONMENT.losses(start, point + 0.2 * directions)


def simulated(privacy):
    return lambda: sv.lab.simulate(optimizer(privacy), ENVIRONMENT)


def peak_megabytes(events):
    tracemalloc.start()
    sv.lab.simulate(optimizer(sv.PureDP(1.0), events), ENVIRONMENT)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


class GenericRankings(sv.domains.Permutahedron):
    """Rankings that are rounded as any set is, from the decomposition that a projection gives."""

    round, decompose = sv.domains.Domain.round, sv.domains.Domain.decompose


def ranked(domain, exploration, *, integral):
    """The simulation alone: planning is not part of it."""
    environment = sv.lab.NoisyLinear(domain, seed=1)
    options = {"losses": "linear", "exploration": exploration, "integral": integral}
    options |= {"horizon": ROUNDED_EVENTS, "privacy": sv.PureDP(1.0), "loss_range": environment.loss_range, "seed": 1}
    ready = [sv.PrivateBandit(domain, **options, noise=sv.SimulatedNoise(1)) for _ in range(4)]
    return lambda: sv.lab.simulate(ready.pop(), environment)


def rounding_row(items, exploration):
    domain, generic = sv.domains.Permutahedron(items), GenericRankings(items)
    times = side_by_side(
        {
            "points": ranked(domain, exploration, integral=False),
            "coins": ranked(domain, exploration, integral=True),
            "generic": ranked(generic, exploration, integral=True),
        },
        3,
    )
    speeds = [f"{ROUNDED_EVENTS / times[name]:,.0f}" for name in ("generic", "coins", "points")]
    return f"{items} items, {exploration}", *speeds, f"{times['generic'] / times['coins']:.1f}"


def main():
    times = side_by_side(
        {
            "bare numpy": bare,
            "simulate, no privacy": simulated(sv.NoPrivacy()),
            "simulate, pure DP, simulated noise": simulated(sv.PureDP(1.0)),
            "simulate, (eps, delta), simulated noise": simulated(sv.ApproxDP(1.0, 1e-6)),
        }
    )
    rows = [
        (name, f"{took:.3f}", f"{took / times['bare numpy']:.2f}", f"{EVENTS / took / 1e6:.2f}")
        for name, took in times.items()
    ]
    show(
        "simulation",
        f"{EVENTS:,} events in {DIMENSION} dimensions, plan='paper' (aim: at most 3 times bare numpy)",
        ["", "seconds", "times bare", "million events/s"],
        rows,
    )
    show(
        "simulation_memory",
        "Peak memory of a simulation, pure DP (a batch is the square root of the horizon)",
        ["horizon", "MB"],
        [(f"{events:,}", f"{peak_megabytes(events):.2f}") for events in (10_000, 100_000, 1_000_000)],
    )
    show(
        "simulation_rounding",
        f"Integral rankings, pure DP, {ROUNDED_EVENTS:,} events: events a second",
        ["", "generic decomposition", "coins", "points, not rounded", "coins over generic"],
        [rounding_row(items, exploration) for exploration in ("designs", "frames") for items in RANKED],
    )


if __name__ == "__main__":
    main()
