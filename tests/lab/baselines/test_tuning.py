"""Every baseline at its best: the radius with the least bound of its own, and other constants for hindsight."""

import math

import numpy as np
import pytest

import sottovoce as sv
from sampling import every

DOMAINS = (sv.domains.Ball(8), sv.domains.Hypersimplex(6, 2))
PRIVATE = {"pure": sv.PureDP(1.0), "approximate": sv.ApproxDP(1.0, 1e-6)}
KINDS = {
    "garber-kretzu": {},
    "chen-zhang-karbasi": {},
    **{f"smith-thakurta, {name}": {"privacy": privacy} for name, privacy in PRIVATE.items()},
}


def made(name, domain, horizon, **choices):
    kind = sv.lab.baselines.BASELINES[name.partition(",")[0]]
    return kind(domain, horizon=horizon, loss_range=(0.0, 2.0), lipschitz=1.0, **KINDS.get(name, {}), **choices).plan


def radius_of(plan):
    return plan.parameters["radius"] if hasattr(plan, "parameters") else plan.radius


@every("name", KINDS)
@every("domain", DOMAINS)
@every("horizon", [1_000, 10**6])
def test_no_other_radius_has_a_lesser_bound(name, domain, horizon):
    own = made(name, domain, horizon)
    for factor in (0.3, 0.8, 0.95, 1.05, 1.25, 3.0):
        other = made(name, domain, horizon, radius_factor=factor)
        assert other.bound >= own.bound * (1 - 5e-4)  # radii are tried 4% apart, where bounds are flat
        assert radius_of(other) == pytest.approx(min(factor * radius_of(own), domain.inner_radius / 2))
    assert made(name, domain, horizon, radius_factor=0.3).bound > 1.1 * own.bound


@every("name", [*KINDS, "fkm"])
def test_a_factor_is_a_positive_number(name):
    for wrong in (0.0, -1.0, math.nan):
        with pytest.raises((TypeError, ValueError), match="radius_factor must"):
            made(name, DOMAINS[0], 1_000, radius_factor=wrong)


def test_tuning_pays():
    """Garber-Kretzu on the page's setting: the radius of another bound costs a quarter more."""
    environment = sv.lab.MovingTarget(sv.domains.Ball(8), seed=2)
    given = {"horizon": 100_000, "loss_range": (0.0, 2.0), "lipschitz": 1.0, "seed": 1}
    others = sv.lab.baselines.FKM(environment.domain, **given).plan.parameters["radius"]
    own = made("garber-kretzu", environment.domain, 100_000).radius
    regrets = [
        sv.lab.simulate(sv.lab.baselines.GarberKretzu(environment.domain, **given, radius_factor=factor), environment)
        for factor in (1.0, others / own)
    ]
    assert regrets[0].final_regret < 0.85 * regrets[1].final_regret


@every("horizon", [10, 1_000, 100_000])
def test_the_lag_of_chen_zhang_and_karbasi(horizon):
    """The recursion of the proof at its worst, from h_1 = 0, with D = 1: sqrt(h_t) stays below 2.01 t^(-1/5)."""
    pull, gap, worst = horizon**-0.6 / math.sqrt(2), 0.0, 0.0
    for t in range(1, horizon):
        share = t**-0.4
        rest = (1 - share) * gap + share**2
        root = (pull + math.sqrt(pull**2 + 4 * rest)) / 2  # the largest with root^2 <= rest + pull root
        gap = root**2
        worst = max(worst, root * (t + 1) ** 0.2)
    assert 1.0 < worst < 2.01
    assert np.sum(np.arange(1.0, horizon + 1) ** -0.2) <= 1.25 * horizon**0.8
