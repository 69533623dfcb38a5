"""Records come back as they were written, or not at all."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sottovoce._records import DamagedRecord, checksum, pack, unpack

NAMES = st.text(min_size=1, max_size=8)
ARRAYS = hnp.arrays(
    st.sampled_from([np.float64, np.int64, np.uint64, np.int32, np.bool_]),
    hnp.array_shapes(min_dims=0, max_dims=3, min_side=0),
)
PLAIN = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(allow_nan=False), st.text(max_size=9)
)


@given(st.dictionaries(NAMES, ARRAYS | PLAIN, max_size=5))
def test_what_is_packed_comes_back(record):
    again = unpack(pack(record))
    assert list(again) == list(record)
    for name, value in record.items():
        if isinstance(value, np.ndarray):
            assert again[name].dtype == value.dtype
            assert again[name].shape == value.shape
            assert again[name].tobytes() == np.ascontiguousarray(value).tobytes()  # -0.0 and NaN payloads, too
        else:
            assert again[name] == value


@given(st.data())
def test_any_damage_is_noticed(data):
    packed = pack({"round": 3, "point": np.array([0.25, 1.0, 0.0]), "name": "spring", "far": math.inf})
    place = data.draw(st.integers(0, len(packed) - 1))
    flipped = bytearray(packed)
    flipped[place] ^= data.draw(st.integers(1, 255))
    with pytest.raises(DamagedRecord):
        unpack(bytes(flipped))
    with pytest.raises(DamagedRecord):
        unpack(packed[:place])


def test_zeros_and_ones_take_a_byte_each_at_most():
    slates = np.zeros((4096, 20))
    slates[:, ::4] = 1.0
    assert len(pack({"actions": slates})) < 3000


def test_objects_are_refused():
    with pytest.raises(TypeError, match="arrays of numbers"):
        pack({"objects": np.array([object()])})


def test_a_checksum_knows_where_its_pieces_end():
    assert checksum(b"ab", b"c") != checksum(b"a", b"bc")
