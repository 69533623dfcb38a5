"""Algorithms to compare with, under one interface; `BASELINES` has them by name."""

from sottovoce.learning.baselines._registry import catalogue as _catalogue
from sottovoce.learning.baselines.adap_ucb import AdaPUCB as AdaPUCB
from sottovoce.learning.baselines.agarwal_singh import AgarwalSingh as AgarwalSingh
from sottovoce.learning.baselines.agarwal_singh_full import AgarwalSinghFull as AgarwalSinghFull
from sottovoce.learning.baselines.best_fixed import BestFixed as BestFixed
from sottovoce.learning.baselines.chen_zhang_karbasi import ChenZhangKarbasi as ChenZhangKarbasi
from sottovoce.learning.baselines.fkm import FKM as FKM
from sottovoce.learning.baselines.garber_kretzu import GarberKretzu as GarberKretzu
from sottovoce.learning.baselines.lin_ucb import LinUCB as LinUCB
from sottovoce.learning.baselines.online_frank_wolfe import OnlineFrankWolfe as OnlineFrankWolfe
from sottovoce.learning.baselines.phased_elimination import PhasedElimination as PhasedElimination
from sottovoce.learning.baselines.plans import BaselinePlan as BaselinePlan
from sottovoce.learning.baselines.private_lin_ucb import PrivateLinUCB as PrivateLinUCB
from sottovoce.learning.baselines.smith_thakurta import SmithThakurta as SmithThakurta
from sottovoce.learning.baselines.successive_elimination import SuccessiveElimination as SuccessiveElimination
from sottovoce.learning.baselines.thompson_sampling import ThompsonSampling as ThompsonSampling
from sottovoce.learning.baselines.uniform_random import UniformRandom as UniformRandom

BASELINES = _catalogue(globals())
"""The algorithms that are imported above, by name. All take (domain, horizon=, loss_range=, lipschitz=, seed=); private
ones privacy= and noise= as well, `BestFixed` point=. `private`, `linear_only` and `full_information` say what each
needs."""

__all__ = ["BASELINES", "BaselinePlan"]
__all__ += [kind.__name__ for kind in BASELINES.values()]
