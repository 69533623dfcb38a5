"""Other people's optimizers, with private evaluations beneath; each is imported when it is first used."""

import importlib
from typing import TYPE_CHECKING, Any

from sottovoce.integrations.splitting import events_per_trial

if TYPE_CHECKING:
    from sottovoce.integrations import optuna

__all__ = ["events_per_trial", "optuna"]


def __getattr__(name: str) -> Any:
    if name == "optuna":
        return importlib.import_module("sottovoce.integrations.optuna")
    raise AttributeError(f"module 'sottovoce.integrations' has no attribute {name!r}")
