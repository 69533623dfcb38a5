"""Who has written to a study, and how far: so that a process notices a storage that went back in time.

The counters keep, for each of the latest writers, the version that it wrote last. What a process has seen of this must
be in whatever it sees later: a writer's number never falls. After a rollback it has fallen, at least for one writer,
however far others have moved the counters on since: whoever is alive notices it by its own number, and the
numbers of the dead are noticed by all that have seen them.
"""

import struct
from typing import Self

__all__ = ["MOST", "Writers"]

MOST = 64
"""How many writers are remembered. One that was silent while so many others wrote cannot be told from a newcomer."""

_ENTRY = struct.Struct(">8sQ")


class Writers:
    """The latest writers, oldest first, in sixteen bytes each.

    Parameters
    ----------
    packed
        As stored in the counters.

    Examples
    --------
    >>> before = Writers().wrote(b"the mine", 7)
    >>> before.wrote(b"an other", 8).follows(before)
    True
    >>> Writers().wrote(b"an other", 8).follows(before)
    False
    """

    def __init__(self, packed: bytes = b"") -> None:
        self.packed = bytes(packed)

    def wrote(self, writer: bytes, version: int) -> Self:
        """Return the writers after one of them wrote a version, which is higher than any before."""
        others, place = self.packed, self.packed.find(writer)
        while place % _ENTRY.size and place > 0:  # found by chance across two entries
            place = others.find(writer, place + 1)
        if place >= 0:
            others = others[:place] + others[place + _ENTRY.size :]
        return type(self)((others + _ENTRY.pack(writer, version))[-MOST * _ENTRY.size :])

    def follows(self, before: "Writers") -> bool:
        """Say whether a storage with these writers can have come after one with those."""
        if self.packed == before.packed:
            return True
        now: dict[bytes, int] = dict(_ENTRY.iter_unpack(self.packed))
        # Whoever was dropped had written less than all that are left.
        dropped_below = min(now.values()) if len(now) == MOST else 0
        return all(
            now.get(writer, dropped_below - 1) >= version for writer, version in _ENTRY.iter_unpack(before.packed)
        )
