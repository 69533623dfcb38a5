"""What people meet of optimizers in memory: the bandit, its actions, its plans, the framework under it."""

from sottovoce.learning.bandit.actions import Action, Actions
from sottovoce.learning.bandit.outstanding import Outstanding
from sottovoce.learning.bandit.private_bandit import PrivateBandit
from sottovoce.learning.bandit.recommendation import Recommendation
from sottovoce.learning.bandit.stopping import Enough
from sottovoce.oco.mirror_maps import Euclidean, NegativeEntropy
from sottovoce.oco.noisy_oco import MirrorStep, NoisyOCO, RunningSum, step_for
from sottovoce.plans.outlook import plan
from sottovoce.plans.plan import Plan

__all__ = [
    "Action",
    "Actions",
    "Enough",
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
