"""Private, projection-free bandit optimisation.

Decide online over hard feasible sets, from loss values alone, while every person's loss stays differentially private.
"""

from typing import TYPE_CHECKING

from sottovoce._lazy import lazily

if TYPE_CHECKING:  # what is written here for readers and type checkers happens below, when it is first used
    from sottovoce import domains, errors, integrations, lab, projection
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
    )
    from sottovoce.minimizing import minimize
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
    from sottovoce.stats import ab_test, events_needed
    from sottovoce.studies import Study

__version__ = "0.1.0"

__all__ = [
    "ZCDP",
    "Action",
    "Actions",
    "ApproxDP",
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
    "SecureNoise",
    "Segments",
    "SimulatedNoise",
    "Study",
    "__version__",
    "ab_test",
    "audit",
    "connect",
    "domains",
    "errors",
    "events_needed",
    "integrations",
    "lab",
    "local",
    "minimize",
    "plan",
    "projection",
]

# Where public names live. Their packages are loaded when one of them is first used: all of them take a second.
_PACKAGES = (
    "auditing",
    "client",
    "domains",
    "errors",
    "evaluations",
    "integrations",
    "lab",
    "learning",
    "privacy",
    "projection",
    "rehearsal",
    "report",
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
    "minimize": "sottovoce.minimizing",
    "Study": "sottovoce.studies",
}

__getattr__, __dir__ = lazily(__name__, _HOMES, _PACKAGES)
