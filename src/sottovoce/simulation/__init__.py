"""Environments to learn in, and the score that is kept there. Nothing here exists in a live deployment."""

from sottovoce.simulation._minimizing import Minimized, minimize
from sottovoce.simulation._playing import decision_of, simulate
from sottovoce.simulation.environment import Comparator, Environment, Events
from sottovoce.simulation.finite import FiniteEnvironment
from sottovoce.simulation.full_information import simulate_full_information
from sottovoce.simulation.loss_library import Distances, LinearLosses, LossLibrary
from sottovoce.simulation.moving_target import MovingTarget
from sottovoce.simulation.noisy_linear import NoisyLinear
from sottovoce.simulation.run import Run, RunDetails
from sottovoce.simulation.segment_scores import SegmentScores
from sottovoce.simulation.segmented import SegmentedEnvironment, power_law
from sottovoce.simulation.segmented_targets import SegmentedTargets
from sottovoce.simulation.switching import Switching

__all__ = [
    "Comparator",
    "Distances",
    "Environment",
    "Events",
    "FiniteEnvironment",
    "LinearLosses",
    "LossLibrary",
    "Minimized",
    "MovingTarget",
    "NoisyLinear",
    "Run",
    "RunDetails",
    "SegmentScores",
    "SegmentedEnvironment",
    "SegmentedTargets",
    "Switching",
    "decision_of",
    "minimize",
    "power_law",
    "simulate",
    "simulate_full_information",
]
