"""Learners: NoisyOCO, PrivateBandit on top of it, and the plans that set their parameters."""

from sottovoce.learning.bandit.actions import Action, Actions
from sottovoce.learning.bandit.outstanding import Outstanding
from sottovoce.learning.bandit.private_bandit import PrivateBandit
from sottovoce.learning.bandit.recommendation import Recommendation
from sottovoce.learning.oco.mirror_maps import Euclidean, NegativeEntropy
from sottovoce.learning.oco.noisy_oco import MirrorStep, NoisyOCO, RunningSum, step_for
from sottovoce.learning.planning.outlook import plan
from sottovoce.learning.planning.plan import Plan

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
    "Recommendation",
    "RunningSum",
    "plan",
    "step_for",
]
