"""recommend(): the decision to take home, for every plan, at any time, from released values alone."""

import numpy as np

import sottovoce as sv
from sampling import every

SLATES = sv.domains.Hypersimplex(6, 2)
COSTS = np.array([0.9, 0.1, 0.8, 0.9, 0.2, 0.7]) / 2
BEST = np.array([0.0, 1.0, 0.0, 0.0, 1.0, 0.0])
KINDS = {
    "posterior": {"exploration": "posterior", "losses": "linear"},
    "posterior, convex": {"exploration": "posterior"},
    "designs": {"exploration": "designs", "losses": "linear"},
    "frames": {"exploration": "frames"},
    "frames, vertices": {"exploration": "frames", "integral": True},
    "sphere": {"exploration": "sphere", "mechanism": "fresh"},
    "paper": {"plan": "paper", "play": "around"},
}
VERTICES = ("posterior", "designs", "frames, vertices")


def make(kind="posterior", horizon=2000, **options):
    given = {"loss_range": (0.0, 1.0), "privacy": sv.NoPrivacy(), "seed": 3, **KINDS[kind], **options}
    return sv.PrivateBandit(SLATES, horizon=horizon, **given)


def play(optimizer, size):
    actions = optimizer.ask(size)
    optimizer.tell(actions.ids, np.clip(actions.x @ COSTS, 0, 1))


@every("kind", KINDS)
def test_after_one_last_large_ask_there_is_something_to_take_home(kind):
    optimizer = make(kind)
    play(optimizer, 2000)  # all of it: every point was fixed before the first loss came
    assert optimizer.remaining == 0
    found = optimizer.recommend()
    assert found.rounds > 0
    assert SLATES.contains(found.x, 1e-6)
    assert found.x @ COSTS < SLATES.center @ COSTS - 0.02
    if kind in VERTICES:
        assert set(found.x) == {0.0, 1.0}
    if kind == "posterior":
        assert np.array_equal(found.x, BEST)


@every("kind", KINDS)
def test_before_anything_is_released_it_says_that_nothing_is_known(kind):
    found = make(kind).recommend()
    assert found.rounds == 0
    assert found.share is found.loss is None
    assert "nothing is known" in str(found)
    assert SLATES.contains(found.x, 1e-6)


@every("kind", ["posterior", "posterior, convex", "designs", "frames"])
def test_asking_for_it_changes_nothing(kind):
    looked, other = make(kind), make(kind)
    for _ in range(3):
        play(looked, 300)
        play(other, 300)
        looked.recommend()
    assert np.array_equal(looked.ask(200).x, other.ask(200).x)


def test_actions_asked_far_ahead_of_losses_do_not_hide_what_earlier_epochs_learned():
    optimizer = make(horizon=None)
    actions = optimizer.ask(5000)  # four epochs and a part of the fifth
    assert optimizer.recommend().rounds == 0
    optimizer.tell(actions.ids[:700], actions.x[:700] @ COSTS)
    found = optimizer.recommend()
    assert found.rounds > 0
    assert np.array_equal(found.x, BEST)


def test_it_knows_how_sure_it_is():
    optimizer = make(privacy=sv.PureDP(0.1), noise=sv.SimulatedNoise(1), horizon=20_000)
    play(optimizer, 2_000)
    unsure = optimizer.recommend()
    play(optimizer, 18_000)
    late = optimizer.recommend()
    assert 0 <= unsure.share < late.share <= 1
    assert late.shortfall[0] < unsure.shortfall[0] <= unsure.shortfall[1]
    assert late.deviation < unsure.deviation
    assert abs(late.loss - late.x @ COSTS) < 4 * late.deviation
