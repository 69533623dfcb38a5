"""Learners: NoisyOCO, PrivateBandit on top of it, and the plans that set their parameters."""

from sottovoce.learning.mirror_maps import Euclidean, NegativeEntropy
from sottovoce.learning.noisy_oco import MirrorStep, NoisyOCO, RunningSum, step_for
from sottovoce.learning.outlook import plan
from sottovoce.learning.outstanding import Outstanding
from sottovoce.learning.plan import Plan
from sottovoce.learning.private_bandit import PrivateBandit
from sottovoce.learning.rounds import Action, Actions

__all__ = [
    "Action",
    "Actions",
    "Euclidean",
    "MirrorStep",
    "NegativeEntropy",
    "NoisyOCO",
    "Outstanding",
    "Plan",
    "PrivateBandit",
    "RunningSum",
    "plan",
    "step_for",
]
