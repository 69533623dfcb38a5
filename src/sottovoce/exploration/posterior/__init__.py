"""Posterior probes: decisions that may be the best, drawn from what was released of those before."""

from sottovoce.exploration.posterior.belief import Belief, Certainty, Misfit, Pace, Settings
from sottovoce.exploration.posterior.features import Features
from sottovoce.exploration.posterior.history import History, Numbers
from sottovoce.exploration.posterior.linear import LinearBelief
from sottovoce.exploration.posterior.probes import PosteriorExploration, PosteriorProbes
from sottovoce.exploration.posterior.published import Posterior
from sottovoce.exploration.posterior.radial import RadialBelief

__all__ = [
    "Belief",
    "Certainty",
    "Features",
    "History",
    "LinearBelief",
    "Misfit",
    "Numbers",
    "Pace",
    "Posterior",
    "PosteriorExploration",
    "PosteriorProbes",
    "RadialBelief",
    "Settings",
]
