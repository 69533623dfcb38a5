"""What privacy costs: regret of the default plans against the paper's constants and against no privacy, one run."""

import statistics
import time
import tracemalloc

import numpy as np

import sottovoce as sv
from benchmarks.harness import show
from sottovoce.privacy import MECHANISMS, running_sums

EVENTS = 1_000_000
SEEDS = range(101, 106)  # constants of the plans were chosen on seeds below 10: these are held out
NONE, ONE, TENTH = sv.NoPrivacy(), sv.PureDP(1.0), sv.PureDP(0.1)


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


def regrets(environments, privacy, noise=sv.SimulatedNoise, **options):
    """Regret per event of one run for each seed, and the seconds they took."""
    values, started = [], time.perf_counter()
    for seed, environment in zip(SEEDS, environments, strict=True):
        optimizer = sv.PrivateBandit(
            environment.domain,
            horizon=EVENTS,
            loss_range=environment.loss_range,
            privacy=privacy,
            seed=seed,
            noise=noise(seed),
            **options,
        )
        values.append(sv.simulate(optimizer, environment, record=2).final_regret / EVENTS)
    return values, time.perf_counter() - started


def shown(values):
    return f"{statistics.mean(values):.4f} ± {statistics.stdev(values) / len(values) ** 0.5:.4f}"


def ratio(values, others):
    return f"{statistics.mean(values) / statistics.mean(others):.2f}"


def never(environments):
    lost = [
        environment.cumulative_loss(environment.domain.center, [EVENTS])
        - environment.cumulative_loss(environment.comparator(EVENTS).point, [EVENTS])
        for environment in environments
    ]
    return statistics.mean(float(one[0]) for one in lost) / EVENTS


def secure(seed):
    return sv.SecureNoise()


def ball():
    environments = [sv.simulation.MovingTarget(sv.domains.Ball(10), seed=seed) for seed in SEEDS]
    common = {"play": "around", "lipschitz": 1.0}
    laplace, _ = regrets(environments, ONE, plan="paper", **common)
    gaussian, _ = regrets(environments, sv.ApproxDP(1.0, 1e-6), plan="paper", **common)
    free, _ = regrets(environments, NONE, **common)
    private, simulated_time = regrets(environments, ONE, **common)
    _, secure_time = regrets(environments, ONE, secure, **common)
    best = min(laplace, gaussian, key=statistics.mean)
    rows = [
        ("never learning", f"{never(environments):.4f}", ""),
        ("paper, Laplace, epsilon = 1", shown(laplace), ""),
        ("paper, Gaussian, epsilon = 1, delta = 1e-6", shown(gaussian), ""),
        ("default, no privacy", shown(free), ""),
        (
            "default, epsilon = 1, pure",
            shown(private),
            f"{ratio(private, best)} of paper, {ratio(private, free)} of none",
        ),
        ("secure noise, time", "", f"{secure_time / simulated_time:.2f} of simulated noise"),
    ]
    show(
        "regret_ball",
        "Unit ball, f = |x - target|, n = 10 (aim: 0.1 of paper, 2 of none)",
        ["", "regret", "ratio"],
        rows,
    )


def slate():
    environments = [sv.simulation.NoisyLinear(sv.domains.Hypersimplex(20, 10), seed=seed) for seed in SEEDS]
    free, _ = regrets(environments, NONE)
    one, simulated_time = regrets(environments, ONE)
    tenth, _ = regrets(environments, TENTH)
    _, secure_time = regrets(environments, ONE, secure)
    rows = [
        ("never learning", f"{never(environments):.4f}", ""),
        ("no privacy", shown(free), ""),
        ("epsilon = 1", shown(one), f"{ratio(one, free)} of none"),
        ("epsilon = 0.1", shown(tenth), f"{ratio(tenth, free)} of none"),
        ("secure noise, time", "", f"{secure_time / simulated_time:.2f} of simulated noise"),
    ]
    title = "10 of 20, Bernoulli items, losses='convex', inside (aim: 1.10 and 1.50 of none)"
    show("regret_slate", title, ["", "regret", "ratio"], rows)


def linear():
    domains = {
        "5 x 5 grid paths": sv.domains.Paths(grid(5), source=0, target=24),
        "trees of 30 edges": sv.domains.SpanningTrees(thirty_edges()),
        "5 of 20": sv.domains.Hypersimplex(20, 5),
        "Birkhoff 5": sv.domains.Birkhoff(5),
    }
    rows = []
    for name, domain in domains.items():
        environments = [sv.simulation.NoisyLinear(domain, seed=seed) for seed in SEEDS]
        frames, _ = regrets(environments, NONE, losses="linear", exploration="frames")
        options = {"losses": "linear", "integral": True}
        free, _ = regrets(environments, NONE, **options)
        one, simulated_time = regrets(environments, ONE, **options)
        tenth, _ = regrets(environments, TENTH, **options)
        _, secure_time = regrets(environments, ONE, secure, **options)
        rows += [
            (f"{name}: never learning", f"{never(environments):.4f}", ""),
            ("  frames, no privacy", shown(frames), ""),
            ("  designs, no privacy", shown(free), ""),
            ("  designs, epsilon = 1", shown(one), f"{ratio(one, frames)} of frames"),
            ("  designs, epsilon = 0.1", shown(tenth), f"{ratio(tenth, frames)} of frames"),
            ("  secure noise, time", "", f"{secure_time / simulated_time:.2f} of simulated noise"),
        ]
    title = "Linear losses, integral actions (aim on paths: 0.25 and 0.50 of frames without privacy)"
    show("regret_linear", title, ["", "regret", "ratio"], rows)


def memory():
    """Peak memory of a stream planned for 10^6 rounds in 100 dimensions, over its first 20 000."""
    rows = []
    vector = np.ones(100, dtype=np.int64)
    for name in [one.name for one in MECHANISMS.values() if one.variances]:
        tracemalloc.start()
        options = {"l1": 10**6, "l2": 1e6, "length": 10**6, "dimension": 100, "source": sv.SimulatedNoise(0)}
        sums = running_sums(name, sv.ZCDP(0.5), **options)
        for _ in range(20_000):
            sums.add(vector)
        rows.append((name, f"{tracemalloc.get_traced_memory()[1] / 1e6:.3f}"))
        tracemalloc.stop()
    show("mechanism_memory", "Running sums, 100 dimensions, planned for 10^6 rounds (aim: 50 MB)", ["", "MB"], rows)


def main():
    ball()
    slate()
    linear()
    memory()


if __name__ == "__main__":
    main()
