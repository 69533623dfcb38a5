"""What a study shows of itself: counts and released values only."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sottovoce._printed import Part, Printed
from sottovoce.domains.naming import as_name, as_plain, in_words
from sottovoce.learning.outstanding import WaitingRound, waiting_round
from sottovoce.models import FitCheck, Segment, segment_text

_SHOWN = 8  # segments, in print


@dataclass(frozen=True, eq=False)
class Status(Printed):
    """Where a study stands.

    Attributes
    ----------
    name, incarnation
        Of the study; the incarnation is 1 at first, and raised by a random step with every restoration of a backup: two
        restorations of one backup are two incarnations, and neither takes the ids of the other.
    round, open_rounds
        Rounds that are closed, and that are open.
    asked, told, forgotten, outstanding
        Events: handed out, with their loss, without it for good, and without it so far.
    remaining
        Events that are left to ask; None if the horizon is unknown.
    privacy
        The guarantee.
    spent
        The part of it that is spent: nothing before the first release, all of it after; under local privacy, by each
        report.
    point, chosen
        The point that actions are taken around at present; and the same in the names of the set, if it has any.
    erasure_pending
        Rounds whose losses are deleted, but may linger in the database's log until another process stops reading.
    patience, deadline
        How many events are asked, and how many seconds pass, before a full round closes without the losses it lacks;
        None for ever.
    waiting
        What the first open round waits for: see `WaitingRound`; None if no round is open.
    fit_check
        How well what was released fits the model of the losses; None if the plan has none, or nothing was released.
    segments
        Of a study with segments: each of them, with the events that were handed out for it.
    """

    name: str
    incarnation: int
    round: int
    open_rounds: int
    asked: int
    told: int
    forgotten: int
    outstanding: int
    remaining: int | None
    privacy: str
    spent: str
    point: NDArray[np.float64]
    erasure_pending: int
    patience: int | None
    deadline: float | None
    waiting: WaitingRound | None
    fit_check: FitCheck | None = None
    chosen: Any = None
    segments: tuple[tuple[Segment, int], ...] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that JSON can hold."""
        segments = self.segments and [{"segment": one, "events": events} for one, events in self.segments]
        more = {
            "waiting": self.waiting and self.waiting._asdict(),
            "fit_check": self.fit_check and vars(self.fit_check),
        }
        plain: dict[str, Any] = as_plain({**vars(self), **more, "segments": segments})
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """Return what `to_dict` has written.

        Parameters
        ----------
        plain
            What it returned.
        """
        waiting, fit_check, segments = (plain[name] for name in ("waiting", "fit_check", "segments"))
        read = {
            "point": np.array(plain["point"], dtype=np.float64),
            "waiting": waiting and waiting_round(waiting),
            "fit_check": fit_check and FitCheck(**fit_check),
        }
        if segments is not None:
            read["segments"] = tuple((as_name(one["segment"]), int(one["events"])) for one in segments)
        return cls(**{**plain, **read})

    @property
    def told_as(self) -> str:
        """What is told: "losses", or "reports" under local privacy."""
        return "reports" if "local differential privacy" in self.privacy else "losses"

    @property
    def waiting_words(self) -> str:
        """What the first open round waits for; and, where that holds up other rounds, what can be done."""
        if self.waiting is None:
            return ""
        words = str(self.waiting).replace("losses", self.told_as).replace("no loss", f"no {self.told_as}")
        advice = ". `outstanding` lists them; tell them, or `forget` those that will not come"
        return words + (advice if self.waiting.outstanding and self.open_rounds > 1 else "")

    @staticmethod
    def _segments(segments: tuple[tuple[Segment, int], ...]) -> str:
        shown = sorted(segments, key=lambda one: -one[1])[:_SHOWN]
        rest = f"; and {len(segments) - _SHOWN:,} smaller ones" if len(segments) > _SHOWN else ""
        return "; ".join(f"{segment_text(one)}: {events:,}" for one, events in shown) + rest

    def _parts(self) -> list[Part]:
        return [(f"Study {self.name!r}", self.rows)]

    @property
    def rows(self) -> tuple[tuple[str, str], ...]:
        """What it says: names and texts."""
        left = "" if self.remaining is None else f", {self.remaining:,} left"
        with np.printoptions(precision=4, suppress=True, threshold=20):
            point = str(self.point).replace("\n", " ") if self.chosen is None else in_words(self.chosen)
        rows = [
            ("rounds", f"{self.round:,} closed, {self.open_rounds:,} open (incarnation {self.incarnation})"),
            ("events", f"{self.asked:,} asked{left}"),
            *([("segments", self._segments(self.segments))] if self.segments else []),
            (self.told_as, f"{self.told:,} told, {self.outstanding:,} outstanding, {self.forgotten:,} forgotten"),
            *([] if self.waiting is None else [("waiting", self.waiting_words)]),
            ("privacy", self.privacy),
            ("spent", self.spent),
            *([("point", point)] if self.segments is None else []),  # each segment plays around one of its own
            *([] if self.fit_check is None else [("fit", self.fit_check.caution or str(self.fit_check))]),
        ]
        if self.erasure_pending:
            rows.append(("erasure", f"pending for {self.erasure_pending:,} rounds: retried with every call"))
        return tuple(rows)
