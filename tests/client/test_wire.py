"""Losses on the wire: every one takes the same room, and arrives to the last bit."""

import json
import math
import struct

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sottovoce.client._wire import LOSS_WIDTH, checked_ids, checked_losses, loss_text, tell_body
from sottovoce.errors import InvalidLoss, UnknownAction

FINITE = st.floats(allow_nan=False, allow_infinity=False)


def same(one, other):
    return struct.pack("<d", one) == struct.pack("<d", other)


@given(FINITE)
@example(0.0)
@example(-0.0)
@example(5e-324)
@example(-1.7976931348623157e308)
@example(1e22)
@example(123456.0)
def test_every_loss_takes_the_same_room_and_is_read_back_to_the_last_bit(loss):
    assert len(loss_text(loss)) == LOSS_WIDTH
    assert same(json.loads(loss_text(loss)), loss)


@given(st.lists(FINITE, min_size=1, max_size=5), st.lists(FINITE, min_size=5, max_size=5))
def test_a_request_is_as_long_whatever_its_losses_are(some, others):
    ids = tuple(f"1.0.{i}.aaaaaaaaaaaa" for i in range(len(some)))
    body, other = tell_body("loss", ids, some, "drop"), tell_body("loss", ids, others[: len(some)], "drop")
    assert len(body) == len(other)
    plain = json.loads(body)
    told = plain["losses"] if len(some) > 1 else [plain["loss"]]
    assert told == some


@given(st.lists(st.integers(-(2**52), 2**52), min_size=1, max_size=4))
def test_reports_too_take_the_same_room_and_stay_whole_numbers(reports):
    ids = tuple(map(str, range(len(reports))))
    body = tell_body("report", ids, reports, "error")
    assert len(body) == len(tell_body("report", ids, (1,) * len(reports), "error"))
    plain = json.loads(body)
    assert (plain["reports"] if len(reports) > 1 else [plain["report"]]) == reports
    assert b"." not in body.split(b"report")[1]


def test_what_is_not_finite_or_not_as_many_as_ids_is_refused():
    for loss in (math.nan, math.inf, -math.inf):
        with pytest.raises(InvalidLoss, match="not a finite number"):
            checked_losses([0.5, loss], ("a", "b"))
    with pytest.raises(ValueError, match=r"losses must have the shape of ids, \(2,\)$"):
        checked_losses([0.5, 0.5, 0.5], ("a", "b"))
    assert checked_losses([0.5, 0.25], ("a", "b")) == (0.5, 0.25)


def test_ids_are_texts_and_a_loss_in_their_place_is_not_shown():
    assert checked_ids(np.array(["a", "b"])) == checked_ids(["a", "b"]) == ("a", "b")
    assert checked_ids("a") == ("a",)
    with pytest.raises(UnknownAction, match="id of type float") as refused:
        checked_ids([0.7155])
    assert "0.7155" not in str(refused.value)
