"""The public names, and where they live: what type checkers read, and what is loaded when it is first used."""

from sottovoce.learning.actions import (
    Action as Action,
    Actions as Actions,
)
from sottovoce.learning.outstanding import Outstanding as Outstanding
from sottovoce.learning.private_bandit import PrivateBandit as PrivateBandit
from sottovoce.learning.recommendation import (
    Recommendation as Recommendation,
    SegmentGain as SegmentGain,
)
from sottovoce.learning.stopping import Enough as Enough
from sottovoce.oco.mirror_maps import (
    Euclidean as Euclidean,
    NegativeEntropy as NegativeEntropy,
)
from sottovoce.oco.noisy_oco import (
    MirrorStep as MirrorStep,
    NoisyOCO as NoisyOCO,
    RunningSum as RunningSum,
    step_for as step_for,
)
from sottovoce.plans.plan import Plan as Plan
