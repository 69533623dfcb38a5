"""Calls of tell that arrive together: one transaction, and each call for itself."""

import numpy as np
import study_tools
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sottovoce.errors import InvalidLoss, RoundClosed, UnknownAction, WrongReport
from sottovoce.studies import Recorded, Study, TellCall
from sottovoce.studies.session._cells_at_once import Group, Waiting

ONE = Recorded(1, 0, 0)
_names = iter(range(10**9))


def statements(monkeypatch, study):
    """Count what is sent to the storage."""
    storage, sent = study._session.storage, []
    briefly = storage.briefly

    class Counted:
        def __init__(self, raw):
            self._raw = raw

        def execute(self, statement, values=()):
            sent.append(statement)
            return self._raw.execute(statement, values)

        def __getattr__(self, name):
            return getattr(self._raw, name)

    from contextlib import contextmanager

    @contextmanager
    def counting(*, begin):
        with briefly(begin=begin) as raw:
            yield Counted(raw)

    monkeypatch.setattr(storage, "briefly", counting)
    return sent


def test_calls_that_arrive_together_are_recorded_together(opened, url):
    study = opened(url, name="s", **study_tools.sums())
    ids = [study.ask().id for _ in range(30)]
    assert study.tell_each([TellCall(one, 0.25) for one in ids]) == [ONE] * 30
    status = study.status()
    assert (status.told, status.outstanding, status.round) == (30, 0, 2)


def test_the_same_numbers_are_released_as_by_single_calls(opened, url):
    import sottovoce as sv

    losses = np.random.default_rng(1).random(60)
    released = []
    for name, together in (("alone", 1), ("together", 7)):
        options = study_tools.sums(privacy=sv.PureDP(1.0), noise=sv.SimulatedNoise(3), seed=2)
        study = opened(url, name=name, **options)
        asked = [study.ask(12) for _ in range(5)]
        ids = np.concatenate([one.ids for one in asked]).tolist()
        for start in range(0, 60, together):
            calls = [TellCall(one, loss) for one, loss in zip(ids, losses, strict=True)][start : start + together]
            study.tell_each(calls)
        released.append(study.export()["rounds"])
    assert released[0] == released[1]


def test_a_call_that_is_refused_leaves_the_others_alone(opened, url):
    study = opened(url, name="s", **study_tools.sums())
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


def test_losses_that_come_too_late_are_refused_or_dropped(opened, url):
    study = opened(url, name="s", **study_tools.sums())
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


def test_losses_that_nobody_wants_are_dropped_unread(opened, url):
    study = opened(url, name="s", **study_tools.probing())
    actions = study.ask(12)
    calls = [
        TellCall(one, 0.5 if wants else "unread") for one, wants in zip(actions.ids, actions.wants_loss, strict=True)
    ]
    found = study.tell_each(calls)
    assert found == [ONE if wants else Recorded(0, 0, 1) for wants in actions.wants_loss]
    assert study.round == 1


def test_who_called_hears_of_it_before_rounds_are_closed(opened, url, monkeypatch):
    study = opened(url, name="s", **study_tools.sums())
    ids = [study.ask().id for _ in range(12)]
    seen = []
    study.tell_each([TellCall(one, 0.5) for one in ids], lambda outcomes: seen.append((list(outcomes), study.round)))
    assert seen == [([ONE] * 12, 0)]
    assert study.round == 1


def test_a_cell_takes_one_statement_on_a_server(opened, postgres_url, monkeypatch):
    study = opened(postgres_url, name="s", **study_tools.sums())
    ids = [study.ask().id for _ in range(3)] + study.ask(9).ids.tolist()
    study.tell_each([TellCall(one, 0.5) for one in ids[:2]])  # cells are looked up once
    sent = statements(monkeypatch, study)
    assert study.tell_each([TellCall(one, 0.5) for one in ids[4:10]]) == [ONE] * 6
    assert len(sent) == 1


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_batches_add_up(url, data):
    """Whatever is told together, in whatever order and however often: each loss counts once."""
    name = f"s{next(_names)}"
    with Study.open(url, name=name, **study_tools.sums()) as study, Study.open(url, name=name) as other:
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


def test_what_is_on_record_stays_so_when_the_rest_fails(opened, postgres_url, monkeypatch):
    """A cell that is stored is acknowledged, even if the connection breaks at the next one."""
    from sottovoce.errors import StorageError
    from sottovoce.studies.database.cells import CellTable

    study = opened(postgres_url, name="s", **study_tools.sums())
    ids = study.ask(12).ids.tolist() + study.ask(12).ids.tolist()
    tell_several, count = CellTable.tell_several, iter(range(100))

    def breaking(self, *arguments):
        if next(count) == 1:
            raise StorageError("gone")
        return tell_several(self, *arguments)

    monkeypatch.setattr(CellTable, "tell_several", breaking)
    found = study.tell_each([TellCall(one, 0.5) for one in (ids[0], ids[1], ids[12], ids[13])])
    assert found[:2] == [ONE, ONE]
    assert all(isinstance(one, StorageError) for one in found[2:])
    monkeypatch.undo()
    again = study.tell_each([TellCall(one, 0.5) for one in (ids[0], ids[1], ids[12], ids[13])])
    assert again == [Recorded(0, 1, 0)] * 2 + [ONE] * 2


def test_a_round_that_others_opened_is_looked_up_once(opened, url, monkeypatch):
    teller = opened(url, name="s", **study_tools.sums())
    other = opened(url, name="s")
    ids = other.ask(12).ids.tolist()
    locked = []
    with_the_lock = teller._session._tell_with_the_lock
    monkeypatch.setattr(
        teller._session, "_tell_with_the_lock", lambda calls: (locked.append(len(calls)), with_the_lock(calls))
    )
    assert teller.tell_each([TellCall(one, 0.5) for one in ids]) == [ONE] * 12
    assert locked == [1]
    assert (teller.status().told, teller.round) == (12, 1)


def test_a_cell_that_was_cut_since_takes_nothing_beyond_its_end(opened, postgres_url):
    """What a process had in hand is given back when it closes: others may remember the cell as it was."""
    asking = opened(postgres_url, name="s", **study_tools.sums(probe_events=30))
    teller = opened(postgres_url, name="s")
    ids = [asking.ask().id for _ in range(12)]
    while asking._session.hand.count < 8:  # so often that it reserves for calls to come
        ids.append(asking.ask().id)
    ids += [asking.ask().id for _ in range(3)]
    assert teller.tell_each([TellCall(one, 0.5) for one in ids]) == [ONE] * len(ids)
    before = dict(teller._session._known._rounds)
    asking.close()
    after = opened(postgres_url, name="s")
    more = [after.ask().id for _ in range(4)]
    assert any(slot < first + size for extents in before.values() for first, size in extents for slot in _slots(more))
    first = [TellCall(more[0], 0.5), TellCall(more[1:], [0.5] * 3)]
    assert teller.tell_each(first) == [ONE, Recorded(3, 0, 0)]
    assert teller.status().told == len(ids) + 4
    assert teller.verify().ok


def _slots(ids):
    return [int(one.split(".")[2], 16) for one in ids]


def test_no_loss_is_in_print():
    """Whatever a call is on its way to the storage: a traceback with locals, or a log, must not show its loss."""
    found = [
        TellCall("1.0.0.ab", 0.7312846),
        TellCall(["1.0.0.ab"], report=[7312846]),
        Waiting(1, 0, 0, 7312846),
        Group(1, 0, 0, np.array([0]), np.array([7312846]), (0,)),
    ]
    assert "7312846" not in repr(found) + "".join(map(str, found))
