"""A round: its slots, how they are kept as bytes, the ids by which a loss finds its slot.

A *stream* is a sequence of rounds: a segment has one, an evaluation has one, an optimizer without segments has one in
all. A *round* is a number of *slots*, one for each event. Slots are kept in *chunks* of equal length, and every round
begins with a chunk of its own. An id is `incarnation << 36 | place`; its place says the chunk, and the slot in that
chunk. So an id alone says where its loss belongs, whoever asks, and nothing has to be searched, shortened or joined.

In a slot is an integer (or one for each of k items): a loss on its grid, or one of three marks. A loss and the state of
its slot are therefore the same value, and change in one assignment.

In a database a chunk is bytes: integers of four or eight, big-endian; where they have four, marks are the lowest of
those. Its seal is a checksum that can be changed without reading what it is of: the exclusive or of one number for each
slot that has its loss, or was closed without it. A tell changes the slots and the seal in one statement. It finds
damage, not malice: whoever can write to the database can seal as well.

Ids of stored books are short texts: the number that the book knows, and a tag that only its secret can make. So an id
that nobody handed out is refused before anything is looked up, and one that a newer state of the storage handed out is
known for what it is.
"""

import hashlib
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sottovoce._arrays import Integers
from sottovoce._records import Record
from sottovoce.errors import UNRECORDED, UnknownAction

PLACES = 36
"""Bits of an id within its incarnation: 68,000 million places; of incarnations there are 2^27."""

PLACE = (1 << PLACES) - 1
"""Of an id, the place within its incarnation."""

_LOWEST = -(2**63)
PENDING, MISSING, UNWANTED, UNUSED = _LOWEST, _LOWEST + 1, _LOWEST + 2, _LOWEST + 3
"""Marks: it waits for its loss; it was closed without it; it has no use for one; nobody has it. No loss is so low."""

_ROW, _MOST = 1024, 64  # bytes and slots of a chunk in a database: who tells waits for others who tell the same chunk
_LOW32, _LOW64 = -(2**31), -(2**63)
_MASK = 2**64 - 1
_TAG = 6  # bytes: a guess succeeds once in 2^48
_REMEMBERED = 2**16
_LOOKS = re.compile(r"([0-9a-f]{1,16}\.){2}[0-9a-f]{12}")


