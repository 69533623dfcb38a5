"""Algorithms to compare with, under one interface; `BASELINES` has them by name."""

from typing import Any

from sottovoce.learning.baselines.agarwal_singh import AgarwalSingh
from sottovoce.learning.baselines.best_fixed import BestFixed
from sottovoce.learning.baselines.chen_zhang_karbasi import ChenZhangKarbasi
from sottovoce.learning.baselines.fkm import FKM
from sottovoce.learning.baselines.garber_kretzu import GarberKretzu
from sottovoce.learning.baselines.online_frank_wolfe import OnlineFrankWolfe
from sottovoce.learning.baselines.plans import BaselinePlan
from sottovoce.learning.baselines.smith_thakurta import SmithThakurta
from sottovoce.learning.baselines.uniform_random import UniformRandom

__all__ = [
    "BASELINES",
    "FKM",
    "AgarwalSingh",
    "BaselinePlan",
    "BestFixed",
    "ChenZhangKarbasi",
    "GarberKretzu",
    "OnlineFrankWolfe",
    "SmithThakurta",
    "UniformRandom",
]

BASELINES: dict[str, type[Any]] = {
    kind.name: kind
    for kind in (
        FKM,
        GarberKretzu,
        ChenZhangKarbasi,
        SmithThakurta,
        AgarwalSingh,
        UniformRandom,
        BestFixed,
        OnlineFrankWolfe,
    )
}
"""The algorithms by name. All take (domain, horizon=, loss_range=, lipschitz=, seed=); private ones privacy= and noise=
as well, `BestFixed` point=. `private`, `linear_only` and `full_information` say what each needs."""
