"""Rewards are losses of the other sign: the same is played, and what is shown is in the sign of what is told."""

import numpy as np
import pytest

import sottovoce as sv
from optimizers import bandit
from sampling import every
from sottovoce.errors import ConfigurationMismatch
from sottovoce.privacy import ItemGrid, LossGrid

NAMES = list("abcdefgh")
WAYS = {
    "posterior": {"losses": "linear"},
    "designs": {"losses": "linear", "plan": "worst-case"},
    "convex": {"domain": sv.domains.Box(-1.0, 1.0, 3)},
    "frames": {"domain": sv.domains.Box(-1.0, 1.0, 3), "plan": "worst-case"},
    "sphere and tree": {"domain": sv.domains.Ball(3), "plan": "paper"},
    "items": {"losses": "linear", "feedback": "items"},
    "items that count for 1": {"losses": "linear", "feedback": "items", "most": 1.0},
    "segments": {"losses": "linear", "segments": ["x", "y"]},
    "one bit": {"losses": "linear", "privacy": sv.LocalDP(2.0)},
    "no horizon": {"losses": "linear", "horizon": None},
}


def made(direction, *, domain=None, horizon=900, **way):
    given = {"loss_range": (0.0, 2.0) if direction == "minimize" else (-2.0, 0.0), "seed": 3, "direction": direction}
    return bandit(domain or sv.domains.Hypersimplex(NAMES, k=3), horizon, noise=sv.SimulatedNoise(4), **given | way)


def played(optimizer):
    """Play a few rounds of losses that are the same in both directions; return what was played."""
    people, sign = np.random.default_rng(5), 1.0 if optimizer.direction == "minimize" else -1.0
    segment = {} if optimizer.segments is None else {"segment": ["x", "y"] * 60}
    shown = []
    for _ in range(5):
        actions = optimizer.ask(120, **segment)
        costs = np.linspace(0.1, 0.9, actions.x.shape[1])
        if optimizer._local:
            reports = people.choice([-1, 1], 120)
            optimizer.tell(actions.ids, report=reports if sign > 0 else -reports)
        elif optimizer._itemised:
            rows = actions.x.astype(bool)
            optimizer.tell(actions.ids, sign * np.array([costs[row] for row in rows]))
        else:
            optimizer.tell(actions.ids, sign * (actions.x @ costs + people.normal(0, 0.2, 120)))  # some are clipped
        shown.append(actions.x)
    return np.concatenate(shown)


@every("way", WAYS.values())
def test_rewards_are_played_as_their_losses_are_to_the_last_bit(way):
    losses, rewards = made("minimize", **way), made("maximize", **way)
    assert (played(losses) == played(rewards)).all()
    assert rewards.loss_range == (-2.0, 0.0)
    found, mirrored = losses.recommend(), rewards.recommend()
    assert (found.x == mirrored.x).all()
    assert mirrored.direction == "maximize"
    assert mirrored.loss == (None if found.loss is None else -found.loss)
    assert (found.deviation, found.shortfall) == (mirrored.deviation, mirrored.shortfall)
    if found.items:
        assert mirrored.items == {name: (-loss, deviation) for name, (loss, deviation) in found.items.items()}
    if way.get("segments"):
        assert mirrored["x"].loss == -found["x"].loss


def test_what_is_believed_is_of_rewards_and_begins_another_run_alike():
    losses, rewards = made("minimize", losses="linear"), made("maximize", losses="linear")
    played(losses), played(rewards)
    known, mirrored = losses.posterior(), rewards.posterior()
    assert mirrored.turned() == known
    assert mirrored.direction == "maximize"
    at = losses.recommend().x
    assert mirrored.predict(at) == pytest.approx((-known.predict(at)[0], known.predict(at)[1]))
    assert str(mirrored).split("best")[1].split(":")[0] == str(known).split("best")[1].split(":")[0]
    again = made("minimize", losses="linear", prior=known, accept_prior="not private")
    as_well = made("maximize", losses="linear", prior=mirrored, accept_prior="not private")
    assert (played(again) == played(as_well)).all()
    for direction, prior in (("minimize", mirrored), ("maximize", known)):
        with pytest.raises(ValueError, match=f"prior is of a run with direction='{prior.direction}'"):
            made(direction, losses="linear", prior=prior, accept_prior="not private")


def test_a_reward_is_clipped_and_moves_its_integer_as_its_loss_does():
    told = np.array([-9.0, 0.0, 0.3, 1.0, 2.5, 9.0])
    losses, rewards = LossGrid(-2.0, 0.0, bits=10), LossGrid(-2.0, 0.0, bits=10, rewards=True)
    assert (rewards.quantise(told) == losses.quantise(-told)).all()
    assert [rewards.quantiser()(one) for one in told.tolist()] == rewards.quantise(told).tolist()
    assert rewards.valid(rewards.quantise(told))
    items = ItemGrid(LossGrid(-1.0, 0.0, bits=4, rewards=True), width=3, most=1.0)
    assert items.quantise([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]]).tolist() == [[0, 16, 16], [8, 8, 16]]


def test_a_study_keeps_its_direction_and_shows_rewards(tmp_path):
    url = f"sqlite:///{tmp_path / 'shop.db'}"
    options = {"domain": sv.domains.Simplex(NAMES), "horizon": 500, "loss_range": (0.0, 1.0), "losses": "linear"}
    with sv.Study.open(url, name="clicks", privacy=sv.NoPrivacy(), direction="maximize", seed=1, **options) as study:
        actions = study.ask_round()
        study.tell(actions.ids, 0.2 + 0.7 * actions.x[:, 3])
        assert 0.2 <= study.history().means[0] <= 0.9
    with sv.Study.open(url, name="clicks", direction="maximize") as study:
        assert study.direction == "maximize"
        assert 0.0 <= study.recommend().loss <= 1.0
        assert "reward " in str(study.recommend())
        assert study.verify().ok
        assert study.export()["configuration"]["direction"] == "maximize"
    with pytest.raises(ConfigurationMismatch, match="direction is 'maximize', not 'minimize'"):
        sv.Study.open(url, name="clicks", direction="minimize")
