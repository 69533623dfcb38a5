"""Records: plain numbers, texts and typed arrays by name, as bytes with a checksum. No pickle: reading runs no code.

    magic | checksum of what follows | length of the table of contents | that table (JSON) | arrays, compressed

Small integers and 0/1 vectors are stored as the smallest type that holds them; the table says what they were.

Bytes that anybody may have written, with a checksum that anybody can compute, are read here: what they say of kinds,
shapes and sizes is checked before memory is taken for it. Any that `pack` would not write is a `DamagedRecord`.
"""

import hashlib
import json
import math
import struct
import zlib
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Record = dict[str, Any]
"""Plain values and arrays by name; names may have headings, as in "plan.step"."""

_MAGIC = b"svr1"
_HEAD = struct.Struct("<4s16sI")
_BYTE, _SMALLER = "|u1", ("|i1", "<i2", "<i4")  # what floats, and integers, may be stored as
_DTYPES = {np.dtype(code).str for code in np.typecodes["AllInteger"] + "efd?"}  # integers, floats, booleans
_MOST_DIMENSIONS = 32
MOST_BYTES = 2**31
"""Of all arrays of a record together, unpacked."""


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
    pieces, nbytes = [], 0
    for name, value in record.items():
        if isinstance(value, np.ndarray):
            stored = _smallest(value)
            table.append([name, value.dtype.str, stored.dtype.str, list(value.shape)])
            pieces.append(stored.tobytes())
            nbytes += value.nbytes
        else:
            table.append([name, value])
    if nbytes > MOST_BYTES:
        raise ValueError(f"a record holds arrays of {MOST_BYTES} bytes at most")
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
    table = _table(contents)
    arrays, record, at = _decompressed(body, sum(entry.size for entry in table)), Record(), 0
    for entry in table:
        if entry.stored is None:
            record[entry.name] = entry.value
            continue
        array = np.frombuffer(arrays, dtype=entry.stored, count=entry.size // entry.stored.itemsize, offset=at)
        at += entry.size
        record[entry.name] = array.reshape(entry.shape).astype(entry.kind)
    return record


class _Entry(NamedTuple):
    """A line of the table: a plain value, or the kind and shape of an array, and its bytes."""

    name: str
    value: Any = None
    kind: np.dtype[Any] | None = None
    stored: np.dtype[Any] | None = None
    shape: tuple[int, ...] = ()
    size: int = 0


def _table(contents: bytes) -> list[_Entry]:
    """Return the table of contents, if it is one that `pack` writes."""
    lines = None
    with suppress(ValueError, RecursionError):  # not JSON, not text, or nested without end
        lines = json.loads(contents)
    if not isinstance(lines, list):
        raise DamagedRecord("it has no table of contents")
    table = [_entry(line) for line in lines]
    if len({entry.name for entry in table}) < len(table):
        raise DamagedRecord("a name stands twice in its table of contents")
    if sum(math.prod(entry.shape) * entry.kind.itemsize for entry in table if entry.kind is not None) > MOST_BYTES:
        raise DamagedRecord(f"its arrays are larger than {MOST_BYTES} bytes")
    return table


def _entry(line: Any) -> _Entry:
    if not isinstance(line, list) or len(line) not in (2, 4) or not isinstance(line[0], str):
        raise DamagedRecord("its table of contents has a line that is none")
    if len(line) == 2:
        return _Entry(line[0], value=line[1])
    name, kind, stored, shape = line
    if not isinstance(kind, str) or kind not in _DTYPES or stored not in (kind, *_stored_as(kind)):
        raise DamagedRecord("an array holds something other than numbers")
    if not isinstance(shape, list) or len(shape) > _MOST_DIMENSIONS:
        raise DamagedRecord("an array has no shape")
    if (
        not all(type(side) is int and side >= 0 for side in shape)
        or math.prod(side or 1 for side in shape) > MOST_BYTES
    ):
        raise DamagedRecord("an array has an impossible shape")
    size = math.prod(shape) * np.dtype(stored).itemsize
    return _Entry(name, None, np.dtype(kind), np.dtype(stored), tuple(shape), size)


def _stored_as(kind: str) -> tuple[str, ...]:
    """Return the kinds that `pack` may store an array as, in place of its own."""
    return (_BYTE,) if kind[1] == "f" else _SMALLER if kind[1] in "iu" else ()


def _decompressed(body: bytes, size: int) -> bytes:
    """Return exactly `size` bytes, with memory for hardly more: a few bytes can be made to unpack to gigabytes."""
    decompressor, arrays = zlib.decompressobj(), None
    with suppress(zlib.error):
        arrays = decompressor.decompress(body, size + 1)
    if arrays is None or len(arrays) != size or not decompressor.eof or decompressor.unused_data:
        raise DamagedRecord("its arrays are not as long as its table of contents says")
    return arrays


def part(record: Record, name: str) -> Record:
    """Return the entries of a record under one heading.

    Examples
    --------
    >>> part({"plan.step": 1, "plan.delay": 0, "round": 7}, "plan")
    {'step': 1, 'delay': 0}
    """
    return {key.partition(".")[2]: value for key, value in record.items() if key.startswith(f"{name}.")}


def headed(name: str, record: Record) -> Record:
    """Return entries under a heading, as `part` finds them."""
    return {f"{name}.{key}": value for key, value in record.items()}


def _smallest(array: NDArray[Any]) -> NDArray[Any]:
    if array.dtype.str not in _DTYPES:
        raise TypeError(f"a record holds arrays of numbers, got {array.dtype}")
    array = np.ascontiguousarray(array)
    if array.size == 0:
        return array
    if array.dtype.kind == "f":
        if array.flat[0] not in (0, 1):  # as most are
            return array
        exact = bool(((array == 0) | (array == 1)).all() and not np.signbit(array).any())
        return array.astype(np.uint8) if exact else array
    if array.dtype.kind in "iu":
        low, high = int(array.min()), int(array.max())
        for smaller in (np.int8, np.int16, np.int32):
            if np.iinfo(smaller).min <= low and high <= np.iinfo(smaller).max:
                return array.astype(smaller)
    return array
