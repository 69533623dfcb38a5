"""From rows of a file to what is released of them: one number for each arm and stage."""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sottovoce.cli.abtest_record import Witness
from sottovoce.cli.abtest_released import Numbers, Released
from sottovoce.cli.abtest_rows import Row, Rows
from sottovoce.cli.options import Options
from sottovoce.evaluations import Evaluation, PrivateEvaluations
from sottovoce.privacy import Ledger, LocalDP, PrivacyStatement, SimulatedNoise, local, read_ledger
from sottovoce.stats import ReleasedMean
from sottovoce.stats.scale import scale_for

_BLOCK = 4096  # losses that are told together


class Releasing:
    """Releases what is not released yet.

    Parameters
    ----------
    settings
        What the test is released with: public, and the same at every look.
    options
        The guarantee and the range, as values.
    """

    def __init__(self, settings: dict[str, Any], options: Options) -> None:
        self._settings = settings
        self._guarantee, self._range = options.guarantee, tuple(settings["loss_range"])
        kind = options.channel or "one-bit"
        self._scale = scale_for(self._range, self._guarantee, channel=kind)
        self._kind = kind
        self.channel = (
            local.channel_for(self._guarantee, self._range, kind) if isinstance(self._guarantee, LocalDP) else None
        )
        self.privacy: PrivacyStatement = self._evaluations(None, 0).privacy

    @property
    def valid_report(self) -> Any:
        """What says whether a value is a report; None if losses are told."""
        channel = self.channel
        return None if channel is None else lambda value: value == int(value) and channel.valid(int(value))

    def results(self, kept: Released) -> dict[str, Any]:
        """Return what was released, for `ab_test`."""
        numbers = itertools.count()
        found = {
            name: [
                ReleasedMean(next(numbers), one["events"], one["total"], self._scale, one.get("squares"))
                for one in stages
            ]
            for name, stages in kept.stages.items()
        }
        return found if self._settings["schedule"] else {name: stages[0] for name, stages in found.items()}

    def release(self, rows: Rows, kept: Released, ledger: Path | None) -> list[str]:
        """Release what can be, and is not yet; return what is to be said about the rest."""
        sizes, notes = self._due(self._count(rows, kept), kept)
        if any(sizes):
            with kept.claimed():
                sizes, notes = self._due(self._count(rows, kept), kept)  # what another run has released meanwhile is
                if any(sizes):
                    kept.keep(*self._tell(rows, kept, sizes, None if kept.begun else ledger))
        if not kept.begun:
            raise ValueError(notes[0] if notes else "the file has no rows")
        return notes

    def _skip(self, kept: Released) -> list[int]:
        return [sum(one["events"] for one in stages) for stages in kept.stages.values()]

    def _count(self, rows: Rows, kept: Released) -> list[int]:
        """Count the rows of each arm that are not released, and look at each; and see that the others are the same."""
        counts = [0] * len(kept.stages)
        for row in self._read(rows, kept, [[] for _ in counts])[0]:
            counts[row.arm] += 1
        return counts

    def _read(self, rows: Rows, kept: Released, more: list[list[int]]) -> tuple[Iterator[Row], Witness]:
        """Return the rows that are not released, and who sees all of them, up to the ends of `more` stages."""
        stages = [
            [*(one["events"] for one in found), *due] for found, due in zip(kept.stages.values(), more, strict=True)
        ]
        witness = kept.rows.witness([[*itertools.accumulate(one)] for one in stages])

        def read() -> Iterator[Row]:
            yield from rows.read(self._skip(kept), witness.see)
            if self._settings["schedule"] is not None:  # otherwise nothing more is released
                kept.rows.check(witness)

        return read(), witness

    def _due(self, counts: list[int], kept: Released) -> tuple[list[list[int]], list[str]]:
        """The sizes of the stages that are due, for each arm; and what is to be said."""
        planned, names = self._settings["schedule"], list(kept.stages)
        rest = ", ".join(f"{count:,} of {name}" for count, name in zip(counts, names, strict=True))
        if planned is None:
            if kept.begun:
                later = f"Rows that were added since the release are not in it: {rest}."
                return [[] for _ in names], [later] if any(counts) else []
            empty = [name for count, name in zip(counts, names, strict=True) if not count]
            if empty:
                raise ValueError(f"arm {', '.join(empty)} has no rows")
            return [[count] for count in counts], []
        done = len(kept.stages[names[0]])
        due: list[int] = []
        for size in planned[done:]:
            if min(counts) < sum(due) + size:
                break
            due.append(size)
        over = [count - sum(due) for count in counts]
        notes = []
        if done + len(due) < len(planned):
            size = planned[done + len(due)]
            there = ", ".join(f"{min(left, size):,} of {name}" for left, name in zip(over, names, strict=True))
            notes.append(
                f"Stage {done + len(due) + 1} is released once each arm has {size:,} events; there are {there}."
            )
        elif any(over):
            notes.append("Rows beyond the schedule are not in it.")
        return [list(due) for _ in names], notes

    def _tell(
        self, rows: Rows, kept: Released, sizes: list[list[int]], ledger: Path | None
    ) -> tuple[dict[str, Numbers], Witness]:
        evaluations = self._evaluations(ledger, len(next(iter(kept.stages.values()))))
        arms = [_Arm(evaluations, each, report=self.channel is not None) for each in sizes]
        unread, witness = self._read(rows, kept, sizes)
        for row in unread:
            arms[row.arm].take(row)
        found = {}
        for name, arm in zip(kept.stages, arms, strict=True):
            arm.finish()
            if not all(one.closed for one in arm.stages):
                raise ValueError("the file changed while it was read; nothing was released")
            found[name] = [_plain(one.result) for one in arm.stages]
        return found, witness

    def _evaluations(self, ledger: Path | None, stage: int) -> PrivateEvaluations:
        seed = self._settings["simulated_noise"]  # of the first stage: later ones have others
        return PrivateEvaluations(
            self._range,
            self._guarantee,
            noise=None if seed is None else SimulatedNoise(seed + stage),
            patience=None,  # all that is there is told at once
            channel=self._kind,
            variance=self._settings["variance"],
            ledger=None if ledger is None else Ledger(read_ledger(ledger).budget, ledger),
            name=self._settings["charge"],
        )