class Shape(NamedTuple):
    """What a slot holds.

    Attributes
    ----------
    width
        How many integers: one, or one for each item of a decision.
    low, high
        The range of a loss as an integer.
    """

    width: int = 1
    low: int = 0
    high: int = 2**18

    @property
    def integer_bytes(self) -> int:
        """Bytes of an integer in a database: marks are the lowest numbers that fit, and no loss is among them."""
        return 4 if self.low >= -(2**31) + 4 and self.high < 2**31 else 8

    @property
    def slot_bytes(self) -> int:
        """Bytes of a slot in a database."""
        return self.width * self.integer_bytes

    @property
    def chunk_bits(self) -> int:
        """The binary logarithm of the slots of a chunk.

        Examples
        --------
        >>> [2 ** Shape(width).chunk_bits for width in (1, 5, 20, 1000)]
        [64, 32, 8, 1]
        """
        return max(0, min(_MOST, _ROW // self.slot_bytes).bit_length() - 1)


class Draft(NamedTuple):
    """A round that is to begin: it follows from released values and public coins only."""

    size: int
    public: Record


class Round(NamedTuple):
    """A round that has begun.

    Attributes
    ----------
    stream, number
        Whose it is, and how many rounds its stream had before it.
    first
        The id of its first slot; the others follow.
    size
        Its slots.
    public
        What its decisions follow from.
    position
        How many events of its stream came before it.
    """

    stream: int
    number: int
    first: int
    size: int
    public: Record
    position: int = 0

    @property
    def end(self) -> int:
        """The id after its last."""
        return self.first + self.size


class Draw(NamedTuple):
    """What consecutive slots of a round play.

    Attributes
    ----------
    actions
        A row for each, or `Decisions`.
    wanted
        Which of them take a loss; None if all do.
    people
        The hashed person that each is for, where people are counted.
    """

    actions: Any
    wanted: NDArray[np.bool_] | None = None
    people: Sequence[bytes] | None = None


class Release(NamedTuple):
    """What is left of a round: its numbers with noise, and which slots had no loss.

    Attributes
    ----------
    round
        The round.
    numbers
        What was released; None if nothing was, since nothing will follow from it.
    missing
        The slots, from 0, that were closed without their loss.
    wanted
        How many slots took a loss.
    dropped
        Whether its losses were lost: the storage was restored from a backup.
    """

    round: Round
    numbers: NDArray[Any] | None
    missing: Integers
    wanted: int
    dropped: bool = False


def leading(slots: Integers) -> Integers:
    """The integer of each slot that tells its state: the first."""
    return slots if slots.ndim == 1 else slots[:, 0]


def fresh_slots(draw: Draw, count: int, width: int) -> Integers:
    """Return slots that wait for their loss, or have no use for one.

    Examples
    --------
    >>> slots = fresh_slots(Draw(None, np.array([True, False])), 2, 1)
    >>> (slots == PENDING).tolist(), (slots == UNWANTED).tolist()
    ([True, False], [False, True])
    """
    slots = np.full((count, width) if width > 1 else count, PENDING, dtype=np.int64)
    if draw.wanted is not None:
        slots[~draw.wanted] = UNWANTED
    return slots


# ------------------------------------------------------------------ as bytes


class InChunk(NamedTuple):
    """Places of one chunk among others, in ascending order: which chunk, which of them they are, and the places."""

    chunk: int
    mine: slice
    places: Integers


class Slots:
    """How the slots of a book are stored.

    Parameters
    ----------
    shape
        What a slot holds.
    """

    def __init__(self, shape: Shape) -> None:
        self.width, self.integer_bytes, self.bits = shape.width, shape.integer_bytes, shape.chunk_bits
        self.bytes, self.per_chunk = self.width * self.integer_bytes, 1 << self.bits
        self._kind = f">i{self.integer_bytes}"
        self.pending, self.unused = (self.packed(np.full(self.width, mark)) for mark in (PENDING, UNUSED))

    def packed(self, slots: Integers) -> bytes:
        """Return slots as they are stored."""
        if self.integer_bytes == 4:
            slots = np.where(slots < _LOW64 + 4, slots - _LOW64 + _LOW32, slots)
        return slots.astype(self._kind).tobytes()

    def unpacked(self, data: bytes) -> Integers:
        """Return stored slots; they may be changed."""
        slots = np.frombuffer(data, dtype=self._kind).astype(np.int64)
        if self.integer_bytes == 4:
            slots[slots < _LOW32 + 4] += _LOW64 - _LOW32
        return slots if self.width == 1 else slots.reshape(-1, self.width)

    def by_chunk(self, places: Integers) -> list[InChunk]:
        """Sort places that ascend by their chunks."""
        chunks, starts = np.unique(places >> self.bits, return_index=True)
        ends = [*starts.tolist()[1:], len(places)]
        return [
            InChunk(chunk, slice(start, end), places[start:end])
            for chunk, start, end in zip(chunks.tolist(), starts.tolist(), ends, strict=True)
        ]

    def at(self, place: int) -> tuple[int, int]:
        """Return where the slot of a place is stored: its chunk, and how many bytes come before it there."""
        return place >> self.bits, (place & self.per_chunk - 1) * self.bytes

    def chunk_size(self, one: Round, chunk: int) -> int:
        """How many slots a chunk of a round has."""
        return min(self.per_chunk, (one.first & PLACE) + one.size - (chunk << self.bits))


_GOLDEN, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def seal_of(places: Integers, integers: Integers) -> int:
    """Return the exclusive or of the numbers of slots, signed."""
    return seals_of(places, integers, [0])[0] if len(places) else 0


def seals_of(places: Integers, integers: Integers, starts: list[int]) -> list[int]:
    """Return the same for each run of slots, by where these start."""
    mixed = _mixed(places.astype(np.uint64))
    for column in integers.reshape(len(places), -1).T:
        mixed = _mixed(mixed + column.astype(np.uint64))
    sealed: list[int] = np.bitwise_xor.reduceat(mixed.view(np.int64), starts).tolist()
    return sealed


def _mixed(values: "np.typing.NDArray[np.uint64]") -> "np.typing.NDArray[np.uint64]":
    values = values + np.uint64(_GOLDEN)
    values = (values ^ values >> np.uint64(30)) * np.uint64(_FIRST)
    values = (values ^ values >> np.uint64(27)) * np.uint64(_SECOND)
    return values ^ values >> np.uint64(31)


def seal_of_one(place: int, integer: int) -> int:
    """Return what `seal_of` does of one slot and its integer, without arrays.

    Examples
    --------
    >>> seal_of_one(3, 7) == seal_of(np.array([3]), np.array([7]))
    True
    """
    mixed = 0
    for value in (place, integer):
        mixed = mixed + value + _GOLDEN & _MASK
        mixed = (mixed ^ mixed >> 30) * _FIRST & _MASK
        mixed = (mixed ^ mixed >> 27) * _SECOND & _MASK
        mixed = mixed ^ mixed >> 31
    return mixed - 2**64 if mixed >= 2**63 else mixed


# ------------------------------------------------------------------ as texts


class TextIds:
    """Ids as texts: incarnation, place, and a tag that only the book's secret can make.

    Parameters
    ----------
    secret
        Of the book.

    Examples
    --------
    >>> ids = TextIds(b"secret")
    >>> ids.texts(np.array([(1 << 36) + 255]))
    ['1.ff.76c8f404d1f4']
    >>> ids.numbers(ids.texts(np.array([7, 8])))
    array([7, 8])
    """

    def __init__(self, secret: bytes) -> None:
        self._keyed = hashlib.blake2b(key=secret, digest_size=_TAG)
        self._handed_out: dict[str, int] = {}  # signed here a while ago: no need to check them

    def texts(self, ids: Integers) -> list[str]:
        """Return the texts of ids."""
        copy, texts = self._keyed.copy, []
        for one in ids.tolist():  # as `text` does it, without a call for each
            body, keyed = f"{one >> PLACES:x}.{one & PLACE:x}", copy()
            keyed.update(body.encode())
            texts.append(f"{body}.{keyed.hexdigest()}")
        self._remember(dict(zip(texts, ids.tolist(), strict=True)))
        return texts

    def text(self, one: int) -> str:
        """Return the text of one id."""
        body = f"{one >> PLACES:x}.{one & PLACE:x}"
        text = f"{body}.{self._tag(body)}"
        self._remember({text: one})
        return text

    def _remember(self, signed: dict[str, int]) -> None:
        """Remember ids that were signed here, so that their signatures need no check."""
        if len(self._handed_out) > _REMEMBERED:
            self._handed_out.clear()
        self._handed_out |= signed

    def numbers(self, given: Any) -> Integers:
        """Return the ids of a text, or of several; refuse any that this book did not sign."""
        texts = [str(given)] if isinstance(given, str) else np.asarray(given).ravel().tolist()
        return np.array([self.number(one) for one in texts], dtype=np.int64)

    def number(self, one: Any) -> int:
        """Return the id of one text."""
        if type(one) is str:
            known = self._handed_out.pop(one, None)
            if known is not None:
                return known
            body, _, tag = one.rpartition(".")
            if tag == self._tag(body):  # signed, so there are two numbers
                incarnation, _, place = body.partition(".")
                return int(incarnation, 16) << PLACES | int(place, 16)
        raise UnknownAction(_refusal(one), UNRECORDED)

    def _tag(self, body: str) -> str:
        keyed = self._keyed.copy()
        keyed.update(body.encode(errors="surrogatepass"))
        return keyed.hexdigest()


def _refusal(one: Any) -> str:
    """Show what looks like an id; whatever else was passed by mistake (a loss?) is not shown."""
    if not isinstance(one, str):
        return f"ids are the texts that ask returned here (action.id), got something of type {type(one).__name__}"
    return (
        f"id {one!r} was not handed out here" if _LOOKS.fullmatch(one) else "the id is not one that was handed out here"
    )
