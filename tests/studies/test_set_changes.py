"""A study whose catalogue changes: on record before anybody plays it, followed by all, and verified."""

import json
from functools import reduce

import numpy as np
import pytest
from killing import arm
from mutations import changed, faults_of, rows_of
from study_tools import Backup

import sottovoce as sv
from children import Child
from sampling import every, sampled
from sottovoce._records import checksum, pack, unpack
from sottovoce.errors import ConfigurationMismatch, InvalidLoss, StudyBehind
from sottovoce.learning.set_changes import sets_in, with_set
from sottovoce.studies import Catalogue, TellCall, move_study

DRINKS = ["tea", "coffee", "cocoa", "milk", "water", "juice", "mate", "chai"]
CHOSEN = sv.domains.Hypersimplex
FIRST, SECOND, THIRD = CHOSEN(DRINKS[:6], k=3), CHOSEN(DRINKS[2:8], k=2), CHOSEN(DRINKS[::-1][:5], k=3)


def making(**changes):
    own = {"feedback": "items", "loss_range": (-1.0, 0.0), "integral": True, "horizon": 3000, "seed": 1}
    return {"domain": FIRST, "privacy": sv.PureDP(1.0), "patience": None, "most": 1.0, **own, **changes}


def answered(actions):
    return [{name: -1.0 if name in ("milk", "chai") else 0.0 for name in one} for one in actions.chosen]


def work(study, rounds=1, **whom):
    for _ in range(rounds):
        actions = study.ask_round(**whom)
        study.tell(actions.ids, answered(actions))
    return actions


def names(actions):
    return {name for one in actions.chosen for name in one}


@pytest.fixture
def changing(sqlite_url, opened):
    """A study that has played two sets, and has a third to go on with."""
    study = opened(sqlite_url, name="study", **making())
    work(study, 2)
    study.change(domain=SECOND)
    work(study, 3)
    study.change(domain=THIRD)
    return study


def test_all_processes_follow_with_their_next_round_and_verify_agrees(changing, sqlite_url, opened):
    other = opened(sqlite_url, name="study")
    assert other.domain.labels == changing.domain.labels == THIRD.labels
    held = other.ask()  # of the round that is open
    changing.change(domain=SECOND)
    assert set(held.chosen) <= set(THIRD.labels)
    work(other)  # to its end
    for study in (other, changing):
        asked = work(study)
        assert (asked.dimension, {len(one) for one in asked.chosen}) == (6, {2})
    assert other.domain.labels == SECOND.labels
    other.tell(held.id, {})
    work(other, 3)
    assert set(other.recommend().chosen) == {"milk", "chai"}
    assert other.verify().ok
    assert changing.statement(verify=True).verification.ok
    assert [one["epoch"] for one in other.export()["rounds"]][:4] == [0, 0, 1, 1]
    assert len(other.history().means) == len(other.export()["rounds"])


def test_a_change_between_the_look_of_a_process_and_its_lease_is_followed(changing, sqlite_url, opened, monkeypatch):
    other = opened(sqlite_url, name="study")
    work(other)
    reserve = other._store.reserve

    def later(*arguments):
        changing.change(domain=SECOND)
        reserve(*arguments)

    monkeypatch.setattr(other._store, "reserve", later)
    assert other.ask(5).dimension == SECOND.dimension != THIRD.dimension


@pytest.mark.parametrize("feedback", ["items", "decision"])
def test_segments_and_wider_sets_are_followed_by_all_processes_and_verified(feedback, url, opened):
    """Segments go on one by one; decisions of three times as many items fit; another process does as the first."""
    own = {} if feedback == "items" else {"feedback": "decision", "most": None, "loss_range": (-8.0, 0.0)}
    study = opened(url, name="study", **making(domain=CHOSEN(DRINKS[:6], k=2), segments=["bar", "shop"], **own))
    other = opened(url, name="study")

    def serve(whose, segment, rounds=1):
        for _ in range(rounds):
            actions = whose.ask_round(segment=segment)
            told = answered(actions)
            whose.tell(actions.ids, told if feedback == "items" else [sum(one.values()) for one in told])
        return actions

    serve(study, "bar", 2)
    serve(other, "shop")
    held = other.ask(2, segment="shop")
    study.change(domain=CHOSEN(DRINKS, k=6))
    assert {len(one) for one in serve(study, "bar", 2).chosen} == {6}
    late = answered(held) if feedback == "items" else [0.0, 0.0]
    study.tell(held.ids, late)  # of the narrower set
    serve(other, "shop")  # to its end
    wide = study.ask(3, segment="bar")
    other.tell(wide.ids, answered(wide) if feedback == "items" else [-1.0] * 3)  # which it learns of by these
    serve(study, "bar")
    assert {len(one) for one in serve(other, "shop", 2).chosen} == {6}
    assert other.recommend(segment="bar").to_dict() == study.recommend(segment="bar").to_dict()
    assert study.verify().ok
    serve(study, "bar", 2)
    assert other.verify().ok
    study.close()
    again = opened(url, name="study")
    assert again.recommend(segment="shop").to_dict() == other.recommend(segment="shop").to_dict()


