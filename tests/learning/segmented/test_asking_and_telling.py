"""Actions for segments: whose they are, in which order they come, and what is public.

Nobody moves more than one number of one round: tests/auditing/test_segments.py.
"""

import numpy as np
import pytest
from families import PEOPLE, SLATE, family

import sottovoce as sv
from sampling import every
from sottovoce.errors import UnknownSegment


def test_a_block_for_one_or_for_each():
    for size, segment, counts in (
        (None, "phone", {"phone": 1}),
        (6, "phone", {"phone": 6}),
        (None, ["desktop", "phone", "desktop"], {"desktop": 2, "phone": 1}),
        (3, np.array(["phone", "phone", "tablet"]), {"phone": 2, "tablet": 1}),
    ):
        optimizer = family()
        assert "segments=Segments(['phone', 'desktop', 'tablet'])" in repr(optimizer)
        asked = optimizer.ask(size, segment=segment)
        actions = [asked] if isinstance(segment, str) and size is None else list(asked)
        assert optimizer.sizes == counts
        assert optimizer.remaining == 2000 - len(actions)
        assert len({one.id for one in actions}) == sum(counts.values())
        assert all(len(one.chosen) == 2 and one.wants_loss for one in actions)
        names = [segment] * len(actions) if isinstance(segment, str) else list(segment)
        mine = {name: [one.id for one, other in zip(actions, names, strict=True) if other == name] for name in names}
        assert all((np.diff(ids) == 1).all() for ids in mine.values())  # in the order in which they were asked for


def test_factors_are_given_by_their_levels():
    optimizer = family(segments={"device": ["phone", "desktop"], "country": ["it", "de"]})
    optimizer.ask(segment=("phone", "it"))
    optimizer.ask(segment={"country": "it", "device": "phone"})
    optimizer.ask(segment=[("phone", "it"), {"device": "desktop", "country": "de"}])
    assert optimizer.sizes == {("phone", "it"): 3, ("desktop", "de"): 1}


def test_whom_it_is_for_has_to_be_said_and_be_known():
    optimizer = family()
    for call in (optimizer.ask, lambda: optimizer.ask(3), optimizer.ask_round, optimizer.posterior):
        with pytest.raises(TypeError, match="segment is missing"):
            call()
    with pytest.raises(UnknownSegment, match="did you mean 'phone'"):
        optimizer.ask(segment="fone")
    for ask in (optimizer.ask, optimizer.ask_round):
        with pytest.raises(UnknownSegment):
            ask(segment=["phone", "fone"])
        with pytest.raises(ValueError, match=r"empty|size must be"):
            ask(segment=[])
    with pytest.raises(ValueError, match="size=3"):
        optimizer.ask(3, segment=["phone", "desktop"])
    assert optimizer.sizes == {}
    assert optimizer.remaining == 2000
    assert len(optimizer.ask_round(most=1, segment=["phone", "desktop"])) == 1
    alone = family(segments=None)
    for call in (alone.ask, alone.ask_round, alone.recommend):
        for segment in ("phone", ["phone"], []):
            with pytest.raises(TypeError, match=r"pass segments=|segment= is for an optimizer with segments"):
                call(segment=segment)
    assert alone.remaining == 2000


def test_segments_that_were_not_named_are_opened_until_there_are_so_many():
    optimizer = family(segments=sv.Segments(["phone"], limit=3))
    optimizer.ask(segment="tv")
    with pytest.raises(UnknownSegment, match="one more than the 3"):
        optimizer.ask(segment=["a", "b", "tv"])
    assert optimizer.sizes == {"tv": 1}, "nothing of it was done"
    optimizer.ask(segment=["a", "phone"])
    with pytest.raises(UnknownSegment, match="one more than the 3"):
        optimizer.ask(segment="b")
    assert optimizer.recommend(segment="b").rounds == 0, "looking opens nothing"
    assert len(optimizer.sizes) == 3


@every("plan", ["worst-case", "paper"])
def test_plans_without_a_model_refuse_segments(plan):
    with pytest.raises(ValueError, match="segments is of no use to this plan"):
        sv.PrivateBandit(
            SLATE, horizon=1000, loss_range=(0, 1), privacy=sv.PureDP(1.0), losses="linear", plan=plan, segments=PEOPLE
        )


def test_a_list_gives_the_first_actions_of_each_in_the_order_of_the_events_until_a_round_is_asked_to_its_end():
    made = {"segments": ["a", "b", "c"], "horizon": 400, "least_events": None, "probes": None}
    optimizer, coins, newest = family(sv.domains.Hypersimplex(6, 2), **made), np.random.default_rng(0), {}
    while optimizer.remaining:
        names = coins.choice(["a", "b", "c"], size=40, p=[0.6, 0.3, 0.1]).tolist()
        before, rounds = optimizer.sizes, optimizer.round
        actions = optimizer.ask_round(segment=names)
        asked = names[: len(actions.ids)]
        assert optimizer.sizes == {name: before.get(name, 0) + asked.count(name) for name in {*before, *asked}}
        for one, name in zip(actions.ids.tolist(), asked, strict=True):
            assert newest.get(name, -1) < one
            newest[name] = one
        assert sum(not one.not_asked for one in optimizer.outstanding().waiting) <= 1  # rounds that end with it
        optimizer.tell(actions.ids, np.full(len(asked), 0.5))
        assert optimizer.round <= rounds + 1
    assert optimizer.round > 10
    with pytest.raises(sv.errors.HorizonReached):
        optimizer.ask_round(segment=["a"])


def test_the_statement_says_that_the_segment_is_public_and_noise_is_that_of_one_optimizer():
    alone, together = family(segments=None, noise=None), family(noise=None)
    assert together.plan.noise == alone.plan.noise
    text = " ".join(str(together.privacy).split())
    assert "which segment an event belongs to: it is public" in text
    assert "the budget is spent once for all of them" in text
    assert "segment" not in str(alone.privacy)


def test_no_loss_is_shown_anywhere():
    optimizer = family()
    actions = optimizer.ask(segment=PEOPLE)
    optimizer.tell(actions.ids, [0.123456789] * 3)
    inside = (optimizer._store, optimizer._store.leases, optimizer._store.open_rounds(), optimizer._policy)
    for one in (optimizer, *inside, *optimizer._policy.streams.values(), optimizer.outstanding()):
        assert "123456789" not in repr(one)
