"""Private, projection-free bandit optimisation.

Decide online over hard feasible sets, from loss values alone, while every person's loss stays differentially private.
"""

from sottovoce import domains, errors, experiments, problems, projection, simulation
from sottovoce.auditing import audit
from sottovoce.exploration.posterior import Posterior
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
from sottovoce.studies import Study

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
    "Outstanding",
    "Plan",
    "Posterior",
    "PrivacyStatement",
    "PrivateBandit",
    "PureDP",
    "Recommendation",
    "Run",
    "SecureNoise",
    "SimulatedNoise",
    "Study",
    "__version__",
    "audit",
    "baselines",
    "domains",
    "errors",
    "experiments",
    "local",
    "minimize",
    "plan",
    "problems",
    "projection",
    "simulate",
    "simulation",
]
