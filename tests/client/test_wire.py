"""Losses on the wire: every one takes the same room, and arrives to the last bit."""

import json
import math
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampling import every
from sottovoce.client._wire import LOSS_WIDTH, Tell, checked_ids, checked_losses, loss_text
from sottovoce.errors import InvalidLoss, UnknownAction

FINITE = st.floats(allow_nan=False, allow_infinity=False)
EXTREMES = (
    0.0,
    -0.0,
    5e-324,
    -5e-324,
    1.7976931348623157e308,
    -1.7976931348623157e308,
    0.1,
    1 / 3,
    1e22,
    1e-5,
    123456.0,
)


def same(one, other):
    return struct.pack("<d", one) == struct.pack("<d", other)


@given(FINITE)
def test_every_loss_takes_the_same_room_and_is_read_back_to_the_last_bit(loss):
    assert len(loss_text(loss)) == LOSS_WIDTH
    assert same(json.loads(loss_text(loss)), loss) or loss == 0  # JSON readers may give -0.0 as they like


@every("loss", EXTREMES)
def test_extremes_as_well(loss):
    assert len(loss_text(loss)) == LOSS_WIDTH
    assert same(json.loads(loss_text(loss)), loss)


@given(st.lists(FINITE, min_size=1, max_size=5), st.lists(FINITE, min_size=5, max_size=5))
def test_a_request_is_as_long_whatever_its_losses_are(some, others):
    ids = tuple(f"1.0.{i}.aaaaaaaaaaaa" for i in range(len(some)))
    body, other = Tell("loss", ids, tuple(some)).body(), Tell("loss", ids, tuple(others[: len(some)])).body()
    assert len(body) == len(other)
    plain = json.loads(body)
    told = plain["losses"] if len(some) > 1 else [plain["loss"]]
    assert told == some


@given(st.lists(st.integers(-(2**52), 2**52), min_size=1, max_size=4))
def test_reports_too_take_the_same_room_and_stay_whole_numbers(reports):
    ids = tuple(map(str, range(len(reports))))
    body = Tell("report", ids, tuple(reports)).body()
    assert len(body) == len(Tell("report", ids, (1,) * len(reports)).body())
    plain = json.loads(body)
    assert (plain["reports"] if len(reports) > 1 else [plain["report"]]) == reports
    assert b"." not in body.split(b"report")[1]


@every(
    "tell",
    [
        Tell("loss", ("a",), (-0.1,), "drop"),
        Tell("loss", ("a", "b"), (5e-324, 1e300)),
        Tell("report", ("a",), (-1,)),
        Tell("report", ("a", "b"), (2**53, 0)),
        Tell("loss", ("a",), ((0.5, None),)),
        Tell("loss", ("a", "b"), ((0.1, None, 1.0), (None,))),
    ],
)
def test_what_is_written_is_read_as_it_was(tell):
    assert Tell.read(tell.body()) == tell


@every(
    "body", [b"", b"{}", b"[]", b'{"id": "a", "late": "error"}', b'{"ids": ["a"], "losses": [1, 2], "late": "drop"}']
)
def test_what_is_no_tell_is_not_read_as_one(body):
    with pytest.raises((ValueError, LookupError, TypeError, AttributeError)):
        Tell.read(body)


def test_what_is_printed_of_a_tell_holds_no_loss():
    assert "0.7155" not in repr(Tell("loss", ("a",), (0.7155,)))


def test_halves_are_all_of_it_in_order():
    whole = Tell("loss", tuple("abcde"), (1.0, 2.0, 3.0, 4.0, 5.0), "drop")
    first, second = whole.halves()
    assert first.ids + second.ids == whole.ids
    assert first.values + second.values == whole.values
    assert first.late == second.late == "drop"


@every("loss", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_refused(loss):
    with pytest.raises(InvalidLoss, match="not a finite number"):
        checked_losses([0.5, loss], ("a", "b"))


def test_shapes_must_agree():
    with pytest.raises(ValueError, match=r"losses must have the shape of ids, \(2,\)$"):
        checked_losses([0.5, 0.5, 0.5], ("a", "b"))


def test_ids_are_texts_and_a_loss_in_their_place_is_not_shown():
    assert checked_ids(np.array(["a", "b"])) == checked_ids(["a", "b"]) == ("a", "b")
    assert checked_ids("a") == ("a",)
    with pytest.raises(UnknownAction, match="id of type float") as refused:
        checked_ids([0.7155])
    assert "0.7155" not in str(refused.value)
