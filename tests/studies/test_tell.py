"""What may be told, when, and how often: refusals change nothing, and show nothing."""

import numpy as np
import pytest
from study_tools import Look, losses_of, place, probing, set_clock, sums, text_of

import sottovoce as sv
from sottovoce.errors import AlreadyTold, InvalidLoss, RoundClosed, StudyBehind, UnknownAction

PLANTED = 0.123456789


def counts(study):
    status = study.status()
    return status.asked, status.told, status.forgotten, status.outstanding, status.round


def test_counts_are_those_of_the_calls(opened, sqlite_url):
    study = opened(sqlite_url, **sums())
    assert counts(study) == (0, 0, 0, 0, 0)
    action = study.ask()
    assert isinstance(action.id, str)
    block = study.ask(30)
    assert counts(study) == (31, 0, 0, 31, 0)
    study.tell(action.id, 0.5)
    study.tell(block.ids[:4], losses_of(block.ids[:4]))
    study.forget(block.ids[4:6])
    assert counts(study) == (31, 5, 2, 24, 0)
    study.tell(block.ids[:5:-1], losses_of(block.ids[:5:-1]))  # the rest, last first
    assert counts(study) == (31, 29, 2, 0, 2)
    assert study.remaining == 100_000 - 31
    plain = study.status().to_dict()
    assert plain["told"] == 29
    assert plain["point"] == study.point.tolist()


@pytest.mark.parametrize("closed", [False, True])
def test_a_repeated_tell_is_refused_or_ignored_by_choice(closed, opened, sqlite_url):
    study = opened(sqlite_url, **sums())
    ids = study.ask(24).ids
    first = ids[:12] if closed else ids[:5]
    study.tell(first, losses_of(first))
    assert study.round == closed
    before = counts(study)
    for again in (first[3], first, np.concatenate([ids[12:14], first[:1]])):
        with pytest.raises(AlreadyTold, match="has its loss already; nothing of this call was recorded"):
            study.tell(again, np.full(np.shape(again), PLANTED))
        assert counts(study) == before
    patient = opened(sqlite_url, repeat="ignore")
    patient.tell(first[3], PLANTED)
    patient.tell(np.concatenate([ids[12:14], first]), np.full(2 + len(first), 0.25))
    assert counts(patient)[1] == before[1] + 2  # those that were new
    patient.tell(np.concatenate([ids[14:16], ids[14:16]]), [0.25, 0.5, 0.75, 0.75])  # the first counts
    told = Look(sqlite_url).told()
    assert [told[place(one)[1]] for one in ids[14:16]] == [2**16, 2**17]
    patient.forget(first)
    assert counts(patient) == (24, before[1] + 4, 0, 20 - before[1], closed)


def test_an_id_that_stands_twice_in_one_call_is_refused(opened, sqlite_url):
    study = opened(sqlite_url, **sums())
    ids = study.ask(3).ids
    with pytest.raises(AlreadyTold):
        study.tell([ids[0], ids[1], ids[0]], [0.1, 0.2, 0.1])
    assert counts(study) == (3, 0, 0, 3, 0)


def test_a_loss_for_a_round_that_closed_without_it_is_refused(opened, sqlite_url):
    study = opened(sqlite_url, **sums(), repeat="ignore")
    ids = study.ask(24).ids
    study.forget(ids[3:5])
    study.tell([*ids[:3], *ids[5:12]], losses_of([*ids[:3], *ids[5:12]]))
    assert study.round == 1
    for late in (ids[3], [ids[12], ids[4]]):
        with pytest.raises(RoundClosed, match="was closed without its loss, which now comes too late"):
            study.tell(late, np.full(np.shape(late), PLANTED))
    assert counts(study) == (24, 10, 2, 12, 1)
    study.tell(ids[0], 0.5)  # a repetition, though, is one


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, "many", None, [0.5]])
def test_what_is_not_a_number_is_refused_whole_and_without_the_value(bad, opened, sqlite_url):
    study = opened(sqlite_url, **sums())
    ids = study.ask(36).ids
    losses = [PLANTED] * 36
    losses[30] = bad  # in the third round that the call reaches
    with pytest.raises((InvalidLoss, ValueError)) as refused:
        study.tell(ids, losses)
    assert str(PLANTED) not in str(refused.value)
    assert "many" not in str(refused.value)
    assert refused.value.__context__ is None
    assert counts(study) == (36, 0, 0, 36, 0)
    assert Look(sqlite_url).told() == {}
    study.tell(ids, [PLANTED] * 36)
    assert counts(study) == (36, 36, 0, 0, 3)


