"""Neither a loss nor a key is in anything that a client raises, prints or logs."""

import logging
import traceback

import pytest

import sottovoce as sv
from sampling import every
from sottovoce.errors import InvalidLoss, SottovoceError

LOSS = 0.715517155
MARKS = ("715517155", "sssss")  # of the loss, on the wire and off it; of the key


def shown(problem):
    """Return everything that an exception and those behind it hold: words, arguments, attributes."""
    seen, found = set(), []
    while problem is not None and id(problem) not in seen:
        seen.add(id(problem))
        found += [str(problem), repr(problem), repr(problem.args), repr(vars(problem))]
        assert not hasattr(problem, "request"), "an error of httpx2 holds the request, and that the loss"
        problem = problem.__cause__ or problem.__context__
    return "\n".join(found)


@every("fault", ["before", "after", 429, 503, 500, 422, 200, (429, {"Retry-After": "999"})])
def test_no_error_holds_a_loss_or_a_key(connected, stand_in, fault):
    remote = connected()
    action = remote.ask()
    assert remote.tell(remote.ask().id, LOSS).recorded == 1
    stand_in.faults.extend([fault] * 5)
    with pytest.raises(SottovoceError) as raised:
        remote.tell(action.id, LOSS)
    stand_in.faults.clear()
    words = shown(raised.value) + "".join(traceback.format_exception(raised.value))
    assert not any(mark in words for mark in MARKS)
    assert raised.value.__context__ is None
    assert raised.value.__cause__ is None


def test_the_words_of_an_error_hold_no_loss_when_the_loss_itself_is_wrong(connected):
    remote = connected()
    action = remote.ask()
    for wrong in ("715517155x", [["715517155x"]], {"715517155": 1}, 715517155 * 10**400):
        with pytest.raises((InvalidLoss, ValueError)) as raised:
            remote.tell(action.id, wrong)
        assert not any(mark in shown(raised.value) for mark in MARKS)


def test_no_log_holds_a_loss_or_a_key(connected, stand_in, caplog):
    caplog.set_level(logging.DEBUG)
    remote = connected()
    actions = remote.ask(2)
    remote.tell(actions.ids[0], LOSS)
    stand_in.faults.extend(["before", 503, "before"])
    remote.tell(actions.ids[1], LOSS)
    assert len(stand_in.told) == 2
    logged = caplog.text + "".join(repr(record.args) for record in caplog.records)
    assert "HTTP" in logged  # httpx2 does log
    assert not any(mark in logged for mark in MARKS)


def test_nothing_that_is_printed_holds_the_key(connected):
    remote = connected()
    parts = [vars(part) for part in vars(remote).values() if hasattr(part, "__dict__")]
    assert not any("sssss" in repr(part) for part in (remote, vars(remote), *parts))


@every("key", ["", "with space", "sssss\n", "sssssü", 7, b"sssss"])
def test_a_key_that_is_none_is_not_shown(key):
    with pytest.raises(ValueError, match="key must be the text") as raised:
        sv.connect("https://decide.example", study="spring", key=key)
    assert "sssss" not in shown(raised.value)
