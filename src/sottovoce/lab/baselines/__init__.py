"""Algorithms to compare with, under one interface; `BASELINES` has them by name."""

from sottovoce.lab._catalogue import by_name as _by_name
from sottovoce.lab.baselines.asi_raman_talwar import AsiRamanTalwar as AsiRamanTalwar
from sottovoce.lab.baselines.base import Baseline as Baseline
from sottovoce.lab.baselines.chen_zhang_karbasi import ChenZhangKarbasi as ChenZhangKarbasi
from sottovoce.lab.baselines.dp_imed import DPIMED as DPIMED
from sottovoce.lab.baselines.dp_imed import DPKLUCB as DPKLUCB
from sottovoce.lab.baselines.fkm import FKM as FKM
from sottovoce.lab.baselines.garber_kretzu import GarberKretzu as GarberKretzu
from sottovoce.lab.baselines.phased_elimination import PhasedElimination as PhasedElimination
from sottovoce.lab.baselines.smith_thakurta import SmithThakurta as SmithThakurta
from sottovoce.lab.baselines.thompson_sampling import ThompsonSampling as ThompsonSampling
from sottovoce.lab.baselines.zcdp_elimination import ZCDPElimination as ZCDPElimination
from sottovoce.lab.baselines.zcdp_thompson_sampling import ZCDPThompsonSampling as ZCDPThompsonSampling

BASELINES = _by_name(globals(), Baseline)
"""The algorithms that are imported above, by name. All take (domain, horizon=, loss_range=, privacy=, lipschitz=,
seed=, noise=). `promises` and `linear_only` say what each is for."""

__all__ = ["BASELINES", "Baseline"]
__all__ += [kind.__name__ for kind in BASELINES.values()]
