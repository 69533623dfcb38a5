"""What may be told, when, and how often, alone or together: refusals change nothing, and each call is for itself."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from study_tools import Look, counts, losses_of, place, probing, sums

from sottovoce.errors import AlreadyTold, InvalidLoss, RoundClosed, StorageError, UnknownAction, WrongReport
from sottovoce.rounds.stores.sql.store import SqlStore
from sottovoce.studies import Recorded, Study, TellCall

PLANTED = 0.123456789


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
    odd = ("\udcff", "1.0.\ud800.0123456789ab", "\x00", "1.0.0." + "a" * 10**6, good + " ", "", "..", "1.0.")
    for bad in (theirs, flipped, moved, body, 7, 0.5, None, b"1.0.00", *odd):
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


# ---------------------------------------------------------------------- calls that arrive together

ONE = Recorded(1, 0, 0)
_names = iter(range(10**9))


def test_a_call_that_is_refused_leaves_the_others_alone(opened, sqlite_url):
    study = opened(sqlite_url, name="s", **sums())
    ids = [study.ask().id for _ in range(7)]
    study.tell(ids[0], 0.5)
    found = study.tell_each(
        [
            TellCall(ids[0], 0.1),  # on record already
            TellCall(ids[1], float("nan")),
            TellCall("nonsense", 0.1),
            TellCall([ids[2], ids[3]], [0.1, float("inf")]),  # refused as a whole
            TellCall([ids[0], ids[4]], [0.1, 0.2]),
            TellCall(ids[6], 0.3),
            TellCall(ids[6], 0.4),  # twice in one batch
            TellCall(ids[5], report=1),
            TellCall([ids[1], ids[2]], [0.5]),
        ]
    )
    kinds = [one if isinstance(one, Recorded) else type(one) for one in found]
    assert kinds == [
        Recorded(0, 1, 0),
        InvalidLoss,
        UnknownAction,
        InvalidLoss,
        Recorded(1, 1, 0),
        ONE,
        Recorded(0, 1, 0),
        WrongReport,
        InvalidLoss,
    ]
    assert study.status().told == 3


def test_losses_that_come_too_late_are_refused_or_dropped(opened, sqlite_url):
    study = opened(sqlite_url, name="s", **sums())
    ids = [study.ask().id for _ in range(12)]
    study.forget(ids[:2])
    late, dropped, good = study.tell_each(
        [TellCall(ids[0], 0.1), TellCall(ids[1], 0.1, late="drop"), TellCall(ids[2], 0.1)]
    )
    assert isinstance(late, RoundClosed)
    assert (dropped, good) == (Recorded(0, 0, 1), ONE)
    study.tell_each([TellCall(one, 0.1) for one in ids[3:]])
    assert study.round == 1  # and the same once the round is closed
    again = study.tell_each([TellCall(ids[0], 0.1), TellCall(ids[1], 0.1, late="drop"), TellCall(ids[2], 0.1)])
    assert isinstance(again[0], RoundClosed)
    assert again[1:] == [Recorded(0, 0, 1), Recorded(0, 1, 0)]


def test_losses_that_nobody_wants_are_dropped_unread(opened, sqlite_url):
    study = opened(sqlite_url, name="s", **probing())
    actions = study.ask(12)
    calls = [
        TellCall(one, 0.5 if wants else "unread") for one, wants in zip(actions.ids, actions.wants_loss, strict=True)
    ]
    found = study.tell_each(calls)
    assert found == [ONE if wants else Recorded(0, 0, 1) for wants in actions.wants_loss]
    assert study.round == 1


def test_who_called_hears_of_it_before_rounds_are_closed(opened, url, monkeypatch):
    study = opened(url, name="s", **sums())
    ids = [study.ask().id for _ in range(12)]
    seen = []
    study.tell_each([TellCall(one, 0.5) for one in ids], lambda outcomes: seen.append((list(outcomes), study.round)))
    assert seen == [([ONE] * 12, 0)]
    assert study.round == 1


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_batches_add_up(url, data):
    """Whatever is told together, in whatever order and however often: each loss counts once."""
    name = f"s{next(_names)}"
    with Study.open(url, name=name, **sums()) as study, Study.open(url, name=name) as other:
        ids = [study.ask().id for _ in range(5)] + other.ask(8).ids.tolist() + study.ask(9).ids.tolist()
        told = set()
        for _ in range(data.draw(st.integers(1, 4))):
            wanted = data.draw(st.lists(st.lists(st.sampled_from(ids), min_size=1, max_size=4), max_size=9))
            speaker = data.draw(st.sampled_from([study, other]))
            found = speaker.tell_each([TellCall(mine, [0.5] * len(mine)) for mine in wanted])
            fresh = {one for mine in wanted for one in mine} - told
            assert [one.recorded + one.already for one in found] == [len(mine) for mine in wanted]
            assert sum(one.recorded for one in found) == len(fresh)
            told |= fresh
        assert study.status().told == len(told)


def test_no_loss_is_in_print():
    """A traceback with locals, or a log, must not show the loss of a call."""
    found = [TellCall("1.0.ab", 0.7312846), TellCall(["1.0.ab"], report=[7312846])]
    assert "7312846" not in repr(found) + "".join(map(str, found))


def test_a_signal_handler_is_refused_in_the_midst_of_a_transaction_with_which_its_loss_would_be_undone(
    url, opened, monkeypatch
):
    """As one that tells what it has, and ends the process: what it was told would be acknowledged, and lost."""
    study, refused = opened(url, **sums()), []
    ids = study.ask(80).ids  # of two chunks
    calls = (
        lambda: study.tell(ids[0], 0.5),
        lambda: study.tell(ids[1:], np.full(79, 0.5)),
        lambda: study.forget(ids[1:]),
        study.ask_round,
    )

    def interrupted(*arguments):
        for call in calls:
            try:
                call()
            except StorageError as problem:
                refused.append(str(problem))
        raise SystemExit

    with monkeypatch.context() as patched:
        patched.setattr(SqlStore, "_take", interrupted)
        with pytest.raises(SystemExit):
            study.ask(600)
    assert len(refused) == len(calls)
    assert all("nothing was recorded" in one for one in refused)
    assert counts(study)[:3] == (80, 0, 0)
    for call in calls[:2]:
        call()
    assert counts(study)[1] == 80
