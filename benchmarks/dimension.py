"""Many coordinates: set-up, memory, events per second and regret, from 10^2 to 10^5, with the power of n of each.

`python -m benchmarks dimension`; `python -m benchmarks.dimension --quick` leaves out 10^5, and plays less.
"""

import argparse
import time
import tracemalloc

import numpy as np

import sottovoce as sv
from benchmarks.harness import show

SIZES = (100, 1_000, 10_000, 100_000)
HORIZON, BLOCK, CHOSEN = 1_000_000, 256, 20
matroids = sv.domains.matroids


def grid(edges):
    """Return the edges of a square grid of one-way streets, about so many, and its nodes."""
    side = int(np.sqrt(edges / 2)) + 1
    nodes = np.arange(side * side).reshape(side, side)
    down = np.stack((nodes[:-1].ravel(), nodes[1:].ravel()), axis=1)
    right = np.stack((nodes[:, :-1].ravel(), nodes[:, 1:].ravel()), axis=1)
    return np.concatenate((down, right)), side * side


def paths(n):
    edges, nodes = grid(n)
    return sv.domains.Paths(edges, source=0, target=nodes - 1)


def flows(n):
    edges, nodes = grid(n)
    return sv.domains.Flows(edges, source=0, target=nodes - 1, value=2, capacities=1)


