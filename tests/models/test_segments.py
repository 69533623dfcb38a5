"""Whom decisions are for: names, factors, features; what is none of them is refused with the name that was meant."""

import pickle

import numpy as np
import pytest

import sottovoce as sv
from sampling import every
from sottovoce._records import pack, part, unpack
from sottovoce.errors import UnknownSegment

NAMES = sv.Segments(["phone", "desktop", 7])
FACTORS = sv.Segments(factors={"device": ["phone", "desktop"], "hour": [0, 1, 2]})


def test_a_list_a_mapping_and_segments_are_all_taken_and_factors_are_named_by_level_in_order_or_by_name():
    assert sv.Segments.of(["a", "b"]) == sv.Segments(("a", "b"))
    assert sv.Segments.of({"device": ["a", "b"]}).names == (("a",), ("b",))
    assert sv.Segments.of(NAMES) is NAMES
    assert FACTORS.key(("phone", 2)) == FACTORS.key({"hour": np.int64(2), "device": "phone"}) == ("phone", 2)
    assert FACTORS.key(["phone", 2]) == ("phone", 2)
    assert len(FACTORS.names) == FACTORS.most == 6
    assert FACTORS.row(("desktop", 1)).tolist() == [1, 0, 1, 0, 1, 0]  # what segments share
    assert [name for name, _ in FACTORS.groups] == ["everybody", "device", "hour"]


@every("given", [3, "phone", None, [], {}, [1.5], [True], ["a", "a"], {"": ["a"]}, {"d": "ab"}])
def test_what_cannot_be_segments_is_refused(given):
    with pytest.raises((TypeError, ValueError)):
        sv.Segments.of(given)


@every(
    ("segments", "segment", "word"),
    [
        (NAMES, "fone", "did you mean 'phone'"),
        (NAMES, 8, "must be one of"),
        (NAMES, True, "text or a whole number"),
        (NAMES, 7.0, "text or a whole number"),
        (NAMES, ("phone",), "text or a whole number"),
        (FACTORS, "phone", "a level of each of 'device', 'hour'"),
        (FACTORS, ("phone", 3), "the level of 'hour'"),
        (FACTORS, {"device": "phone"}, "a level of each"),
        (FACTORS, {"device": "phone", "day": 1}, "a level of each"),
        (FACTORS, ("phone", True), "the level of 'hour'"),
        (sv.Segments(limit=5), None, "text or a whole number"),
    ],
)
def test_an_unknown_segment_is_refused_with_what_was_meant(segments, segment, word):
    with pytest.raises(UnknownSegment, match=word):
        segments.key(segment)


def test_whatever_was_not_named_may_be_opened_up_to_a_limit():
    segments = sv.Segments(["phone"], limit=3)
    assert segments.key("tv") == "tv"
    assert segments.most == 3
    with pytest.raises(ValueError, match="limit=1"):
        sv.Segments(["a", "b"], limit=1)
    with pytest.raises(ValueError, match="limit is for segments without factors"):
        sv.Segments(factors={"a": [1, 2]}, limit=9)
    with pytest.raises(ValueError, match="4096"):
        sv.Segments(limit=5000)


def test_features_are_centred_and_scaled_so_that_units_do_not_matter():
    hours = np.arange(24)
    rows = np.column_stack([np.sin(hours), 1000 * np.cos(hours)])
    one = sv.Segments(hours.tolist(), features=rows)
    other = sv.Segments(hours.tolist(), features={hour: rows[hour] * 60 + 5 for hour in hours.tolist()})
    assert np.allclose(one.features, other.features)
    assert np.mean((one.features**2).sum(axis=1)) == pytest.approx(1.0)
    assert one.row(3)[1:] == pytest.approx(one.features[3])


@every("features", [[[1.0], [2.0]], [[1.0]] * 3, [[np.nan], [1.0], [2.0]], "abc", {"phone": [1.0]}, []])
def test_features_that_are_of_no_use_are_refused(features):
    with pytest.raises(ValueError, match="features"):
        sv.Segments(["phone", "desktop", "tablet"], features=features)


@every("segments", [NAMES, FACTORS, sv.Segments([1, 2, 3], features=[1, 5, 2]), sv.Segments(limit=9)])
def test_segments_can_be_kept_and_pickled(segments):
    record = unpack(pack({f"segments.{name}": one for name, one in segments.to_record().items()}))
    for again in (sv.Segments.from_record(part(record, "segments")), pickle.loads(pickle.dumps(segments))):
        assert again == segments
        assert hash(again) == hash(segments)
        assert repr(again) == repr(segments)
        assert all(np.array_equal(again.row(name), segments.row(name)) for name in segments.names)
