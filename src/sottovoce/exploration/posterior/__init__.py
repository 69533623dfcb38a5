"""Posterior probes: decisions that may be the best, drawn from what was released of those before."""

from sottovoce.exploration.posterior.belief import Belief, Certainty, Misfit, Pace, Settings
from sottovoce.exploration.posterior.features import Features
from sottovoce.exploration.posterior.hearsay import Evidence, Prior
from sottovoce.exploration.posterior.history import History, Numbers
from sottovoce.exploration.posterior.kinship import Kinship, check_room
from sottovoce.exploration.posterior.likeness import Likeness
from sottovoce.exploration.posterior.linear import LinearBelief
from sottovoce.exploration.posterior.probes import PosteriorExploration, PosteriorProbes
from sottovoce.exploration.posterior.published import Posterior, promises_in
from sottovoce.exploration.posterior.radial import RadialBelief
from sottovoce.exploration.posterior.segments import MOST_SEGMENTS, Segment, Segments, segment_text

__all__ = [
    "MOST_SEGMENTS",
    "Belief",
    "Certainty",
    "Evidence",
    "Features",
    "History",
    "Kinship",
    "Likeness",
    "LinearBelief",
    "Misfit",
    "Numbers",
    "Pace",
    "Posterior",
    "PosteriorExploration",
    "PosteriorProbes",
    "Prior",
    "RadialBelief",
    "Segment",
    "Segments",
    "Settings",
    "check_room",
    "promises_in",
    "segment_text",
]
