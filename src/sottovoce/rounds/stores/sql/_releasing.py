"""Releasing: sums, noise, erasure and the release are one transaction.

It needs no lock against those who tell: a round all of whose cells have their losses takes no more. Whoever releases
holds the lock of the round from the first loss that it reads to the commit; another who finds it locked leaves it
alone.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sottovoce._arrays import Integers
from sottovoce._records import Record, pack
from sottovoce.errors import StudyDamaged
from sottovoce.rounds.round import MISSING, PENDING, UNUSED, UNWANTED, Release, Round
from sottovoce.rounds.store import Compute
from sottovoce.rounds.stores.sql._book_rows import CLOSED, Steps
from sottovoce.rounds.stores.sql._slots import leading
from sottovoce.rounds.stores.sql._telling import Telling
from sottovoce.rounds.stores.sql.errors import unpacked
from sottovoce.rounds.stores.sql.schema import DROPPED, RELEASED, UNRELEASED
from sottovoce.rounds.stores.sql.seals import seal_of

__all__ = ["Releasing"]

_READY = (
    "FROM sottovoce_rounds r WHERE r.book = ? AND r.open = 1 AND r.reserved = r.size AND NOT EXISTS "
    "(SELECT 1 FROM sottovoce_rounds o WHERE o.book = r.book AND o.stream = r.stream AND o.open = 1 "
    "AND o.number < r.number) AND NOT EXISTS (SELECT 1 FROM sottovoce_cells c WHERE c.book = r.book "
    "AND c.stream = r.stream AND c.round = r.number AND c.closed < c.wanted)"
)


class _Drawn(NamedTuple):
    """What is released of a round, its slots without a loss, and its record as it is stored."""

    round: Round
    numbers: NDArray[Any] | None
    missing: Integers
    unwanted: Integers
    public: bytes


class Releasing(Telling):
    """How rounds are released, and what is known of releases."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._take_ready = (
            f"SELECT r.number, r.first, r.size, r.position, r.public {_READY} AND r.stream = ?{self._base.skip_locked}"
        )
        self._lock_stream = (
            f"SELECT {CLOSED}, begun - closed - 1, chain FROM sottovoce_streams "
            f"WHERE book = ? AND stream = ?{self._base.lock}"
        )

    def complete(self, streams: set[int]) -> set[int]:
        """Say which of these streams have a round to release: a look without a lock."""
        if len(streams) == 1:
            (stream,) = streams
            return streams if self._base.run(f"SELECT 1 {_READY} AND r.stream = ?", self._book, stream) else set()
        return streams & {stream for (stream,) in self._base.run(f"SELECT r.stream {_READY}", self._book)}

    def release(self, streams: set[int], compute: Compute) -> set[int]:
        """Release the oldest open round of each stream, if it is complete, once; erase its losses in the same step.

        Return those of which a round was released that other open ones follow.
        """
        drawn: list[_Drawn] = []

        def draw() -> bool:
            drawn.clear()
            for stream in sorted(streams):
                for number, first, size, position, public in self._base.run(self._take_ready, self._book, stream):
                    one = self._read_round(stream, number, first, size, position, public)
                    drawn.append(self._drawn(one, compute, bytes(public)))
            return bool(drawn)

        stored = self._locked(lambda head, steps: self._store(steps, drawn), first=draw)
        if stored is None:
            return set()
        closed, following = stored
        self._erase(closed)
        return following

    def _drawn(self, one: Round, compute: Compute, public: bytes) -> "_Drawn":
        """Return what is released of a round."""
        slots = self._gathered(one)
        marks = leading(slots)
        unwanted, missing = np.flatnonzero(marks == UNWANTED), np.flatnonzero(marks == MISSING)
        numbers = compute(one, slots)
        slots[:] = UNUSED
        return _Drawn(one, numbers, missing, unwanted, public)

    def _store(self, steps: Steps, drawn: list["_Drawn"]) -> tuple[int, set[int]]:
        """Add what stores releases; return how many rounds are closed then, and streams with others that are open."""
        following = set()
        for one, numbers, missing, unwanted, public in drawn:
            record = Record(missing=missing, unwanted=unwanted)
            if numbers is not None:
                record["numbers"] = np.asarray(numbers)
            mine = self._book, one.stream, one.number
            ((closed, later, chain),) = self._base.run(self._lock_stream, self._book, self._book, one.stream)
            steps += [
                ("DELETE FROM sottovoce_cells WHERE book = ? AND stream = ? AND round = ?", mine),
                ("UPDATE sottovoce_rounds SET open = 0 WHERE book = ? AND stream = ? AND number = ?", mine),
            ]
            told = one.size - len(unwanted) - len(missing)
            counts = told, len(missing), UNRELEASED if numbers is None else RELEASED
            self._add_release(steps, one, public, counts, pack(record), chain)
            if later:
                following.add(one.stream)
        return closed + len(drawn), following

    def _gathered(self, one: Round) -> Integers:
        """Return the slots of a round, if they are as they were told."""
        rows = self._base.run(
            "SELECT cell, seal, slots FROM sottovoce_cells WHERE book = ? AND stream = ? AND round = ? "
            f"ORDER BY cell{self._base.lock}",
            self._book,
            one.stream,
            one.number,
        )
        slots = self._slots.unpacked(b"".join([data for _, _, data in rows]))
        if len(slots) != one.size:
            raise StudyDamaged(f"round {one.number} has {len(slots)} slots, not {one.size}: restore a backup")
        for index, (cell, seal, _) in enumerate(rows):
            mine = slots[index << self._slots.bits : (index + 1) << self._slots.bits]
            marks = leading(mine)
            filled = (marks != PENDING) & (marks != UNWANTED)
            if seal_of((cell << self._slots.bits) + np.flatnonzero(filled), mine[filled]) != seal:
                raise StudyDamaged(f"losses of round {one.number} fail their checksum: restore a backup, restored=True")
        return slots

    # ------------------------------------------------------------------ what was released

    def releases(self, stream: int, known: int) -> Sequence[Release]:
        """Return what was released of a stream, from round `known` on; without numbers, where a round was dropped."""
        rows = self._base.run(
            "SELECT r.number, r.first, r.size, r.position, r.public, e.state, e.released FROM sottovoce_releases e "
            "JOIN sottovoce_rounds r ON r.book = e.book AND r.stream = e.stream AND r.number = e.round "
            "WHERE e.book = ? AND e.stream = ? AND e.round >= ? ORDER BY e.round",
            self._book,
            stream,
            known,
        )
        found = []
        for number, first, size, position, public, state, released in rows:
            record = unpacked(released, f"the release of round {number}")
            one = self._read_round(stream, number, first, size, position, public)
            wanted = size - len(record["unwanted"])
            found.append(Release(one, record.get("numbers"), record["missing"], wanted, state == DROPPED))
        return found

    def let_go(self, stream: int) -> None:
        """Let go of nothing: others may want it."""

    def closed(self) -> dict[int, int]:
        """Return how many rounds of each stream are closed."""
        return dict(self._base.run("SELECT stream, closed FROM sottovoce_streams WHERE book = ?", self._book))

    def tallied(self) -> tuple[int, int]:
        """Return how many losses of closed rounds were told, and how many are missing."""
        ((told, missing),) = self._base.run(
            "SELECT CAST(coalesce(sum(told), 0) AS bigint), CAST(coalesce(sum(missing), 0) AS bigint) "
            "FROM sottovoce_releases WHERE book = ?",
            self._book,
        )
        return told, missing

    def believed(self, known: Mapping[int, int]) -> dict[int, tuple[int, Record]]:
        """Return what is believed of streams, after more of their rounds than is known: how many, and a record."""
        learned = self._base.run(
            "SELECT stream, learned FROM sottovoce_streams WHERE book = ? AND believed IS NOT NULL", self._book
        )
        found = {}
        for stream, count in learned:
            if count > known.get(stream, -1):
                ((count, record),) = self._base.run(
                    "SELECT learned, believed FROM sottovoce_streams WHERE book = ? AND stream = ?", self._book, stream
                )
                found[stream] = count, unpacked(record, f"what is believed of stream {stream}")
        return found
