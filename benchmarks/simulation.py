"""Simulating 10^6 events in 10 dimensions, against the bare numpy cost of its directions and losses; and its memory."""

import math
import tracemalloc

import numpy as np

import sottovoce as sv
from benchmarks.harness import show, side_by_side

EVENTS, DIMENSION = 1_000_000, 10
DOMAIN = sv.domains.Ball(DIMENSION)
ENVIRONMENT = sv.simulation.MovingTarget(DOMAIN, seed=1)


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
        ENVIRONMENT.events(start, batch).losses(point + 0.2 * directions)


def simulated(privacy):
    return lambda: sv.simulate(optimizer(privacy), ENVIRONMENT)


def peak_megabytes(events):
    tracemalloc.start()
    sv.simulate(optimizer(sv.PureDP(1.0), events), ENVIRONMENT)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


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


if __name__ == "__main__":
    main()
