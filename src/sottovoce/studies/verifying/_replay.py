"""A stream learned again from its released rounds alone: what is stored as believed must follow from them."""

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sottovoce._records import Record, part
from sottovoce.errors import SottovoceError
from sottovoce.learning.epoch import next_length
from sottovoce.learning.pooled_policy import POOL, shares_rounds
from sottovoce.plans.choosing import check_plan
from sottovoce.plans.plan import Plan
from sottovoce.privacy import MECHANISMS
from sottovoce.rounds.stores.sql.verify import MALFORMED, CheckedBook, StreamRow
from sottovoce.studies.verifying._epochs import EpochReplay, ReplaySetting

_POSITIONS = ("plain", "rounded")
_FACTS = ("passed", "begun", "learned", "epochs", "played", "point", "planned")
_OF_SEGMENTS = ("variance_shares", "variance_shares_learned")
_OF_POOL = ("pooled", "own")


def check_design(book: CheckedBook, made: Record, plan: Plan) -> None:
    """Check that coordinates are those of a design: S its covariance, W S W' = 1 and W F = 1."""
    design = part(made, "design")
    if plan.position != "rounded":
        book.expect(not design, "coordinates are stored that the plan does not need")
        return
    vertices, weights, whitening = design["vertices"], design["weights"], design["whitening"]
    offsets, unit = vertices - design["mean"], np.eye(len(whitening))
    white = offsets @ whitening.T
    sound = (
        math.isclose(float(weights.sum()), 1.0, abs_tol=1e-6)
        and bool((weights > 0).all())
        and np.allclose(weights @ offsets, 0.0, atol=1e-6)
        and np.allclose((white.T * weights) @ white, unit, atol=1e-6)
        and np.allclose(whitening @ design["factor"], unit, atol=1e-6)
    )
    book.expect(sound, "the coordinates are not those of their design")