def _plain(one: ReleasedMean) -> dict[str, int]:
    squares = {} if one.squares is None else {"squares": one.squares}
    return {"events": one.events, "total": one.total, **squares}


class _Arm:
    """The evaluations of an arm, one for each stage, and losses on their way to them."""

    def __init__(self, evaluations: PrivateEvaluations, sizes: list[int], *, report: bool) -> None:
        self.stages: list[Evaluation] = [evaluations.open(size) for size in sizes]
        self._report, self._waiting = report, list[Row]()
        ends = [0, *(sum(sizes[: place + 1]) for place in range(len(sizes)))]
        self._ends, self._taken = list(itertools.pairwise(ends)), 0

    def take(self, row: Row) -> None:
        """Take in the next row; what lies beyond the last stage is dropped unread."""
        if self._taken < (self._ends[-1][1] if self._ends else 0):
            self._waiting.append(row)
            self._taken += 1
            full = any(self._taken == end for _, end in self._ends)
            if full or len(self._waiting) == _BLOCK:
                self.finish()

    def finish(self) -> None:
        """Tell what is waiting: all of it belongs to one stage."""
        if not self._waiting:
            return
        stage = next(one for one, (_, end) in zip(self.stages, self._ends, strict=True) if self._taken <= end)
        values = [row.value for row in self._waiting]
        missing = sum(value is None for value in values)
        told = [value for value in values if value is not None]
        self._waiting = []
        if missing:
            stage.forget(stage.assign(size=missing))
        if told:
            if self._report:
                stage.tell(report=told)
            else:
                stage.tell(told)
