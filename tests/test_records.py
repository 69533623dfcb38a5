"""Records come back as they were written, or not at all."""

import json
import math
import struct
import tracemalloc
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sottovoce._records import _HEAD, DamagedRecord, checksum, pack, unpack

NAMES = st.text(min_size=1, max_size=8)
ARRAYS = hnp.arrays(
    st.sampled_from([np.float64, np.int64, np.uint64, np.int32, np.bool_]),
    hnp.array_shapes(min_dims=0, max_dims=3, min_side=0),
)
PLAIN = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(allow_nan=False), st.text(max_size=9)
)

KINDS = st.sampled_from(["<f8", "<i8", "|u1", "|b1", "|O", "<U9", "f8", "<c16", "", None])
LINE = st.tuples(NAMES, KINDS, KINDS, st.lists(st.integers(-(2**40), 2**40) | st.integers(0, 3), max_size=3)).map(list)
JSON = st.lists(LINE | st.tuples(NAMES, PLAIN).map(list) | PLAIN, max_size=3) | PLAIN


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


def sealed(contents, body):
    """Return a record with a checksum that is right: whoever writes the bytes can compute it."""
    length = struct.pack("<I", len(contents))
    return _HEAD.pack(b"svr1", checksum(length, contents, body), len(contents)) + contents + body


def forged(*lines, body=b""):
    return sealed(json.dumps(lines).encode(), zlib.compress(body))


FORGERIES = {
    "a shape of gigabytes": forged(["a", "<f8", "<f8", [2**40]], body=bytes(64)),
    "a product of gigabytes": forged(["a", "<f8", "<f8", [2**20, 2**20, 2**20]]),
    "a product that wraps around": forged(["a", "<f8", "<f8", [2**32, 2**32]]),
    "many that are large together": forged(*([str(i), "<f8", "|u1", [2**27]] for i in range(40))),
    "a negative side": forged(["a", "<f8", "<f8", [-1]], body=bytes(8)),
    "too many sides": forged(["a", "|u1", "|u1", [1] * 100], body=b"1"),
    "a side that is no number": forged(["a", "|u1", "|u1", [True, "1", None]], body=b"1"),
    "objects": forged(["a", "|O", "|O", [1]], body=bytes(8)),
    "long texts": forged(["a", "<U1000000000", "<U1000000000", [1]], body=bytes(8)),
    "a kind from elsewhere": forged(["a", "<i8", "<f8", [1]], body=bytes(8)),
    "too few bytes": forged(["a", "<f8", "<f8", [2]], body=bytes(8)),
    "too many bytes": forged(["a", "<f8", "<f8", [1]], body=bytes(16)),
    "bytes after the end": sealed(b"[]", zlib.compress(b"") + b"more"),
    "no arrays": sealed(b"[]", b""),
    "arrays cut short": sealed(json.dumps([["a", "<f8", "<f8", [9]]]).encode(), zlib.compress(bytes(72))[:-3]),
    "nested without end": sealed(b"[" * 100_000, zlib.compress(b"")),
    "nested in a line": sealed(b'[["a", ' + b"[" * 100_000, zlib.compress(b"")),
    "a number of many digits": sealed(b'[["a", ' + b"9" * 10_000 + b"]]", zlib.compress(b"")),
    "no JSON": sealed(b"\xff\xfe\x00", zlib.compress(b"")),
    "nothing for a table": sealed(b"", zlib.compress(b"")),
    "a line that is a text": forged("ab"),
    "a line that is long": forged(["a", 1, 2]),
    "a name that is a number": forged([7, 1]),
    "a name twice": forged(["a", 1], ["a", 2]),
    "a length beyond the end": _HEAD.pack(b"svr1", checksum(struct.pack("<I", 2**32 - 1), b"", b""), 2**32 - 1),
}


def test_what_nobody_has_packed_is_refused_at_little_cost():
    """A right checksum is no proof: sizes are checked before memory is taken for them."""
    bomb = zlib.compress(bytes(2**26), 1)  # 64 MiB in a few hundred KiB
    asked_for = json.dumps([["a", "|u1", "|u1", [4]]]).encode()
    bombs = {"a bomb": sealed(asked_for, bomb), "a bomb that nobody asked for": sealed(b"[]", bomb)}
    for what, forgery in (FORGERIES | bombs).items():
        tracemalloc.start()
        try:
            with pytest.raises(DamagedRecord):
                unpack(forgery)
            assert tracemalloc.get_traced_memory()[1] < 2**24 + 4 * len(forgery), what
        finally:
            tracemalloc.stop()


@given(
    st.binary(max_size=60) | st.text(max_size=30).map(str.encode) | JSON.map(lambda plain: json.dumps(plain).encode()),
    st.binary(max_size=20) | st.binary(max_size=40).map(zlib.compress),
)
def test_any_bytes_are_a_record_or_damaged(contents, body):
    try:
        record = unpack(sealed(contents, body))
    except DamagedRecord:
        return
    assert list(unpack(pack(record))) == list(record)
