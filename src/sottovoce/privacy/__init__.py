"""Everything that touches a private value before its noise, and the promises about it. Knows no domain, no learner."""

from sottovoce.privacy import local
from sottovoce.privacy.accounting import Composition, as_approximate, as_zcdp, compose
from sottovoce.privacy.calibration import noise_for
from sottovoce.privacy.grid import DirectionGrid, LossGrid, grids_for
from sottovoce.privacy.guarantees import (
    GDP,
    ZCDP,
    ApproxDP,
    Guarantee,
    LocalDP,
    NoPrivacy,
    PureDP,
    guarantee_from_dict,
)
from sottovoce.privacy.item_grid import ItemGrid
from sottovoce.privacy.ledger import Entry, Ledger
from sottovoce.privacy.ledger_statement import LedgerStatement, read_ledger, state_ledger
from sottovoce.privacy.mechanisms.exact_sum import ExactSum
from sottovoce.privacy.mechanisms.fresh import FreshSums, fresh_noise
from sottovoce.privacy.mechanisms.honaker import HonakerSums, honaker_levels, honaker_noise
from sottovoce.privacy.mechanisms.item_sums import ITEM_SUMS, RESOLUTION, check_multipliers
from sottovoce.privacy.mechanisms.mechanism import Mechanism, Sensitivity, Takes
from sottovoce.privacy.mechanisms.probe_sums import PROBE_SUMS, ProbeSums, probe_noise
from sottovoce.privacy.mechanisms.table import (
    MECHANISMS,
    RunningSums,
    SumError,
    mechanism_for,
    mechanism_named,
    noise_of,
    running_sums,
    sum_error,
)
from sottovoce.privacy.mechanisms.toeplitz import ToeplitzSums, toeplitz_noise
from sottovoce.privacy.mechanisms.tree import TREE, TreeAggregator, TreeSensitivity, levels, tree_noise
from sottovoce.privacy.noise import Noise, NoiseSource, ScaleRefused, SecureNoise, SimulatedNoise
from sottovoce.privacy.promise import Promise
from sottovoce.privacy.statement import PrivacyStatement, state

__all__ = [
    "GDP",
    "ITEM_SUMS",
    "MECHANISMS",
    "PROBE_SUMS",
    "RESOLUTION",
    "TREE",
    "ZCDP",
    "ApproxDP",
    "Composition",
    "DirectionGrid",
    "Entry",
    "ExactSum",
    "FreshSums",
    "Guarantee",
    "HonakerSums",
    "ItemGrid",
    "Ledger",
    "LedgerStatement",
    "LocalDP",
    "LossGrid",
    "Mechanism",
    "NoPrivacy",
    "Noise",
    "NoiseSource",
    "PrivacyStatement",
    "ProbeSums",
    "Promise",
    "PureDP",
    "RunningSums",
    "ScaleRefused",
    "SecureNoise",
    "Sensitivity",
    "SimulatedNoise",
    "SumError",
    "Takes",
    "ToeplitzSums",
    "TreeAggregator",
    "TreeSensitivity",
    "as_approximate",
    "as_zcdp",
    "check_multipliers",
    "compose",
    "fresh_noise",
    "grids_for",
    "guarantee_from_dict",
    "honaker_levels",
    "honaker_noise",
    "levels",
    "local",
    "mechanism_for",
    "mechanism_named",
    "noise_for",
    "noise_of",
    "probe_noise",
    "read_ledger",
    "running_sums",
    "state",
    "state_ledger",
    "sum_error",
    "toeplitz_noise",
    "tree_noise",
]
