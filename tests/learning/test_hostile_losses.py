"""What a hostile client can do to learning, as docs/explanation/threat-model.md says it: how much, and no more.

B is the width of the loss range, n the events behind a released number, f the share of events that lie.
"""

import math

import numpy as np
import pytest

import sottovoce as sv
from optimizers import bandit
from sampling import every

MENU = ["a", "b", "c"]


def released(folder, losses_of, privacy, **made):
    """Return the released means of a study's first round, with the noise of a seed, and the events behind each."""
    given = {"domain": sv.domains.Simplex(MENU), "integral": True, "losses": "linear", "horizon": 20_000, "seed": 2}
    given |= {"loss_range": (-1.0, 3.0), "privacy": privacy, "noise": sv.SimulatedNoise(1), **made}
    with sv.Study.open(f"sqlite:///{folder}/studies.db", name="study", **given) as study:
        actions = study.ask(study.plan.batch_size)
        if isinstance(privacy, sv.LocalDP):
            study.tell(actions.ids, report=losses_of(len(actions), study.channel))
        else:
            study.tell(actions.ids, losses_of(len(actions), None))
        (first, *_) = study.export()["rounds"]
        weights = np.array(first["weights"], float)
        step = study.channel.step if isinstance(privacy, sv.LocalDP) else 4.0 / 2.0**study.plan.bits
        return step * np.array(first["released"], float) / weights, weights


LIES = {  # what others tell, what one tells, under which guarantee, and how many widths of the range it is worth
    "far above": (-1.0, 1e300, sv.PureDP(epsilon=1.0), 1.0),
    "far below": (3.0, -1e300, sv.PureDP(epsilon=1.0), 1.0),
    "at the end": (-1.0, 3.0, sv.PureDP(epsilon=1.0), 1.0),
    "a bit": (-1, 1, sv.LocalDP(0.5), 1 / math.tanh(0.25)),
    "a bit that says more": (-1, 1, sv.LocalDP(2.0), 1 / math.tanh(1.0)),
}


@pytest.mark.parametrize("what", LIES)
def test_one_event_moves_one_released_mean_by_its_worth_over_the_events_behind_it(tmp_path, what):
    """Whatever is told, and whatever else was told: B/n, and B coth(epsilon/2)/n for one bit.

    It is the price of reports that hide a loss: they have to be worth more.
    """
    honest, lie, privacy, worth = LIES[what]
    found = []
    for told in (honest, lie):
        (tmp_path / str(told)).mkdir()
        losses = lambda count, _, told=told: np.array([*[honest] * 17, told, *[honest] * (count - 18)])  # noqa: E731
        found.append(released(tmp_path / str(told), losses, privacy))
    (before, weights), (after, _) = found
    moved = np.abs(after - before)
    assert np.count_nonzero(moved) == 1
    assert moved.max() == pytest.approx(4.0 * worth / weights[moved.argmax()], rel=1e-4)  # all of it, and no more


def attacked(means, share, lie, *, domain, horizon, seed, local=None):
    """Let a share of events lie, play a private bandit to its end, and return how much its recommendation is worse.

    With `local`, an epsilon, honest owners send the bit of their loss, and liars whichever they like.
    """
    coins = np.random.default_rng(seed)
    noisy = {"privacy": sv.LocalDP(local), "noise": None} if local else {"noise": sv.SimulatedNoise(seed)}
    optimizer = bandit(domain, horizon, integral=True, losses="linear", seed=seed, **noisy)
    while optimizer.remaining:
        actions = optimizer.ask_round()
        expected = actions.x @ means
        losses = (coins.random(len(expected)) < expected).astype(float)
        lies = coins.random(len(expected)) < share
        losses[lies] = lie(actions.x[lies])
        if local is None:
            optimizer.tell(actions.ids, losses)
        else:
            chances = 0.5 + (np.clip(losses, 0, 1) - 0.5) * np.where(lies, 1.0, math.tanh(local / 2))
            optimizer.tell(actions.ids, report=np.where(coins.random(len(chances)) < chances, 1, -1))
    best = means @ domain.extreme_point(means)
    return float(means @ optimizer.recommend().x - best)


@every(("share", "local"), [(0.1, None), (0.2, None), (0.3, None), (0.1, 1.0), (0.1, 2.0)])
def test_lies_of_a_share_of_events_cost_up_to_their_odds_and_not_more(share, local):
    """f/(1 - f) of B is the most that the worse of two decisions can be made to look better by.

    Below it the lie succeeds, above it does not: with losses far outside of the range, which are clipped to it. Under
    local privacy B coth(epsilon/2) is in the place of B.
    """
    most = share / (1 - share) / (math.tanh(local / 2) if local else 1.0)
    smear, horizon = (1.0, 20_000) if local else (1e9, 6000)

    def lie(x):
        return np.where(x[:, 1] > 0, 1.0 - smear, smear)  # praise the second, run down all others

    for gap, cost in ((0.6 * most, 0.6 * most), (min(1.6 * most, 0.9), 0.0)):
        means = np.array([0.5 - gap / 2, 0.5 + gap / 2, 0.5 + gap / 2])
        for seed in range(2):
            domain = sv.domains.Simplex(3)
            worse = attacked(means, share, lie, domain=domain, horizon=horizon, seed=seed, local=local)
            assert worse == pytest.approx(cost, abs=1e-9), (gap, seed)
