"""Private, projection-free bandit optimisation.

Decide online over hard feasible sets, from loss values alone, while every person's loss stays differentially private.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what is written here for readers and type checkers happens below, when it is first used
    from sottovoce import domains, errors, experiments, integrations, problems, projection, simulation
    from sottovoce.auditing import audit
    from sottovoce.client import connect
    from sottovoce.evaluations import Evaluation, PrivateEvaluations
    from sottovoce.learning import (
        Action,
        Actions,
        Euclidean,
        MirrorStep,
        NegativeEntropy,
        NoisyOCO,
        Outstanding,
        Plan,
        PrivateBandit,
        Recommendation,
        baselines,
    )
    from sottovoce.models import Posterior, Segments
    from sottovoce.privacy import (
        ZCDP,
        ApproxDP,
        Ledger,
        LocalDP,
        NoPrivacy,
        PrivacyStatement,
        PureDP,
        SecureNoise,
        SimulatedNoise,
        local,
    )
    from sottovoce.rehearsal import plan
    from sottovoce.simulation import Environment, Run, minimize, simulate
    from sottovoce.stats import ab_test, events_needed
    from sottovoce.studies import Study

__version__ = "0.1.0"

__all__ = [
    "ZCDP",
    "Action",
    "Actions",
    "ApproxDP",
    "Environment",
    "Euclidean",
    "Evaluation",
    "Ledger",
    "LocalDP",
    "MirrorStep",
    "NegativeEntropy",
    "NoPrivacy",
    "NoisyOCO",
    "Outstanding",
    "Plan",
    "Posterior",
    "PrivacyStatement",
    "PrivateBandit",
    "PrivateEvaluations",
    "PureDP",
    "Recommendation",
    "Run",
    "SecureNoise",
    "Segments",
    "SimulatedNoise",
    "Study",
    "__version__",
    "ab_test",
    "audit",
    "baselines",
    "connect",
    "domains",
    "errors",
    "events_needed",
    "experiments",
    "integrations",
    "local",
    "minimize",
    "plan",
    "problems",
    "projection",
    "simulate",
    "simulation",
]

# Where public names live. Their packages are loaded when one of them is first used: all of them take a second.
_PACKAGES = (
    "auditing",
    "client",
    "domains",
    "errors",
    "evaluations",
    "experiments",
    "integrations",
    "learning",
    "privacy",
    "problems",
    "projection",
    "rehearsal",
    "report",
    "simulation",
    "stats",
    "studies",
)
_HOMES = {
    "audit": "sottovoce.auditing",
    "connect": "sottovoce.client",
    "ab_test": "sottovoce.stats",
    "events_needed": "sottovoce.stats",
    "Evaluation": "sottovoce.evaluations",
    "PrivateEvaluations": "sottovoce.evaluations",
    "Posterior": "sottovoce.models",
    "Segments": "sottovoce.models",
    "Action": "sottovoce.learning",
    "Actions": "sottovoce.learning",
    "Euclidean": "sottovoce.learning",
    "MirrorStep": "sottovoce.learning",
    "NegativeEntropy": "sottovoce.learning",
    "NoisyOCO": "sottovoce.learning",
    "Outstanding": "sottovoce.learning",
    "Plan": "sottovoce.learning",
    "PrivateBandit": "sottovoce.learning",
    "Recommendation": "sottovoce.learning",
    "baselines": "sottovoce.learning",
    "plan": "sottovoce.rehearsal",
    "ZCDP": "sottovoce.privacy",
    "ApproxDP": "sottovoce.privacy",
    "Ledger": "sottovoce.privacy",
    "LocalDP": "sottovoce.privacy",
    "NoPrivacy": "sottovoce.privacy",
    "PrivacyStatement": "sottovoce.privacy",
    "PureDP": "sottovoce.privacy",
    "SecureNoise": "sottovoce.privacy",
    "SimulatedNoise": "sottovoce.privacy",
    "local": "sottovoce.privacy",
    "Environment": "sottovoce.simulation",
    "Run": "sottovoce.simulation",
    "minimize": "sottovoce.simulation",
    "simulate": "sottovoce.simulation",
    "Study": "sottovoce.studies",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        home = importlib.import_module(_HOMES[name])
        found = getattr(home, name) if hasattr(home, name) else importlib.import_module(f"{_HOMES[name]}.{name}")
    elif name in _PACKAGES:
        found = importlib.import_module(f"sottovoce.{name}")
    else:
        raise AttributeError(f"module 'sottovoce' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_PACKAGES})