def test_verify_learns_by_names_where_the_plan_of_a_later_set_is_that_of_the_first(sqlite_url, opened):
    """As of sets of one size: segments learn what their own names have released, and verify agrees."""
    study = opened(sqlite_url, name="study", **making(segments=["bar", "shop"]))
    for place, domain in enumerate((FIRST, CHOSEN([*DRINKS[:5], "chai"], k=3))):
        study.change(domain=domain)
        for segment in ("bar", "shop")[place:]:
            work(study, 2, segment=segment)
    work(study, 2, segment="bar")
    found = study.verify()
    assert found.ok, str(found)


def test_a_set_that_was_never_played_is_passed_over(sqlite_url, opened):
    study = opened(sqlite_url, name="study", **making())
    for domain in (SECOND, THIRD):  # before the first round
        study.change(domain=domain)
    assert names(work(study)) <= set(THIRD.labels)
    assert study.verify().ok, str(study.verify())  # of a round that nobody has learned from
    work(study)
    study.change(domain=FIRST)
    study.change(domain=SECOND)
    assert names(work(study, 2)) <= set(SECOND.labels)
    assert study.verify().ok


WIDER = {"domain": CHOSEN(DRINKS[:6], k=2), "segments": ["bar", "shop"]}  # which are to play six
KILLED = {"": ({}, SECOND), "segments to wider slates, ": (WIDER, CHOSEN(DRINKS, k=6))}
CUTS = {f"{what}{way}": (what, way) for what in KILLED for way in ("statement", "commit")}


@pytest.mark.parametrize(
    ("what", "way"), sampled(CUTS.values(), {"statement", "segments to wider slates, commit"}, CUTS)
)
@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
def test_a_process_killed_as_it_changes_the_set_leaves_the_old_one_or_the_new_one(what, way, late, url):
    """On record or not, and never half: whoever comes next goes on, be it that nobody has played the new set yet."""
    own, new = KILLED[what]
    whom = [{"segment": one} for one in own.get("segments", ())] or [{}]
    with sv.Study.open(url, name="study", **making(**own)) as study:
        old = study.domain
        for one in whom:
            held = work(study, 2, **one).ids, study.ask(3, **one)  # three of an open round
    found = set()
    for after in range(0, 60, 2) if way == "statement" else range(4):  # before the one is after the one before it

        def doomed(report, after=after):
            study = sv.Study.open(url, name="study")
            arm(way, after, late)
            study.change(domain=new)

        _, killed = Child(doomed).finish()
        with sv.Study.open(url, name="study") as study:
            found.add(study.domain.labels)
            assert study.domain.labels in (old.labels, new.labels)
            assert study.verify().ok
        if not killed:
            break
    with sv.Study.open(url, name="study") as study:
        study.tell(held[1].ids, answered(held[1]))  # late, of the set that they were asked with
        for one in whom:
            work(study, **one)  # what is left of an open round
            assert names(work(study, **one)) <= set(study.domain.labels)
        assert study.verify().ok
    assert new.labels in found