def test_a_round_closes_once_it_is_asked_to_its_end_by_whoever_asks(opened, sqlite_url):
    """Three probes of twelve: no loss is waited for any more, and the rest of the round is still to be played."""
    study = opened(sqlite_url, seed=2, **probing())
    block = study.ask(9)
    study.tell(block.ids, np.full(9, 0.25))
    assert counts(study) == (9, 3, 0, 0, 0)
    study.close()
    study = opened(sqlite_url)
    rest = study.ask(15)
    assert counts(study)[4] == 1
    assert not rest.wants_loss[:3].any()
    study.tell(rest.ids, np.full(15, 0.25))
    assert counts(study) == (24, 6, 0, 0, 2)


def test_ids_that_the_study_did_not_sign_are_refused(opened, sqlite_url):
    study, other = opened(sqlite_url, **sums()), opened(sqlite_url, "other", **sums())
    good, theirs = study.ask().id, other.ask().id
    body, _, tag = good.rpartition(".")
    flipped = f"{body}.{int(tag, 16) ^ 1:012x}"
    moved = f"1.1.{tag}"
    for bad in (theirs, flipped, moved, body, "", "..", "1.0.", 7, 0.5, None, b"1.0.00", good + " ", good.upper()):
        if bad == good:
            continue
        with pytest.raises(UnknownAction, match=r"handed out here|the texts that ask returned here"):
            study.tell(bad, PLANTED)
        with pytest.raises(UnknownAction):
            study.forget([bad])
    with pytest.raises(UnknownAction) as refused:
        study.tell(PLANTED, good)  # the wrong way round
    assert str(PLANTED) not in str(refused.value)
    with pytest.raises(UnknownAction):
        study.tell([good, theirs], [0.5, 0.5])
    assert counts(study) == (1, 0, 0, 1, 0)


@pytest.mark.parametrize("where", [(1, 5), (1, 7 * 256), (2, 0)])
def test_an_id_that_is_newer_than_the_storage_ends_a_life(where, opened, url):
    study = opened(url, **sums())
    block = study.ask(5)
    study.tell(block.ids[:2], [0.5, 0.5])
    future = text_of(url, *where)
    with pytest.raises(StudyBehind, match="handed out by a newer state of the storage"):
        study.tell(future, PLANTED)
    status = study.status()
    assert status.incarnation > where[0]
    assert Look(url).tells == []
    for old in (block.ids[0], block.ids[4]):
        with pytest.raises(UnknownAction, match="before the storage was restored"):
            study.tell(old, 0.5)
    fresh = study.ask(14)
    assert {place(one)[0] for one in fresh.ids} == {status.incarnation}
    with pytest.raises(UnknownAction):
        study.tell(future, PLANTED)
    study.tell(fresh.ids, losses_of(fresh.ids))
    assert study.status().round > status.round


def test_a_deadline_closes_rounds(opened, url, monkeypatch):
    now = [1e9]
    set_clock(monkeypatch, lambda: now[0])
    study = opened(url, deadline=60.0, **sums())
    ids = study.ask(20).ids
    study.tell(ids[:7], losses_of(ids[:7]))
    now[0] += 59
    assert counts(study) == (20, 7, 0, 13, 0)
    study.close()
    study = opened(url)
    now[0] += 2
    assert counts(study) == (20, 7, 5, 8, 1)  # of the second round nothing is overdue: it is not asked to its end
    with pytest.raises(RoundClosed):
        study.tell(ids[8], 0.5)
    now[0] += 1000
    assert counts(study)[4] == 1
    study.ask(4)
    now[0] += 61
    assert counts(study) == (24, 7, 17, 0, 2)
    with pytest.raises(sv.errors.ConfigurationMismatch, match=r"deadline is 60.0, not 5.0"):
        opened(url, deadline=5.0)
    with pytest.raises(ValueError, match="deadline must be"):
        opened(url, "other", deadline=-1.0, **sums())
