"""Environments to learn in, and the score that is kept there. Nothing here exists in a live deployment."""

from sottovoce.lab.simulation._playing import decision_of, simulate
from sottovoce.lab.simulation.environment import Comparator, Environment, Events
from sottovoce.lab.simulation.finite import FiniteEnvironment
from sottovoce.lab.simulation.loss_library import Distances, LinearLosses, LossLibrary
from sottovoce.lab.simulation.moving_target import MovingTarget
from sottovoce.lab.simulation.noisy_linear import NoisyLinear
from sottovoce.lab.simulation.run import Run, RunDetails
from sottovoce.lab.simulation.segment_scores import SegmentScores
from sottovoce.lab.simulation.segmented import SegmentedEnvironment, power_law
from sottovoce.lab.simulation.switching import Switching

__all__ = [
    "Comparator",
    "Distances",
    "Environment",
    "Events",
    "FiniteEnvironment",
    "LinearLosses",
    "LossLibrary",
    "MovingTarget",
    "NoisyLinear",
    "Run",
    "RunDetails",
    "SegmentScores",
    "SegmentedEnvironment",
    "Switching",
    "decision_of",
    "power_law",
    "simulate",
]
