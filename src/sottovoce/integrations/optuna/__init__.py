"""Optuna, with people's losses kept private: `private_optimize`."""

from sottovoce._extras import naming_the_extra

with naming_the_extra("sottovoce.integrations.optuna"):
    from sottovoce.integrations.optuna.optimizing import private_optimize, tell
    from sottovoce.integrations.optuna.outcome import Estimate, PrivateOutcome, estimates

__all__ = ["Estimate", "PrivateOutcome", "estimates", "private_optimize", "tell"]