def polytope(n):
    from scipy.sparse import random_array

    rows = random_array((n // 20, n), density=min(1.0, 40 / n), random_state=1).tocsr()
    return sv.domains.Polytope(A_ub=rows, b_ub=np.full(n // 20, 4.0), bounds=(0, 1))


def laminar(n):
    groups = [range(i, min(n, i + 20)) for i in range(0, n, 20)]
    return matroids.Laminar([*groups, range(n)], [5] * len(groups) + [n // 8])


def own(n):
    def cheapest(cost):
        vertex = np.zeros(n)
        largest = np.abs(cost).argmax()
        vertex[largest] = -np.sign(cost[largest]) or 1.0
        return vertex

    return sv.domains.Custom(cheapest, n)


LARGE = {
    "simplex": sv.domains.Simplex,
    "20 of n": lambda n: sv.domains.Hypersimplex(n, CHOSEN),
    "box": lambda n: sv.domains.Box(0, 1, n),
    "paths": paths,
    "spanning trees": lambda n: sv.domains.SpanningTrees(grid(n)[0]),
}
OTHERS = {
    "ball": sv.domains.Ball,
    "permutahedron": lambda n: sv.domains.Permutahedron(np.arange(n)),
    "Birkhoff": lambda n: sv.domains.Birkhoff(int(np.sqrt(n))),
    "matchings": lambda n: sv.domains.Matchings(int(np.sqrt(n)), int(np.sqrt(n))),
    "flows": flows,
    "bases: partition": lambda n: sv.domains.MatroidBases(matroids.Partition(np.arange(n) // 10, 2)),
    "bases: laminar": lambda n: sv.domains.MatroidBases(laminar(n)),
    "nuclear ball": lambda n: sv.domains.NuclearBall(int(np.sqrt(n)), int(np.sqrt(n))),
    "polytope": polytope,
    "hull of 100 points": lambda n: sv.domains.ConvexHull(np.random.default_rng(0).standard_normal((100, n))),
    "your own": own,
    "product": lambda n: sv.domains.Product([sv.domains.Simplex(10)] * (n // 10)),
}


def optimizer(domain, losses="linear", horizon=HORIZON):
    return sv.PrivateBandit(
        domain,
        horizon=horizon,
        loss_range=(0.0, 1.0),
        privacy=sv.PureDP(1.0),
        losses=losses,
        integral=losses == "linear",
        seed=1,
        noise=sv.SimulatedNoise(1),
    )


def power(sizes, values):
    """Return the power of n by which values grow: the slope of a line through their logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def set_up(make, losses):
    """Return the seconds from the domain to the first action."""
    domain = make()
    started = time.perf_counter()
    optimizer(domain, losses).ask()
    return time.perf_counter() - started


def peak_of(work, *given):
    tracemalloc.start()
    work(*given)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def large_sets(sizes):
    seconds, memory = [], []
    for name, make in LARGE.items():
        for losses in ("linear", "convex"):
            set_up(lambda make=make: make(300), losses)  # compiles
            took = [set_up(lambda n=n, make=make: make(n), losses) for n in sizes]
            peaks = [peak_of(optimizer, make(n), losses) for n in sizes]
            seconds.append((f"{name}, {losses}", *(f"{one:.3f}" for one in took), f"{power(sizes, took):.2f}"))
            memory.append((f"{name}, {losses}", *(f"{one:.2f}" for one in peaks), f"{power(sizes, peaks):.2f}"))
    columns = ["", *(f"n = {n:,}" for n in sizes), "power of n"]
    title = "Set-up to the first action, plan='auto', seconds (aims: 1 at 10^3, 5 at 10^4, 10 at 10^5)"
    show("dimension_set_up", title, columns, seconds)
    show("dimension_memory", "Peak memory of it, MB (aim: power 1 at most)", columns, memory)


def other_sets(sizes):
    rows, worst = [], dict.fromkeys(sizes, 0.0)
    for name, make in OTHERS.items():
        cells = []
        for losses in ("linear", "convex"):
            set_up(lambda make=make: make(300), losses)
            for n in sizes:
                took = set_up(lambda n=n, make=make: make(n), losses)
                worst[n] = max(worst[n], took)
                cells.append(f"{took:.3f}")
        rows.append((name, *cells))
    rows.append(("the slowest", *(f"{worst[n]:.2f}" for n in sizes), *("" for _ in sizes)))
    columns = ["", *(f"{losses}, {n:,}" for losses in ("linear", "convex") for n in sizes)]
    title = "Set-up of the other sets to the first action, seconds (aims: 1 at 10^3, 5 at 10^4)"
    show("dimension_others", title, columns, rows)


def play(domain, horizon, events):
    """Play Bernoulli losses whose mean is that of the odds of what is chosen; read nothing but indices."""
    rng = np.random.default_rng(1000)
    odds = rng.random(domain.dimension)
    best, ordinary = domain.extreme_point(odds), domain.middle
    least, never = odds @ best / best.sum(), odds @ ordinary / ordinary.sum()
    made, asking, lost, started = optimizer(domain, horizon=horizon), [], 0.0, time.perf_counter()
    while made.remaining > horizon - events:
        begun = time.perf_counter()
        actions = made.ask(min(BLOCK, made.remaining))
        chosen = actions.indices
        asking.append(time.perf_counter() - begun)
        means = {id(one): odds[one].mean() for one in chosen}
        expected = np.array([means[id(one)] for one in chosen])
        made.tell(actions.ids, (rng.random(len(chosen)) < expected).astype(float))
        lost += float((expected - least).sum())
    took = time.perf_counter() - started
    return events / took, lost / events, float(never - least), asking


def drawing(n):
    """Return the seconds that numpy takes to draw 256 times 20 of n."""
    rng = np.random.default_rng(0)
    times = []
    for _ in range(5):
        begun = time.perf_counter()
        for _ in range(BLOCK):
            rng.choice(n, CHOSEN, replace=False)
        times.append(time.perf_counter() - begun)
    return float(np.median(times))


def runs(sizes, horizon):
    for name in ("20 of n", "paths"):
        rows, speeds, regrets, peaks = [], [], [], []
        for n in sizes:
            domain = LARGE[name](n)
            speed, regret, never, asking = play(domain, horizon, horizon)
            peak = peak_of(play, domain, horizon, horizon // 50)
            speeds.append(speed), regrets.append(regret), peaks.append(peak)
            ratio, whole = np.median(asking) / drawing(n), np.mean(asking) / drawing(n)
            cells = (f"{speed:,.0f}", f"{peak:.1f}", f"{regret:.4f}", f"{never:.4f}")
            sparse = (f"{1e6 * np.median(asking):.0f}", f"{ratio:.2f}", f"{whole:.2f}") if name == "20 of n" else ()
            rows.append((f"{domain.dimension:,}", *cells, *sparse))
        powers = [f"{power(sizes, values):.2f}" for values in (speeds, peaks, regrets)]
        rows.append(("power of n", *powers, "", *("",) * (3 if name == "20 of n" else 0)))
        asked = ["ask, us", "times numpy", "with starts"] if name == "20 of n" else []
        columns = ["n", "events/s", "MB", "regret", "never learning", *asked]
        numpy = "; median ask over rng.choice(n, 20, replace=False), 256 times (aim: 10), and mean with rounds' starts"
        aim = numpy if asked else ""
        title = f"{name}, integral, epsilon = 1, {horizon:,} events in blocks of {BLOCK}, regret per event{aim}"
        show(f"dimension_{name.split()[-1]}", title, columns, rows)


def main(arguments=()):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="up to 10^4 coordinates, and a tenth of the events")
    quick = parser.parse_args(arguments).quick
    sizes = SIZES[:-1] if quick else SIZES
    large_sets(sizes)
    other_sets((1_000,) if quick else (1_000, 10_000))
    runs(sizes, HORIZON // 10 if quick else HORIZON)


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