@dataclass
class StreamReplay:
    """Replays a stream, epoch by epoch.

    Parameters
    ----------
    book
        That was looked at; faults are added to its own.
    setting
        Of the study.
    row
        Of the stream.
    record
        What is stored of it, if a round has begun.
    """

    book: CheckedBook
    setting: ReplaySetting
    row: StreamRow
    record: Record | None
    epochs: list[EpochReplay] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._rounds = [one for one in self.book.rows.rounds if one.stream == self.row.stream]

    def replay(self) -> None:
        """Go through all epochs; nothing can be learned from rows that are damaged or out of order."""
        sound = not self.book.faults
        try:
            self._replay()
        except (SottovoceError, *MALFORMED) as reason:
            if sound and not self.book.faults:
                self.book.faults.append(f"the released rounds cannot be learned from again: {type(reason).__name__}")

    def _replay(self) -> None:
        record, expect = self.record, self.book.expect
        if not expect(
            (record is not None) == bool(self._rounds), "what is believed is not stored, or nothing is to be"
        ):
            return
        if record is None:
            expect(self.row.learned == 0, "nothing is believed, and it says how new that is")
            return
        plans = self._plans(record)
        self._check_record(record)
        mine: dict[int, list[Any]] = {before: [] for before in plans}
        for one in self._rounds:
            before, number = (self.book.public[one.key][name] for name in ("before", "set"))
            what = self.book.what(*one.key)
            if not expect(number in plans.get(before, {}), f"{what} is of an epoch that is not stored"):
                return
            mine[before].append(one)
        for before, of_sets in plans.items():
            sound = all(self._check_plan(before, number, plan) for number, plan in of_sets.items())
            if not sound or not expect(bool(mine[before]), f"the epoch of event {before} is empty"):
                return
            previous = self.epochs[-1] if self.epochs else None
            stored = sum(self._is_taken(one) for one in mine[before] if one.number < record["learned"])
            epoch = EpochReplay(self.book, self.setting, of_sets, before, mine[before], previous, stored)
            self.epochs.append(epoch)
            epoch.check_rounds()
        self._check_epochs(record, dict(zip(mine, self.epochs, strict=True)), mine)

    def _plans(self, record: Record) -> dict[int, dict[int, Plan]]:
        """Return the plans that are stored, by the events before their epoch, and the sets that it played."""
        plans: dict[int, dict[int, Plan]] = {}
        for before, number, plan in record["planned"]:
            plans.setdefault(before, {})[number] = Plan.from_dict(plan)
        count = sum(map(len, plans.values()))
        self.book.expect(count == len(record["planned"]), "a plan is stored twice")
        return plans

    def _is_taken(self, one: Any) -> bool:
        """Whether a round is learned from, or passed over: not the last of an epoch, which nothing follows from."""
        closed = one.key in self.book.released
        return closed and (not self.book.public[one.key]["last"] or one.key in self.book.dropped)

    def _check_record(self, record: Record) -> None:
        """Check what is stored with a belief: how many rounds had begun, and were learned from, and their events."""
        row, expect, newest = self.row, self.book.expect, self._rounds[-1]
        own = {name for name in record if not name.startswith(("epoch", "prior.")) or name == "epochs"}
        expected = {*_FACTS, *(() if self.setting.problem.segments is None else _OF_SEGMENTS)}
        if shares_rounds(self.setting.problem):
            expected |= {"apart", *(_OF_POOL if row.stream == POOL else ())}
        expect(own == expected, "what is believed is incomplete")
        expect(
            row.learned == record["begun"] + record["learned"], "how new a belief is does not follow from its rounds"
        )
        expect(
            record["begun"] == row.begun,
            f"{record['begun']} rounds had begun when a belief was stored, not {row.begun}",
        )
        expect(0 <= record["learned"] <= row.closed, f"{record['learned']} rounds were learned from, of {row.closed}")
        public = self.book.public[newest.key]
        same = record["played"] == public["before"] and np.array_equal(record["point"], public["point"])
        expect(same, "the point that is stored with a belief is not that of the newest round")
        left_out = newest.position + newest.size - record["passed"]
        cut = newest.key in self.book.dropped
        expect(
            left_out <= 0 if cut else left_out == 0, f"{record['passed']} events of rounds have passed, which cannot be"
        )

    def _check_plan(self, before: int, number: int, plan: Plan) -> bool:
        """Check that a plan is as long as its epoch, and keeps the guarantee of the study."""
        what, expect, length = (
            f"the epoch of event {before}",
            self.book.expect,
            next_length(self.setting.horizon, before),
        )
        follows = before == sum(self._lengths_before(before))
        whole = expect(follows and plan.horizon == length, f"{what} has {plan.horizon} events, not {length}")
        known = plan.mechanism in MECHANISMS and plan.position in _POSITIONS
        expect(known, f"{what}: its plan names a mechanism or a position that there is not")
        try:
            check_plan(replace(self.setting.problems[number], horizon=plan.horizon), plan)
        except ValueError as refused:
            self.book.faults.append(f"{what}: {refused}")
            return False
        return whole

    def _lengths_before(self, before: int) -> list[int]:
        assert self.record is not None
        found = {first: Plan.from_dict(plan).horizon for first, _, plan in self.record["planned"] if first < before}
        return list(found.values())

    def _check_epochs(self, record: Record, epochs: dict[int, EpochReplay], mine: dict[int, list[Any]]) -> None:
        """Check what is stored of epochs: those that rounds are open of, that know most, and the current one."""
        kept = [part(record, f"epoch{place}") for place in range(record["epochs"])]
        names = {name.partition(".")[0] for name in record if name.startswith("epoch") and name != "epochs"}
        self.book.expect(len(names) == len(kept), "epochs are stored that are none")
        befores = [one["before"] for one in kept]
        fits = bool(kept) and befores == sorted(set(befores)) and befores[-1] == max(mine) and set(befores) <= set(mine)
        self.book.expect(fits, "what is believed is of epochs that there are not")
        for one in kept:
            rounds = mine[one["before"]]
            first = self.book.public[rounds[0].key]
            place = rounds[0].number, first["after"], self.book.public[rounds[-1].key]["set"]
            words = f"the epoch of event {one['before']} is stored in another's place"
            self.book.expect((one["earlier"], one["after"], one["set"]) == place, words)
            opened = sum(row.number < record["begun"] for row in rounds)
            epochs[one["before"]].compare(part(one, "learned"), opened)