def test_a_storage_that_went_back_may_have_a_wider_set_than_the_one_that_is_lost(url, opened):
    """It has the set of then; losses are read by the items that there are now, however many sets there were."""
    narrow = CHOSEN(DRINKS[:6], k=2)
    study = opened(url, name="study", **making(domain=narrow))
    work(study, 2)
    backup = Backup(url)
    study.change(domain=CHOSEN(DRINKS, k=3))
    work(study, 2)
    backup.put_back()
    with pytest.raises(StudyBehind):
        study.ask()
    assert names(work(study)) <= set(narrow.labels) == set(study.domain.labels)
    opened(url, name="study").change(domain=CHOSEN(DRINKS, k=6))
    work(study, 3)
    assert study.verify().ok


@every("by", ["tell", "tell_each"])
def test_a_process_that_has_not_heard_of_a_wider_set_takes_no_rows_of_another_width(by, sqlite_url, opened):
    """The first that it hears of the set are losses, among others of the set before, or of too few items."""
    study, other = (opened(sqlite_url, name=by, **making(domain=CHOSEN(DRINKS[:6], k=2))) for _ in range(2))
    held = study.ask_round()
    study.change(domain=CHOSEN(DRINKS, k=6))
    wide = study.ask_round()
    if by == "tell":
        with pytest.raises(InvalidLoss, match="6 items needs 6 losses"):
            other.tell(wide.ids[:2], [[-1.0, 0.0]] * 2)
        other.tell(wide.ids[:2], [[-1.0, 0.0] * 3] * 2)
    else:
        calls = [TellCall(held.ids[:1], answered(held)[:1]), TellCall(wide.ids[:2], answered(wide)[:2])]
        calls.append(TellCall(wide.ids[2:3], [[-1.0, 0.0]]))
        *taken, refused = other.tell_each(calls)
        assert [one.recorded for one in taken] == [1, 2]
        assert isinstance(refused, InvalidLoss)
    study.forget(study.outstanding().ids)
    work(other)
    assert other.verify().ok


def test_a_study_is_found_by_the_set_that_it_began_with_and_by_the_one_that_it_has(changing, sqlite_url, opened):
    with Catalogue(sqlite_url) as listed:
        assert listed.entries()[0].domain == repr(THIRD)
        changing.change(domain=SECOND)
        assert listed.entries()[0].domain == repr(SECOND)
        changing.change(domain=THIRD)
    for domain in (FIRST, THIRD):
        assert opened(sqlite_url, name="study", domain=domain).domain.labels == THIRD.labels
    with pytest.raises(ConfigurationMismatch, match="domain is"):
        opened(sqlite_url, name="study", domain=SECOND)


def test_a_study_that_is_moved_takes_its_sets_along(changing, sqlite_url, shelf):
    changing.close()
    to = f"sqlite:///{shelf / 'moved.db'}"
    move_study(sqlite_url, "study", to)
    with sv.Study.open(to, name="study") as study:
        assert study.domain.labels == THIRD.labels
        assert study.verify().ok


def test_a_set_that_cannot_be_stored_is_refused(changing):
    own = sv.domains.Custom(lambda cost: np.eye(3)[cost.argmin()], 3, labels=["tea", "milk", "chai"])
    with pytest.raises(ValueError, match="holds functions of your own"):
        changing.change(domain=own)
    assert changing.domain.labels == THIRD.labels


def test_verify_finds_a_set_that_was_exchanged_lost_or_never_played(changing, sqlite_url):
    work(changing, 2)
    changing.close()
    rows = rows_of(sqlite_url)
    assert not faults_of(rows)
    note = unpack(bytes(rows.counters.common))
    first, second = sets_in(note)
    renamed = [
        json.loads(json.dumps(one).replace("coffee", "COFFEE").replace("mate", "maté")) for one in (first, second)
    ]
    assert renamed != [first, second]
    swapped, fewer, other = (reduce(with_set, sets, {}) for sets in (renamed, [first], [second, first]))
    for wrong in (swapped, fewer, other):
        forged = changed(rows, "counters", 0, "common", pack(wrong))
        assert "the sets that it has changed to fail their checksum" in faults_of(forged)
    for wrong in (fewer, other):
        forged = changed(rows, "counters", 0, "common", pack(wrong))
        assert faults_of(changed(forged, "counters", 0, "changes", checksum(pack(wrong))))  # which fits
    for at, row in enumerate(rows.rounds):
        record = unpack(bytes(row.public))
        forged = changed(rows, "rounds", at, "public", pack({**record, "set": (record["set"] + 1) % 3}))
        assert faults_of(forged)
