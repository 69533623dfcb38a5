"""How regret grows with the horizon, measured."""

import numpy as np
import pytest
from scipy import stats

import sottovoce as sv
from sampling import sampled

HORIZONS = (10_000, 31_623, 100_000, 316_228)


def regret(horizon, seed, plan, play):
    environment = sv.lab.MovingTarget(sv.domains.Ball(10), seed=seed)
    optimizer = sv.PrivateBandit(
        environment.domain,
        horizon=horizon,
        loss_range=environment.loss_range,
        lipschitz=environment.lipschitz,
        privacy=sv.NoPrivacy(),
        plan=plan,
        play=play,
        seed=seed,
    )
    return sv.lab.simulate(optimizer, environment, record=2).final_regret


def slope_with_interval(horizons, values, level=0.99):
    """Slope of log(value) in log(horizon) by least squares, and its confidence interval."""
    fit = stats.linregress(np.log(horizons), np.log(values))
    margin = stats.t.ppf((1 + level) / 2, len(horizons) - 2) * fit.stderr
    return fit.slope, fit.slope - margin, fit.slope + margin


@pytest.mark.long
@pytest.mark.parametrize(
    ("plan", "play", "seeds"),
    sampled(
        [("paper", "around", 4), ("paper", "inside", 4), ("auto", "inside", 1)], 1
    ),  # the last is far below, and slow
)
def test_without_privacy_regret_grows_like_t_to_three_quarters_or_slower(plan, play, seeds):
    runs = [(horizon, regret(horizon, seed, plan, play)) for horizon in HORIZONS for seed in range(seeds)]
    slope, low, high = slope_with_interval(*np.transpose(runs))
    print(f"{plan}, {play}: slope {slope:.3f}, 99% interval [{low:.3f}, {high:.3f}]")
    assert high <= 0.76


def test_never_learning_grows_linearly():
    """So that the test above can fail: what does not learn has slope 1."""
    runs = []
    for horizon in HORIZONS[:3]:
        environment = sv.lab.MovingTarget(sv.domains.Ball(10), seed=1)
        best = environment.comparator(horizon).point
        lost = environment.cumulative_loss(environment.domain.center, [horizon])
        runs.append((horizon, float((lost - environment.cumulative_loss(best, [horizon]))[0])))
    assert slope_with_interval(*np.transpose(runs))[0] == pytest.approx(1.0, abs=0.02)
