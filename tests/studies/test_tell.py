"""What may be told, when, and how often: refusals change nothing, and show nothing."""

import numpy as np
import pytest
from study_tools import Look, losses_of, place, set_clock, sums

import sottovoce as sv
from sottovoce.errors import AlreadyTold, RoundClosed, UnknownAction

PLANTED = 0.123456789


def counts(study):
    status = study.status()
    return status.asked, status.told, status.forgotten, status.outstanding, status.round


@pytest.mark.parametrize("closed", [False, True])
def test_a_repeated_tell_is_refused_or_ignored_by_choice(closed, opened, sqlite_url):
    study = opened(sqlite_url, **sums())
    ids = study.ask(24).ids
    first = ids[:12] if closed else ids[:5]
    study.tell(first, losses_of(first))
    assert study.round == closed
    before = counts(study)
    for again in (first[3], first, np.concatenate([ids[12:14], first[:1]]), ids[[12, 13, 12]]):  # twice in one call
        with pytest.raises(AlreadyTold, match="nothing of this call was recorded"):
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
