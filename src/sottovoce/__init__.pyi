"""The public names, and where they live: what type checkers read, and what is loaded when it is first used."""

from sottovoce import (
    domains as domains,
    errors as errors,
    integrations as integrations,
    lab as lab,
    projection as projection,
)
from sottovoce.auditing import audit as audit
from sottovoce.client import connect as connect
from sottovoce.evaluations import (
    Evaluation as Evaluation,
    PrivateEvaluations as PrivateEvaluations,
)
from sottovoce.learning import (
    Action as Action,
    Actions as Actions,
    Euclidean as Euclidean,
    MirrorStep as MirrorStep,
    NegativeEntropy as NegativeEntropy,
    NoisyOCO as NoisyOCO,
    Outstanding as Outstanding,
    Plan as Plan,
    PrivateBandit as PrivateBandit,
    Recommendation as Recommendation,
)
from sottovoce.minimizing import minimize as minimize
from sottovoce.models import (
    Posterior as Posterior,
    Segments as Segments,
)
from sottovoce.privacy import (
    ZCDP as ZCDP,
    ApproxDP as ApproxDP,
    Ledger as Ledger,
    LocalDP as LocalDP,
    NoPrivacy as NoPrivacy,
    PrivacyStatement as PrivacyStatement,
    PureDP as PureDP,
    SecureNoise as SecureNoise,
    SimulatedNoise as SimulatedNoise,
    local as local,
)
from sottovoce.rehearsal import plan as plan
from sottovoce.stats import (
    ab_test as ab_test,
    events_needed as events_needed,
)
from sottovoce.studies import Study as Study

__version__: str
