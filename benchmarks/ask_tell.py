"""The one-at-a-time loop: ask, tell, against river's EpsilonGreedy pull, update; in a short run and in a long one.

A round costs the same however long it is, and long runs have longer rounds.
"""

from river import bandit

import sottovoce as sv
from benchmarks.harness import show, side_by_side

EVENTS, REPEATS = (200_000, 1_000_000), 5


def ours(privacy, plan, events):
    """The loop alone: planning, once per optimizer, is not part of it."""
    options = {"horizon": events, "loss_range": (0.0, 2.0), "privacy": privacy, "plan": plan, "seed": 1}
    ready = [sv.PrivateBandit(sv.domains.Ball(10), **options) for _ in range(REPEATS + 1)]

    def loop():
        optimizer = ready.pop()
        ask, tell = optimizer.ask, optimizer.tell
        for _ in range(events):
            action = ask()
            tell(action.id, 0.5)

    return loop


def river(events):
    def loop():
        policy, arms = bandit.EpsilonGreedy(epsilon=0.1, seed=1), list(range(10))
        pull, update = policy.pull, policy.update
        for _ in range(events):
            update(pull(arms), 0.5)

    return loop


def main():
    rows = []
    for events in EVENTS:
        times = side_by_side(
            {
                "river EpsilonGreedy, 10 arms": river(events),
                "no privacy, plan='auto'": ours(sv.NoPrivacy(), "auto", events),
                "no privacy, plan='paper'": ours(sv.NoPrivacy(), "paper", events),
                "pure DP, secure noise, plan='auto'": ours(sv.PureDP(1.0), "auto", events),
                "pure DP, secure noise, plan='paper'": ours(sv.PureDP(1.0), "paper", events),
            },
            REPEATS,
        )
        base = times["river EpsilonGreedy, 10 arms"]
        rows += [(name, f"{events:,}", f"{events / took:,.0f}", f"{base / took:.2f}") for name, took in times.items()]
    show(
        "ask_tell",
        "One action at a time, 10 dimensions (aim: faster than river)",
        ["", "events", "events/s", "speed, river = 1"],
        rows,
    )


if __name__ == "__main__":
    main()
