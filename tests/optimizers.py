"""Optimizers in memory with the settings that most tests share: small, seeded, and with simulated noise."""

import sottovoce as sv


def bandit(domain, horizon=2000, **options):
    """Return an optimizer of losses in [0, 1] under epsilon 1, unless options say otherwise."""
    given = {"loss_range": (0.0, 1.0), "privacy": sv.PureDP(1.0), "seed": 1, "noise": sv.SimulatedNoise(1)}
    return sv.PrivateBandit(domain, horizon=horizon, **given | options)
