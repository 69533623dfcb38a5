"""Projection by linear oracle: the nearest point of a set that can only be asked for its extreme points."""

from sottovoce.projection.frank_wolfe import conditional_gradient
from sottovoce.projection.min_norm_point import project
from sottovoce.projection.objective import Entropy, Objective, Quadratic
from sottovoce.projection.result import Oracle, Projection

__all__ = ["Entropy", "Objective", "Oracle", "Projection", "Quadratic", "conditional_gradient", "project"]
