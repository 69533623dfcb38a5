"""The public names, and where they live: what type checkers read, and what is loaded when it is first used."""

from sottovoce.privacy import local as local
from sottovoce.privacy.accounting import (
    Composition as Composition,
    compose as compose,
)
from sottovoce.privacy.calibration import noise_for as noise_for
from sottovoce.privacy.grid import (
    DirectionGrid as DirectionGrid,
    LossGrid as LossGrid,
    bits_for as bits_for,
)
from sottovoce.privacy.guarantees import (
    ZCDP as ZCDP,
    ApproxDP as ApproxDP,
    Guarantee as Guarantee,
    LocalDP as LocalDP,
    NoPrivacy as NoPrivacy,
    PureDP as PureDP,
    guarantee_from_dict as guarantee_from_dict,
)
from sottovoce.privacy.item_grid import ItemGrid as ItemGrid
from sottovoce.privacy.ledger import (
    Entry as Entry,
    Ledger as Ledger,
    LedgerStatement as LedgerStatement,
    read_ledger as read_ledger,
)
from sottovoce.privacy.mechanisms.exact_sum import ExactSum as ExactSum
from sottovoce.privacy.mechanisms.fresh import (
    FreshSums as FreshSums,
    fresh_noise as fresh_noise,
)
from sottovoce.privacy.mechanisms.item_sums import (
    ITEM_SUMS as ITEM_SUMS,
    RESOLUTION as RESOLUTION,
    check_multipliers as check_multipliers,
)
from sottovoce.privacy.mechanisms.mechanism import (
    Mechanism as Mechanism,
    Sensitivity as Sensitivity,
    Takes as Takes,
)
from sottovoce.privacy.mechanisms.probe_sums import (
    PROBE_SUMS as PROBE_SUMS,
    ProbeSums as ProbeSums,
    probe_noise as probe_noise,
)
from sottovoce.privacy.mechanisms.table import (
    MECHANISMS as MECHANISMS,
    mechanism_for as mechanism_for,
    mechanism_named as mechanism_named,
)
from sottovoce.privacy.mechanisms.tree import (
    TREE as TREE,
    TreeAggregator as TreeAggregator,
    levels as levels,
    tree_noise as tree_noise,
)
from sottovoce.privacy.noise import (
    Noise as Noise,
    NoiseSource as NoiseSource,
    ScaleRefused as ScaleRefused,
    SecureNoise as SecureNoise,
    SimulatedNoise as SimulatedNoise,
)
from sottovoce.privacy.promise import Promise as Promise
from sottovoce.privacy.statement import (
    PrivacyStatement as PrivacyStatement,
    state as state,
)
