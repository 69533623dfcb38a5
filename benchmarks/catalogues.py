"""Catalogues that change: what replacing a tenth of the items ten times costs, against a world that stays.

    python -m benchmarks.catalogues

200 items, of which 10 are shown to a person, who counts with one click at most; feedback by item, 100,000 events. After
each eleventh of the events, 20 items that are drawn anew take the place of 20 others. Regret is to the best slate of
each moment. The seeds are not those that anything was chosen on.

"clicks": 1 to 5% of those who see an item click on it, and 100,000 events are few. "plain": each item has a loss of its
own, 20 to 80%.
"""

import numpy as np

import sottovoce as sv

_ITEMS, _SHOWN, _REPLACED = 200, 10, 20
_SEEDS = range(100, 110)
_WORLDS: dict[str, tuple[float, float, float | None]] = {"clicks": (0.01, 0.05, 1.0), "plain": (0.2, 0.8, None)}


def lost(seed: int, *, changes: int, events: int = 100_000, epsilon: float | None = 1.0, kind: str = "clicks") -> float:
    """Return the regret per event."""
    world, size = np.random.default_rng(seed), _ITEMS
    low, high, most = _WORLDS[kind]
    names, worth = [f"item {i}" for i in range(size)], dict[str, float]()
    worth |= zip(names, world.uniform(low, high, size), strict=True)
    optimizer = sv.PrivateBandit(
        sv.domains.Hypersimplex(names, k=_SHOWN),
        horizon=events,
        loss_range=(-1.0, 0.0),
        privacy=sv.NoPrivacy() if epsilon is None else sv.PureDP(epsilon),
        noise=sv.SimulatedNoise(seed),
        integral=True,
        feedback="items",
        most=most,
        seed=seed,
    )
    regret, done = 0.0, 0
    while optimizer.remaining:
        if changes and optimizer.asked >= (done + 1) * events / (changes + 1):
            done += 1
            fresh = [f"item {size + i}" for i in range(_REPLACED)]
            worth |= zip(fresh, world.uniform(low, high, _REPLACED), strict=True)
            names = [*world.permutation(names)[_REPLACED:].tolist(), *fresh]
            size += _REPLACED
            optimizer.change(domain=sv.domains.Hypersimplex(names, k=_SHOWN))
        actions = optimizer.ask_round(1000)
        means = np.array([[worth[name] for name in one] for one in actions.chosen])
        regret += np.sort([worth[name] for name in names])[-_SHOWN:].sum() * len(means) - means.sum()
        optimizer.tell(actions.ids, -(world.random(means.shape) < means).astype(float))
    return float(regret) / events


def main() -> None:
    """Print a table."""
    print("regret per event, mean (worst) of ten seeds: of a world that stays, and where a tenth is replaced ten times")
    for kind in _WORLDS:
        for epsilon in (None, 1.0):
            both = [[lost(one, changes=n, epsilon=epsilon, kind=kind) for one in _SEEDS] for n in (0, 10)]
            stays, changes = (f"{np.mean(one):.4f} ({max(one):.4f})" for one in both)
            what = "no privacy" if epsilon is None else f"epsilon {epsilon:g}"
            ratio = np.mean(both[1]) / np.mean(both[0])
            print(f"{kind:<7} {what:<11} {stays}   {changes}   ratio {ratio:.2f}", flush=True)


if __name__ == "__main__":
    main()
