"""Models: what is believed of losses, from released numbers alone."""

from sottovoce.models.belief import Belief
from sottovoce.models.convex import RadialBelief
from sottovoce.models.features import Features
from sottovoce.models.fit_check import FitCheck
from sottovoce.models.hierarchical_prior import HierarchicalPrior, check_room
from sottovoce.models.item_hierarchy import ItemHierarchy, check_item_room
from sottovoce.models.linear import LinearBelief
from sottovoce.models.measurements import Measurements, Numbers
from sottovoce.models.pace import ModelSettings, Pace
from sottovoce.models.published import Posterior, promises_in
from sottovoce.models.segments import Segment, Segments, segment_text
from sottovoce.models.sufficient_statistics import Prior, SufficientStatistics
from sottovoce.models.variance_shares import VarianceShares

__all__ = [
    "Belief",
    "Features",
    "FitCheck",
    "HierarchicalPrior",
    "ItemHierarchy",
    "LinearBelief",
    "Measurements",
    "ModelSettings",
    "Numbers",
    "Pace",
    "Posterior",
    "Prior",
    "RadialBelief",
    "Segment",
    "Segments",
    "SufficientStatistics",
    "VarianceShares",
    "check_item_room",
    "check_room",
    "promises_in",
    "segment_text",
]
