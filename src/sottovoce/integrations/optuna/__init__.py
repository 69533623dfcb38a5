"""Optuna, with people's losses kept private: `private_optimize`."""

try:
    import optuna as _optuna  # noqa: F401  # the package of that name, not this one
except ModuleNotFoundError as missing:
    if missing.name != "optuna":
        raise
    raise ImportError("sottovoce.integrations.optuna needs Optuna: pip install 'sottovoce[optuna]'") from None

from sottovoce.integrations.optuna.optimizing import private_optimize
from sottovoce.integrations.optuna.outcome import Estimate, PrivateOutcome, estimates
from sottovoce.integrations.optuna.telling import tell

__all__ = ["Estimate", "PrivateOutcome", "estimates", "private_optimize", "tell"]
