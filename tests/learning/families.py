"""Optimizers of a few segments, small and quick."""

import numpy as np

import sottovoce as sv

SLATE = sv.domains.Hypersimplex(["tea", "coffee", "cocoa", "milk"], k=2)
PEOPLE = ["phone", "desktop", "tablet"]


def family(domain=SLATE, segments=PEOPLE, **options):
    settings = {"horizon": 2000, "privacy": sv.PureDP(1.0), "losses": "linear", "noise": sv.SimulatedNoise(3)}
    settings |= {"loss_range": (0.0, 1.0), "seed": 3, "least_events": 4, "probes": 3, **options}
    return sv.PrivateBandit(domain, segments=segments, **settings)


def play(optimizer, costs, events, seed=0, block=50):
    """Let people of all segments come by; return the mean regret per event, and who came."""
    coins, names = np.random.default_rng(seed), list(costs)
    best = {name: np.sort(costs[name])[:2].sum() for name in names}
    regret, who = 0.0, []
    for _ in range(events // block):
        came = [names[one] for one in coins.integers(len(names), size=block)]
        actions = optimizer.ask(segment=came)
        means = np.array([costs[name] @ x for name, x in zip(came, actions.x, strict=True)])
        if optimizer.plan.exploration == "items":
            rows = np.array([costs[name][places] for name, places in zip(came, actions.indices, strict=True)])
            optimizer.tell(actions.ids, (coins.random(rows.shape) < rows).astype(float))
        else:
            optimizer.tell(actions.ids, (coins.random(block) < means).astype(float))
        regret += sum(mean - best[name] for name, mean in zip(came, means.tolist(), strict=True))
        who += came
    return regret / events, who
