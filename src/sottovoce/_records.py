"""Records: plain numbers, texts and typed arrays by name, as bytes with a checksum. No pickle: reading runs no code.

    magic | checksum of what follows | length of the table of contents | that table (JSON) | arrays, compressed

Small integers and 0/1 vectors are stored as the smallest type that holds them; the table says what they were.
"""

import hashlib
import json
import struct
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["DamagedRecord", "Record", "checksum", "pack", "part", "unpack"]

Record = dict[str, Any]
"""Plain values and arrays by name; names may have headings, as in "plan.step"."""

_MAGIC = b"svr1"
_HEAD = struct.Struct("<4s16sI")
_KINDS = "biuf"  # of arrays: booleans, integers, floats


class DamagedRecord(ValueError):
    """Bytes that are not a record, or not as they were written."""


def checksum(*pieces: bytes) -> bytes:
    """Return 16 bytes that change with any piece, or with where one ends and the next begins."""
    digest = hashlib.blake2b(digest_size=16)
    for piece in pieces:
        digest.update(len(piece).to_bytes(8, "little"))
        digest.update(piece)
    return digest.digest()


def pack(record: Record) -> bytes:
    """Return a record as bytes.

    Examples
    --------
    >>> unpack(pack({"round": 7, "point": np.array([0.5, 0.25])}))
    {'round': 7, 'point': array([0.5 , 0.25])}
    """
    table: list[Any] = []
    pieces = []
    for name, value in record.items():
        if isinstance(value, np.ndarray):
            stored = _smallest(value)
            table.append([name, value.dtype.str, stored.dtype.str, list(value.shape)])
            pieces.append(stored.tobytes())
        else:
            table.append([name, value])
    contents = json.dumps(table, allow_nan=True).encode()
    body = zlib.compress(b"".join(pieces), 1)
    length = struct.pack("<I", len(contents))
    return _HEAD.pack(_MAGIC, checksum(length, contents, body), len(contents)) + contents + body


def unpack(data: bytes) -> Record:
    """Return the record that `pack` made bytes of."""
    if len(data) < _HEAD.size:
        raise DamagedRecord("it is too short to be a record")
    magic, expected, length = _HEAD.unpack_from(data)
    contents, body = data[_HEAD.size : _HEAD.size + length], data[_HEAD.size + length :]
    if magic != _MAGIC or checksum(struct.pack("<I", length), contents, body) != expected:
        raise DamagedRecord("its checksum does not match what it holds")
    arrays, record, at = zlib.decompress(body), Record(), 0
    for name, *entry in json.loads(contents):
        if len(entry) == 1:
            record[name] = entry[0]
            continue
        kind, stored, shape = entry
        count = int(np.prod(shape, dtype=np.int64))
        array = np.frombuffer(arrays, dtype=stored, count=count, offset=at)
        at += array.nbytes
        record[name] = array.reshape(shape).astype(kind)
    return record


def part(record: Record, name: str) -> Record:
    """Return the entries of a record under one heading.

    Examples
    --------
    >>> part({"plan.step": 1, "plan.delay": 0, "round": 7}, "plan")
    {'step': 1, 'delay': 0}
    """
    return {key.partition(".")[2]: value for key, value in record.items() if key.startswith(f"{name}.")}


def _smallest(array: NDArray[Any]) -> NDArray[Any]:
    if array.dtype.kind not in _KINDS:
        raise TypeError(f"a record holds arrays of numbers, got {array.dtype}")
    array = np.ascontiguousarray(array)
    if array.size == 0:
        return array
    if array.dtype.kind == "f":
        exact = bool(((array == 0) | (array == 1)).all() and not np.signbit(array).any())
        return array.astype(np.uint8) if exact else array
    if array.dtype.kind in "iu":
        low, high = int(array.min()), int(array.max())
        for smaller in (np.int8, np.int16, np.int32):
            if np.iinfo(smaller).min <= low and high <= np.iinfo(smaller).max:
                return array.astype(smaller)
    return array
