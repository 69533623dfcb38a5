"""Private, projection-free bandit optimisation.

Decide online over hard feasible sets, from loss values alone, while every person's loss stays differentially private.
"""

from sottovoce import domains, errors, projection, simulation
from sottovoce.auditing import audit
from sottovoce.learning import (
    Action,
    Actions,
    Euclidean,
    MirrorStep,
    NegativeEntropy,
    NoisyOCO,
    Plan,
    PrivateBandit,
    plan,
)
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
from sottovoce.simulation import Environment, Run, minimize, simulate

__version__ = "0.1.0"

__all__ = [
    "ZCDP",
    "Action",
    "Actions",
    "ApproxDP",
    "Environment",
    "Euclidean",
    "Ledger",
    "LocalDP",
    "MirrorStep",
    "NegativeEntropy",
    "NoPrivacy",
    "NoisyOCO",
    "Plan",
    "PrivacyStatement",
    "PrivateBandit",
    "PureDP",
    "Run",
    "SecureNoise",
    "SimulatedNoise",
    "__version__",
    "audit",
    "domains",
    "errors",
    "local",
    "minimize",
    "plan",
    "projection",
    "simulate",
    "simulation",
]
