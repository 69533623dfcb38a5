"""Actions and recommendations answer in the names of the set, whoever asks, and at no cost to those who do not."""

import copy
import pickle

import numpy as np

import sottovoce as sv
from sampling import every

DRINKS = ("tea", "coffee", "cocoa", "milk", "juice", "water")
MENU = sv.domains.Hypersimplex(DRINKS, k=2)


def bandit(domain=MENU, **options):
    given = {"horizon": 5000, "loss_range": (0.0, 1.0), "privacy": sv.PureDP(1.0), "integral": True, "seed": 1}
    return sv.PrivateBandit(domain, **{**given, "noise": sv.SimulatedNoise(1), **options})


def named(x):
    return [DRINKS[i] for i in np.flatnonzero(x)]


@every("plan", ["auto", "worst-case"])
def test_actions_say_what_they_choose(plan):
    optimizer = bandit(plan=plan)
    for action in [optimizer.ask() for _ in range(50)]:
        assert action.chosen == named(action.x)
        number, _, wants_loss = action  # it is still a tuple of three
        assert (number, wants_loss) == (action.id, action.wants_loss)
        assert repr(action) == f"Action(id={number}, chosen={named(action.x)!r}, wants_loss={wants_loss})"
        assert isinstance(action, sv.Action)
    baseline = sv.lab.baselines.ThompsonSampling(MENU, horizon=100, loss_range=(0.0, 1.0), seed=1)
    for one in baseline.ask(5):
        assert one.chosen == named(one.x)
    assert sv.Action(1, np.array([0.0, 1.0, 1.0])).chosen == [1, 2]  # of nobody's set
    nobodys = sv.Actions(np.arange(2), np.array([[0.0, 0.5], [1.0, 0.0]]), np.ones(2, dtype=bool))
    assert nobodys.chosen == [{1: 0.5}, [0]]
    actions = optimizer.ask(300)
    assert actions.chosen == [named(x) for x in actions.x]
    assert [one.chosen for one in actions] == actions.chosen


@every("domain", [MENU, sv.domains.Hypersimplex(700, 2)])
def test_what_one_event_is_told_is_its_own(domain):
    actions = bandit(domain).ask(300)
    said = actions.chosen
    same = [i for i in range(300) if said[i] == said[0]]
    assert len(same) > 1
    said[same[0]].clear()
    assert len(said[same[1]]) == 2
    assert len(actions.chosen[same[0]]) == 2


@every("again", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_copies_and_pickles_keep_what_was_said_even_of_sets_that_cannot_be_pickled(again):
    domain = sv.domains.Custom(lambda cost: np.where(cost <= np.sort(cost)[1], 1.0, 0.0), DRINKS)
    optimizer = bandit(domain)
    action, actions = optimizer.ask(), optimizer.ask(40)
    other, others = again(action), again(actions)
    assert np.array_equal(other.x, action.x)
    assert other.chosen == action.chosen == named(action.x)
    assert again(other).chosen == action.chosen
    assert others.chosen == actions.chosen
    assert [one.chosen for one in again(others)] == actions.chosen
    assert np.array_equal(others.x, actions.x)


def test_recommendations_are_named():
    optimizer = bandit()
    while optimizer.remaining > 500:
        actions = optimizer.ask_round()
        optimizer.tell(actions.ids, actions.x @ [0.5, 0.1, 0.4, 0.1, 0.5, 0.4])
    found = optimizer.recommend()
    assert found.chosen == ["coffee", "milk"]
    assert "decision  coffee, milk\n" in str(found)
    assert found.to_dict()["chosen"] == ["coffee", "milk"]
    assert pickle.loads(pickle.dumps(found)).chosen == ["coffee", "milk"]
    assert "decision  [1. 1. 0. 0.]" in str(bandit(sv.domains.Hypersimplex(4, 2)).recommend())
