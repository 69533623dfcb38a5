"""Catalogues that change: what is known follows names, rounds end as they began, and what cannot follow is refused."""

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest
from benchmarks.catalogues import lost

import sottovoce as sv
from sampling import every, sampled
from sottovoce.errors import InvalidLoss
from sottovoce.models.items import ItemBelief
from tracing import cut_short, lines_of, places

NAMES = [f"item {i}" for i in range(40)]
WORTH = dict(zip(NAMES, np.random.default_rng(2).beta(1, 4, 40), strict=True))
CHOSEN = sv.domains.Hypersimplex
KEPT = ("sottovoce", "learning", "models", "rounds", "stores")  # folders of what keeps anything of a run


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
    for one, chosen in zip(block, block.indices, strict=True):
        assert len(chosen) == len(one.chosen)
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


@pytest.mark.parametrize("feedback", ["items", "decision"])
def test_segments_follow_each_with_its_next_round_and_go_on_to_inform_each_other(feedback):
    """One that plays the old set still is heard of by those that play the new one; one that comes later is told."""
    optimizer, world = make(feedback, segments=["phone", "desk", "till"], horizon=9000), np.random.default_rng(5)

    def play_in(segment, events):
        for _ in range(events // 50):
            actions = optimizer.ask(50, segment=segment)
            optimizer.tell(actions.ids, answered(optimizer, actions.chosen, world))
        return {name for one in actions.chosen for name in one}

    for segment in ("phone", "desk"):
        play_in(segment, 2000)
    gone = optimizer.recommend(segment="phone").chosen[0]
    held = optimizer.ask(3, segment="desk")
    names = ["item 30", *(name for name in NAMES[19::-1] if name != gone), "item 31"]
    optimizer.change(domain=CHOSEN(names, k=3))
    told = {segment: optimizer.recommend(segment=segment) for segment in ("phone", "desk", "till")}  # before any round
    assert {len(one.chosen) for one in told.values()} == {3}
    assert not {gone} & {name for one in told.values() for name in one.chosen}
    before = optimizer.posterior(segment="till").deviations
    assert play_in("phone", 1500) <= set(names)
    assert set(held.chosen[0]) <= set(NAMES[:20])
    optimizer.tell(held.ids, answered(optimizer, held.chosen, world))
    assert optimizer.posterior(segment="desk").others == (gone,)
    after = optimizer.posterior(segment="till").deviations  # it was never asked for
    assert after[[0, -1]].max() < before[[0, -1]].min()
    assert play_in("desk", 1000) | play_in("till", 500) <= set(names)
    optimizer.change(domain=CHOSEN(NAMES[:20], k=4))
    assert all(gone in optimizer.recommend(segment=one).chosen for one in ("phone", "desk", "till"))


@pytest.mark.parametrize("feedback", ["items", "decision"])
def test_a_block_for_several_segments_is_in_the_order_of_its_events_whichever_sets_these_play(feedback):
    """Decision, id and person belong together: with the order of streams in its place, people give more losses."""
    guarantee = sv.PureDP(2.0, contributions=1)
    optimizer = make(feedback, k=2, segments=["phone", "desk", "shop"], privacy=guarantee)
    for segment in ("phone", "shop"):
        optimizer.ask(segment=segment, person=f"first {segment}")
    for names, k in ((NAMES[5:30], 3), (NAMES[10:35], 5)):
        optimizer.change(domain=CHOSEN(names, k=k))
        optimizer.ask(segment="desk" if k == 3 else "shop", person=f"one with {k}")
    sizes = {"phone": 2, "desk": 3, "shop": 2}
    whom = ["shop", "desk", "phone", "desk", "phone", "shop", "shop", "desk"]
    people = ["ada", "first shop", "ada", "grace", "joan", "one with 3", "first phone", "grace"]
    block = optimizer.ask(8, segment=whom, person=people)
    assert [len(one) for one in block.chosen] == [len(one) for one in block.indices] == [sizes[one] for one in whom]
    assert [int(one.x.sum()) for one in block] == [sizes[one] for one in whom]
    wanted = dict(zip(people, block.wants_loss.tolist(), strict=True))  # the last of each
    assert [wanted[one] for one in ("first shop", "one with 3", "first phone", "joan")] == [False] * 3 + [True]
    assert sum(block.wants_loss) == 3  # of ada, grace and joan, one each
    optimizer.tell(block.ids, answered(optimizer, block.chosen, np.random.default_rng(1)))
    only = optimizer.ask(3, segment=["shop", "phone", "shop"], person=["joan", "rosa", "joan"])
    assert only.wants_loss.tolist() == [False, True, False]


def test_many_segments_that_share_rounds_share_the_new_set():
    """The pool plays it, and so do those who leave it later."""
    names = [f"shop {i}" for i in range(15)]
    optimizer, world = make("decision", segments=names, horizon=30_000), np.random.default_rng(5)

    def play_all(rounds):
        for turn in range(rounds):
            actions = optimizer.ask(90, segment=[names[(turn + i) % 15 if i % 2 else i % 3] for i in range(90)])
            optimizer.tell(actions.ids, answered(optimizer, actions.chosen, world))
        return {name for one in actions.chosen for name in one}

    play_all(20)
    first, gone = optimizer.domain, optimizer.recommend(segment="shop 0").chosen[0]
    optimizer.change(domain=CHOSEN([*(name for name in NAMES[:24] if name != gone)], k=3))
    assert gone not in optimizer.recommend(segment="shop 9").chosen
    assert gone not in play_all(80)
    optimizer.change(domain=first)  # the very same object
    assert gone in optimizer.recommend(segment="shop 9").chosen


@pytest.mark.parametrize("most", [None, 1.0, 3.5])
@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_decisions_of_a_later_set_may_have_three_times_as_many_items(most, direction, monkeypatch):
    """Sums without noise are what people told of each item, in rounds of all widths at once."""
    sign = -1 if direction == "minimize" else 1
    ends = (-1.0, 0.0) if sign < 0 else (0.0, 1.0)
    optimizer = make(privacy=sv.NoPrivacy(), noise=None, k=2, most=most, loss_range=ends, direction=direction)
    released, told = np.zeros(20), np.zeros(20)

    def learn(belief, numbers):
        values = numbers.means * numbers.counts
        released[numbers.items] += values if most else numbers.counts - values  # distances from 0
        learn_in_earnest(belief, numbers)

    learn_in_earnest = ItemBelief.learn
    monkeypatch.setattr(ItemBelief, "learn", learn)
    world, held = np.random.default_rng(5), []
    for k in (2, 5, 3, 6):
        if k != 2:
            optimizer.change(domain=CHOSEN(NAMES[:20], k=k))
        held.append(optimizer.ask_round())
        assert {len(one) for one in held[-1].chosen} == {k}
    for block in held:
        clicks = (world.random((len(block), len(block.chosen[0]))) < 0.4).astype(float)
        cut = clicks if most is None else clicks * np.minimum(1, most / np.maximum(1, clicks.sum(1, keepdims=True)))
        np.add.at(told, np.array(block.indices), cut)
        optimizer.tell(block.ids, sign * clicks)
    optimizer.posterior()  # learns
    assert np.abs(released - told).max() < 0.01
    assert told.min() > 5


def test_losses_are_taken_though_another_thread_changes_to_a_wider_set_as_soon_as_it_can():
    """Whoever has read a report keeps the lock until it is recorded: its rows are as wide as sets were then."""
    optimizer = make(k=2)
    actions = optimizer.ask(8)

    class Waited:
        """A lock that another thread waits for, to change the set."""

        lock, depth, wider = optimizer._lock, 0, iter((3, 4, 5, 6))

        def __enter__(self):
            self.lock.acquire()
            self.depth += 1

        def __exit__(self, *_):
            self.depth -= 1
            self.lock.release()
            if not self.depth:
                optimizer._lock = self.lock
                optimizer.change(domain=CHOSEN(NAMES[:20], k=next(self.wider)))
                optimizer._lock = self

    waited = optimizer._lock = Waited()
    optimizer.tell(actions.ids, [dict.fromkeys(one, -1.0) for one in actions.chosen])
    optimizer._lock = waited.lock
    assert len(optimizer.outstanding()) == 0
    assert optimizer.domain.most_chosen > 2


@pytest.mark.parametrize(
    ("segments", "part"),
    sampled([*((None, part) for part in range(12)), *((["phone", "desk"], part) for part in range(0, 12, 3))], [0, 12]),
)
def test_a_change_that_is_cut_short_at_any_line_has_happened_or_not(segments, part):
    """So has the ask that first plays the new set. What is played and believed later is what it would have been.

    Of what keeps anything of a run every second line is tried, where it is executed first or last; fewer with segments.
    """
    begun = make(k=2, names=NAMES[:8], horizon=600, segments=segments, privacy=sv.NoPrivacy(), noise=None)
    whom = [{}] if segments is None else [{"segment": one} for one in segments]

    def served(optimizer, rounds=1):
        said = []
        for one in whom * rounds:
            actions = optimizer.ask_round(**one)
            optimizer.tell(actions.ids, [dict.fromkeys(names, -0.5) for names in actions.chosen])
            said.append((actions.ids.tolist(), actions.chosen))
        return said

    def change(optimizer):
        optimizer.change(domain=CHOSEN(NAMES[2:12], k=5))

    def ask(optimizer):
        asked = optimizer.ask(**whom[-1])
        optimizer.tell(asked.id, dict.fromkeys(asked.chosen, -0.5))

    served(begun, 2)
    changed = copy.deepcopy(begun)
    change(changed)
    for before, call in ((begun, change), (changed, ask)):
        whole = copy.deepcopy(before)
        lines = lines_of(lambda call=call, whole=whole: call(whole))
        asked, rest = whole.asked, served(whole, 2)
        story = rest, [whole.posterior(**one).slopes.tolist() for one in whom]
        for stop in places(lines, {one for one in lines if Path(one[0]).parent.name not in KEPT})[part::24]:
            cut = copy.deepcopy(before)
            assert isinstance(cut_short(lambda cut=cut, call=call: call(cut), stop), KeyboardInterrupt)
            if call is change or cut.asked < asked:
                call(cut)
            elif len(cut.outstanding()):  # it was asked, and not told
                cut.tell(cut.outstanding().ids, [[-0.5] * 5])
            assert (served(cut, 2), [cut.posterior(**one).slopes.tolist() for one in whom]) == story, lines[stop - 1]


@every(
    ("options", "domain", "words"),
    [
        ({}, CHOSEN(20, 4), "the new set, .*, has no names"),
        ({"names": 20}, CHOSEN(NAMES, 4), "the present set, .*, has no names"),
        ({}, CHOSEN(NAMES, 13), "a decision may have 12 items at most here, 3 times as many"),
        ({}, 7, "domain must be a Domain"),
        ({"feedback": "decision", "plan": "worst-case"}, CHOSEN(NAMES, 4), "has no model of the losses"),
        ({"feedback": "decision", "integral": False}, CHOSEN(NAMES, 4), "takes losses to be convex"),
    ],
)
def test_what_cannot_follow_is_refused_with_the_reason_and_nothing_changes(options, domain, words):
    optimizer = make(**options)
    was = optimizer.domain
    with pytest.raises((ValueError, TypeError), match=words):
        optimizer.change(domain=domain)
    assert optimizer.domain is was
    for nothing in ({}, {"features": [[1.0]]}):
        with pytest.raises(TypeError, match="nothing to change: pass domain"):
            optimizer.change(**nothing)


@pytest.mark.parametrize(("kind", "changes"), [("clicks", 10), pytest.param("plain", 10, marks=pytest.mark.long)])
def test_a_catalogue_of_which_a_tenth_is_replaced_ten_times_costs_at_most_half_as_much_again(kind, changes):
    """200 items, 10 of them shown, 100,000 events at epsilon 1, against a world that stays.

    `python -m benchmarks.catalogues` has ten seeds, and runs without privacy.
    """
    changing, staying = (np.mean([lost(one, changes=n, kind=kind) for one in range(4)]) for n in (changes, 0))
    assert changing <= 1.5 * staying
