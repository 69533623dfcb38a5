"""Regret of each baseline, and of the paper's algorithm, grows no faster than its guarantee, and stays below its bound.

The mean regret is taken at a short and at a long horizon, over several seeds (of the environment, the coins and the
noise alike; more of them at the short one, where they cost little). The slope between the two, of log regret against
log T, has a one-sided 95% confidence limit (delta method; Student at the smaller number of seeds), which must be below
the exponent of the guarantee plus 0.1. The tolerance is for
horizons that are finite: at the short one, regret is near what never learning costs, and so the slope is too steep. All
seeds are fixed, so a test never fails by chance.
"""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

import sottovoce as sv
from sampling import sampled


@dataclass(frozen=True)
class Case:
    """A baseline, a problem where it applies, and the exponent of its guarantee."""

    name: str
    domain: sv.domains.Domain
    exponent: float
    horizons: tuple[int, int]
    seeds: tuple[int, int] = (12, 4)
    privacy: sv.PureDP | sv.ApproxDP | None = None
    linear: bool = False
    tolerance: float = 0.1
    gap: float = 0.5  # of linear losses; at a half they have no noise of their own

    def __str__(self) -> str:
        return f"{self.name}-{self.domain}"


ARMS = sv.domains.Simplex(4)
BALL, DISC, SUBSETS = sv.domains.Ball(3), sv.domains.Ball(2), sv.domains.Hypersimplex(6, 2)
PAPER = {"horizons": (10_000, 316_228), "seeds": (8, 4), "tolerance": 0.01}
CASES = [
    Case("paper around", sv.domains.Ball(10), 3 / 4, **PAPER),  # Theorem 1.1, without privacy
    Case("paper inside", sv.domains.Ball(10), 3 / 4, **PAPER),
    Case("fkm", BALL, 3 / 4, (500, 4_000), (16, 8)),
    Case("chen-zhang-karbasi", BALL, 4 / 5, (500, 4_000), (12, 6)),
    Case("garber-kretzu", BALL, 3 / 4, (1_000, 400_000)),
    Case("garber-kretzu", SUBSETS, 3 / 4, (1_000, 400_000)),
    Case("smith-thakurta", DISC, 3 / 4, (250, 2_000), (8, 4), privacy=sv.PureDP(10.0)),
    Case("phased-elimination", SUBSETS, 1 / 2, (60_000, 900_000), (4, 3), privacy=sv.PureDP(1.0), linear=True, gap=0.3),
    Case("zcdp-elimination", SUBSETS, 1 / 2, (60_000, 900_000), (4, 3), privacy=sv.ZCDP(0.5), linear=True, gap=0.3),
    Case("zcdp-thompson-sampling", SUBSETS, 1 / 2, (3_000, 300_000), (8, 4), sv.ZCDP(0.5), linear=True, gap=0.1),
    Case("asi-raman-talwar", ARMS, 1 / 2, (3_000, 60_000), (6, 4), privacy=sv.PureDP(0.1), linear=True, gap=0.3),
    Case("thompson-sampling", SUBSETS, 1 / 2, (3_000, 300_000), (16, 12), linear=True, gap=0.1),
]


def run_of(case, horizon, seed):
    if case.linear:
        environment = sv.lab.NoisyLinear(case.domain, gap=case.gap, seed=seed)
    else:
        environment = sv.lab.MovingTarget(case.domain, seed=seed, **({} if "paper" in case.name else {"drift": 0.0}))
    if "paper" in case.name:
        kind, options = sv.PrivateBandit, {"privacy": sv.NoPrivacy(), "plan": "paper", "play": case.name.split()[1]}
    else:
        kind = sv.lab.baselines.BASELINES[case.name]
        options = {"privacy": case.privacy, "noise": sv.SimulatedNoise(seed)} if kind.private else {}
    learner = kind(
        case.domain,
        horizon=horizon,
        loss_range=environment.loss_range,
        lipschitz=environment.lipschitz,
        seed=seed,
        **options,
    )
    return sv.lab.simulate(learner, environment), learner


def slope_with_limit(horizons, regrets):
    """Slope between the means at two horizons, and its upper 95% confidence limit."""
    (low, low_error), (high, high_error) = [
        (np.mean(values), np.std(values, ddof=1) / math.sqrt(len(values))) for values in regrets
    ]
    run = math.log(horizons[1] / horizons[0])
    error = math.hypot(low_error / low, high_error / high) / run
    slope = math.log(high / low) / run
    return slope, slope + stats.t.ppf(0.95, min(map(len, regrets)) - 1) * error


@pytest.mark.parametrize("case", sampled(CASES, [len(CASES) - 1], str))
def test_regret_grows_as_guaranteed(case):
    regrets = []
    for horizon, seeds in zip(case.horizons, case.seeds, strict=True):
        runs = [run_of(case, horizon, seed) for seed in range(seeds)]
        regrets.append([run.final_regret for run, _ in runs])
        for run, learner in runs:
            assert run.final_regret <= learner.plan.bound
    for run, _ in runs:
        assert run.final_regret < run.final_no_learning
    slope, limit = slope_with_limit(case.horizons, regrets)
    print(f"{case}: {slope:.3f}, at most {limit:.3f}, guaranteed {case.exponent:.3f}")
    assert limit < case.exponent + case.tolerance


def test_never_learning_grows_linearly():
    """So that the test above can fail: what does not learn has slope 1."""
    environment, horizons = sv.lab.MovingTarget(sv.domains.Ball(10), seed=1), (10_000, 100_000)
    lost = [environment.cumulative_loss(environment.domain.center, [horizon]) for horizon in horizons]
    best = [environment.cumulative_loss(environment.comparator(horizon).point, [horizon]) for horizon in horizons]
    slope, _ = slope_with_limit(horizons, [np.repeat(one - other, 2) for one, other in zip(lost, best, strict=True)])
    assert slope == pytest.approx(1.0, abs=0.02)
