"""Everything that touches a private value before its noise, and the promises about it. Knows no domain, no learner."""

from sottovoce.privacy.exact_sum import ExactSum
from sottovoce.privacy.grid import DirectionGrid, LossGrid, grids_for
from sottovoce.privacy.guarantees import ZCDP, ApproxDP, Guarantee, NoPrivacy, PureDP
from sottovoce.privacy.noise import Noise, NoiseSource, SecureNoise, SimulatedNoise
from sottovoce.privacy.statement import PrivacyStatement, state
from sottovoce.privacy.tree import TreeAggregator, TreeSensitivity, levels, tree_noise

__all__ = [
    "ZCDP",
    "ApproxDP",
    "DirectionGrid",
    "ExactSum",
    "Guarantee",
    "LossGrid",
    "NoPrivacy",
    "Noise",
    "NoiseSource",
    "PrivacyStatement",
    "PureDP",
    "SecureNoise",
    "SimulatedNoise",
    "TreeAggregator",
    "TreeSensitivity",
    "grids_for",
    "levels",
    "state",
    "tree_noise",
]
