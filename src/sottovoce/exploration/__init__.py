"""From a point to actions that learn something, and from released numbers back to a gradient estimate."""

from sottovoce.exploration.decisions import Decisions, indices_of, joined, said_of
from sottovoce.exploration.designs import BallProbes, Designs, Schedule, VertexProbes
from sottovoce.exploration.explorer import Draw, Exploration, Explorer, Probed, Record, Weighted
from sottovoce.exploration.frames import Frames, haar_frame
from sottovoce.exploration.sphere import Sphere, Spheres
from sottovoce.exploration.stage import Stage

__all__ = [
    "BallProbes",
    "Decisions",
    "Designs",
    "Draw",
    "Exploration",
    "Explorer",
    "Frames",
    "Probed",
    "Record",
    "Schedule",
    "Sphere",
    "Spheres",
    "Stage",
    "VertexProbes",
    "Weighted",
    "haar_frame",
    "indices_of",
    "joined",
    "said_of",
]
