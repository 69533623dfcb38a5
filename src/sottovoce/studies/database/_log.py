"""The log of an SQLite database (`-wal`), watched for cuts that SQLite itself does not notice.

A log that an outsider has cut short loses commits: those in it, and those that are written after the hole. What SQLite
itself does to a log looks different. Written anew from its start, it has another head (with other salts); emptied, it
has none; otherwise it grows at its end, and every frame carries the salts of the head. No lock of SQLite's is on this
file, so that it may be opened and closed beside it. (The format: https://sqlite.org/walformat.html.)
"""

import os
import struct
import time

__all__ = ["Log"]

_HEAD, _FRAME_HEAD = 32, 24
_MAGIC = {0x377F0682: "<6I", 0x377F0683: ">6I"}  # and how its checksum reads words
_LOOKS, _TRIES, _BETWEEN = 3, 1000, 0.001  # looks that must agree, of so many, and seconds between them


class Log:
    """What was last seen of a log; the first look finds nothing wrong with it.

    Parameters
    ----------
    path
        Of the log.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._head = b""
        self._size: int | None = None
        self._whole = 0  # frames that are known to be of this head

    def is_cut(self, size: int) -> bool:
        """Look at the log, which is of this size; return whether somebody has cut it short since the last look."""
        if size == self._size:  # as it is where nothing was written
            return False
        log = os.open(self.path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        try:
            return self._is_surely_cut(log)
        finally:
            os.close(log)

    def _is_surely_cut(self, log: int) -> bool:
        """Whether looks agree between which nothing was written: others write to it, and empty it, meanwhile.

        Size and head are read one after the other. They are believed, and remembered, only if they are the same when
        they are read again: else they may be those of two logs.
        """
        agreed, last = 0, None
        for _ in range(_TRIES):
            seen = _seen(log)
            if _seen(log) != seen:
                agreed = 0
                continue
            if not self._looks_cut(log, *seen):
                return False
            agreed = agreed + 1 if seen == last else 1
            last = seen
            if agreed == _LOOKS:
                return True
            time.sleep(_BETWEEN)
        return False  # it is written to all the time: the next look may tell

    def _looks_cut(self, log: int, size: int, head: bytes) -> bool:
        before = self._size
        if head == self._head and head:
            if before is not None and (size < before or not self._grew_at_its_end(log, size)):
                return True
            self._size = size
            return False
        is_head = _is_head(head)
        if not is_head and before is not None and size and (self._head or size > before):
            return True  # something was written, and not after a head
        self._head, self._size, self._whole = head if is_head else b"", size, 0
        return False

    def _grew_at_its_end(self, log: int, size: int) -> bool:
        """Whether all frames are of this head: a hole is not."""
        salts, frame = self._head[16:24], _FRAME_HEAD + int.from_bytes(self._head[8:12], "big")
        count = (size - _HEAD) // frame
        for number in range(self._whole, count):
            if _read(log, _HEAD + number * frame + 8, len(salts)) != salts:
                return False
        self._whole = max(self._whole, count)
        return True


def _seen(log: int) -> tuple[int, bytes]:
    return os.fstat(log).st_size, _read(log, 0, _HEAD)


def _read(log: int, at: int, count: int) -> bytes:
    os.lseek(log, at, os.SEEK_SET)
    return os.read(log, count)


def _is_head(head: bytes) -> bool:
    """Whether these bytes are the head of a log: its checksum is that of its first 24."""
    if len(head) < _HEAD:
        return False
    (magic,) = struct.unpack_from(">I", head)
    if magic not in _MAGIC:
        return False
    first = second = 0
    words = struct.unpack_from(_MAGIC[magic], head)
    for one, other in zip(words[::2], words[1::2], strict=True):
        first = first + one + second & 0xFFFFFFFF
        second = second + other + first & 0xFFFFFFFF
    return struct.pack(">2I", first, second) == head[24:]
