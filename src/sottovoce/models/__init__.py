"""Models: what is believed of losses, from released numbers alone."""

from sottovoce.models.belief import Belief
from sottovoce.models.convex import RadialBelief
from sottovoce.models.features import Features
from sottovoce.models.hearsay import Evidence, Prior
from sottovoce.models.history import History, Numbers
from sottovoce.models.kinship import Kinship, check_room
from sottovoce.models.likeness import Likeness
from sottovoce.models.linear import LinearBelief
from sottovoce.models.misfit import Certainty, Misfit
from sottovoce.models.pace import Pace, Settings
from sottovoce.models.published import Posterior, promises_in
from sottovoce.models.segments import MOST_SEGMENTS, Segment, Segments, segment_text

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
    "Prior",
    "RadialBelief",
    "Segment",
    "Segments",
    "Settings",
    "check_room",
    "promises_in",
    "segment_text",
]
