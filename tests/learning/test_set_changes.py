"""Catalogues that change: what is known follows names, rounds end as they began, and what cannot follow is refused."""

import pickle

import numpy as np
import pytest
from benchmarks.catalogues import lost

import sottovoce as sv
from sampling import every
from sottovoce.errors import InvalidLoss

NAMES = [f"item {i}" for i in range(40)]
WORTH = dict(zip(NAMES, np.random.default_rng(2).beta(1, 4, 40), strict=True))
CHOSEN = sv.domains.Hypersimplex


def make(feedback="items", names=NAMES[:20], k=4, horizon=6000, **options):
    own = {"feedback": "items", "loss_range": (-1.0, 0.0)} if feedback == "items" else {"loss_range": (-4.0, 0.0)}
    given = {"integral": True, "privacy": sv.PureDP(2.0), "noise": sv.SimulatedNoise(3), "seed": 1, **own, **options}
    return sv.PrivateBandit(CHOSEN(names, k=k), horizon=horizon, **given)


def answered(optimizer, chosen, world):
    clicks = [{name: -float(world.random() < WORTH[name]) for name in one} for one in chosen]
    return clicks if optimizer.plan.exploration == "items" else [sum(one.values()) for one in clicks]


def play(optimizer, events, world=None):
    """Ask and tell so many events; return how much less than the best of the present set they were worth."""
    world, lost = world or np.random.default_rng(5), 0.0
    for _ in range(events // 50):
        actions = optimizer.ask(50)
        best = sorted((WORTH[name] for name in optimizer.domain.labels), reverse=True)
        for one in actions.chosen:
            lost += sum(best[: len(one)]) - sum(WORTH[name] for name in one)
        optimizer.tell(actions.ids, answered(optimizer, actions.chosen, world))
    return lost


@pytest.mark.parametrize("feedback", ["items", "decision"])
def test_what_is_known_follows_names_that_go_and_return(feedback):
    optimizer = make(feedback)
    play(optimizer, 3000)
    before = optimizer.posterior()
    known = dict(zip(before.labels, before.slopes, strict=True))
    gone = optimizer.recommend().chosen[0]
    names = ["item 30", *(name for name in NAMES[19::-1] if name != gone), "item 31"]
    optimizer.change(domain=CHOSEN(names, k=3))
    believed = optimizer.posterior()  # before the next round
    assert believed.labels == tuple(names)
    assert believed.others == (gone,)
    kept = [name for name in names if name in known]
    mine = believed.slopes[[names.index(name) for name in kept]]
    theirs = np.array([known[name] for name in kept])
    assert np.corrcoef(mine, theirs)[0, 1] > 0.99
    new = believed.deviations[[0, -1]].min()
    assert new > 1.5 * np.median(believed.deviations)
    assert gone not in optimizer.recommend().chosen
    assert optimizer.point.shape == (21,)
    play(optimizer, 1500)
    optimizer.change(domain=CHOSEN(NAMES[:20], k=4))
    assert gone in optimizer.recommend().chosen
    assert optimizer.posterior().others == ("item 30", "item 31")


def test_open_rounds_end_as_they_were_asked_and_their_losses_count():
    """Actions speak the names of their own set; what old rounds release reaches the belief of the new one."""
    optimizer, world = make(), np.random.default_rng(5)
    first = optimizer.ask_round()
    begun = optimizer.ask()
    optimizer.change(domain=CHOSEN([*NAMES[10:20], "item 30"], k=3))
    rest = optimizer.ask_round()
    assert set(begun.chosen) <= set(NAMES[:20])
    assert rest.chosen[0] == CHOSEN(NAMES[:20], k=4).chosen(rest.x[0])
    later = optimizer.ask(200)
    assert {len(one) for one in later.chosen} == {3}
    assert {name for one in later.chosen for name in one} <= {*NAMES[10:20], "item 30"}
    assert optimizer.posterior().events.sum() == 0
    optimizer.tell(begun.id, answered(optimizer, [begun.chosen], world)[0])
    for one in (first, rest):
        optimizer.tell(one.ids, answered(optimizer, one.chosen, world))
    counted = optimizer.posterior()
    old = 4 * (len(first) + len(rest) + 1)
    assert counted.events.sum() == old
    assert set(counted.others) == set(NAMES[:10])
    optimizer.tell(later.ids, answered(optimizer, later.chosen, world))
    assert optimizer.posterior().events.sum() > old + 3 * 64  # and rounds of the new set beside them


def test_single_actions_of_a_round_that_has_begun_speak_its_names():
    optimizer = make()
    optimizer.ask(5)
    optimizer.change(domain=CHOSEN(NAMES[20:40], k=4))
    action = optimizer.ask()
    assert set(action.chosen) <= set(NAMES[:20])
    assert repr(action).startswith(f"Action(id={action.id}, chosen=['item ")


def test_a_block_in_which_the_set_changes_has_no_rows_and_says_what_each_event_plays():
    optimizer = make()
    optimizer.ask()
    optimizer.change(domain=CHOSEN(NAMES[5:30], k=2))
    block = optimizer.ask(400)
    assert "two sets" in repr(block)
    with pytest.raises(ValueError, match="the set has changed within this block"):
        block.x  # noqa: B018
    rows = [(len(one.x), one.chosen) for one in pickle.loads(pickle.dumps(block))]
    assert rows == [(len(one.x), one.chosen) for one in block]
    assert [size for size, _ in rows] == sorted(size for size, _ in rows)
    assert {(size, len(chosen)) for size, chosen in rows} == {(20, 4), (25, 2)}
    for one, places in zip(block, block.indices, strict=True):
        assert len(places) == len(one.chosen)
        optimizer.tell(one.id, answered(optimizer, [one.chosen], np.random.default_rng(1))[0])


def test_a_report_is_read_by_the_items_of_its_own_set_and_refused_by_those_of_another():
    optimizer = make(most=1.0)
    old = optimizer.ask()
    optimizer.change(domain=CHOSEN(NAMES[20:30], k=2))
    optimizer.ask_round()
    new = optimizer.ask()
    assert len(new.chosen) == 2
    with pytest.raises(InvalidLoss, match="did not choose"):
        optimizer.tell(new.id, {old.chosen[0]: -1.0})
    with pytest.raises(InvalidLoss, match="needs 2 losses"):
        optimizer.tell(new.id, [0.0, -1.0, 0.0, 0.0])
    optimizer.tell([old.id, new.id], [{old.chosen[-1]: -1.0}, {new.chosen[-1]: -1.0}])
    assert len(optimizer.outstanding(5)) < 6


def test_a_set_of_fewer_items_has_less_noise_and_its_own_plan():
    """Its guarantee is that of its own decisions: two items of a person move less than four."""
    optimizer = make(privacy=sv.PureDP(1.0))
    wide = optimizer.plan.noise.scale
    optimizer.change(domain=CHOSEN(NAMES[:20], k=2))
    optimizer.ask_round()
    optimizer.ask()
    assert optimizer.plan.noise.scale == pytest.approx(wide / 2, rel=0.01)


def test_a_state_goes_on_in_the_set_that_it_was_taken_in():
    optimizer = make()
    play(optimizer, 2000)
    optimizer.change(domain=CHOSEN(NAMES[5:25], k=4))
    pending = sv.PrivateBandit.from_state(optimizer.state(), noise=sv.SimulatedNoise(3))
    assert pending.domain.labels == tuple(NAMES[5:25])
    assert set(pending.ask(100).chosen[0]) <= set(NAMES[5:25])
    play(optimizer, 1000)
    again = sv.PrivateBandit.from_state(optimizer.state(), noise=sv.SimulatedNoise(3))
    assert again.recommend().to_dict() == optimizer.recommend().to_dict()


def test_features_come_with_the_new_set():
    rows = np.random.default_rng(4).standard_normal((40, 2))
    optimizer = make(features=rows[:20])
    with pytest.raises(ValueError, match="features must be passed with the new set"):
        optimizer.change(domain=CHOSEN(NAMES[5:25], k=4))
    play(optimizer, 1000)
    optimizer.change(domain=CHOSEN(NAMES[5:25], k=4), features=rows[5:25])
    play(optimizer, 1000)
    assert optimizer.posterior().others == tuple(NAMES[:5])
    with pytest.raises(ValueError, match="made without"):
        make().change(domain=CHOSEN(NAMES[5:25], k=4), features=rows[5:25])


@every(
    ("options", "domain", "words"),
    [
        ({}, CHOSEN(20, 4), "the new set, .*, has no names"),
        ({"names": 20}, CHOSEN(NAMES, 4), "the present set, .*, has no names"),
        ({}, CHOSEN(NAMES, 5), "a decision has 4 items at most"),
        ({}, 7, "domain must be a Domain"),
        ({"feedback": "decision", "plan": "worst-case"}, CHOSEN(NAMES, 4), "has no model of the losses"),
        ({"feedback": "decision", "integral": False}, CHOSEN(NAMES, 4), "takes losses to be convex"),
        ({"feedback": "decision", "segments": ["phone", "desk"]}, CHOSEN(NAMES, 4), "with segments"),
    ],
)
def test_what_cannot_follow_is_refused_with_the_reason_and_nothing_changes(options, domain, words):
    optimizer = make(**options)
    was = optimizer.domain
    with pytest.raises((ValueError, TypeError), match=words):
        optimizer.change(domain=domain)
    assert optimizer.domain is was
    with pytest.raises(TypeError, match="nothing to change"):
        optimizer.change()


@pytest.mark.long
def test_a_catalogue_of_which_a_tenth_is_replaced_ten_times_costs_at_most_half_as_much_again():
    """200 items, 10 of them shown, clicks of 1 to 5%, 100,000 events, against a world that stays.

    `python -m benchmarks.catalogues` has ten seeds.
    """
    changing, staying = (np.mean([lost(seed, changes=changes) for seed in (101, 102)]) for changes in (10, 0))
    assert changing <= 1.5 * staying
