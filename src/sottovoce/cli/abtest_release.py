"""What an A/B test has released, in a file beside its data: the same losses are not released a second time.

Every run of the command with fresh noise would cost the guarantee again. So what was released is written down before
anything of it is shown, and a later run reads it: the same rows give the same numbers, and rows that were added since
are released as the next stage of the schedule, each event in one number.

Rows that were released are passed over by their number. Were a row put above them, the last of them would be taken for
a new one and released again, under one charge. So of each arm the rows up to the end of each stage have a digest, under
a key that is drawn for the file alone; none but its owner reads the file.

While a run is releasing it holds the file `.partial`, which is made only if there is none: of two runs at once one is
refused. A run that was killed leaves it behind. Nothing it drew was seen by anybody then, so it may be removed.
"""

import itertools
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from sottovoce import __version__
from sottovoce._disk import sync_folder
from sottovoce.cli.abtest_table import Table
from sottovoce.cli.options import Options
from sottovoce.evaluations import PrivateEvaluations
from sottovoce.privacy import Ledger, LocalDP, SimulatedNoise, local, read_ledger
from sottovoce.stats import ReleasedMean
from sottovoce.stats.scale import scale_for

Numbers = list[dict[str, int]]


class ABTestRelease:
    """What is released of the rows of a file, one number for each arm and stage, and the file that keeps it.

    Parameters
    ----------
    path
        Of the file that keeps it.
    settings
        What the test is released with: public, and the same at every look.
    options
        The guarantee and the range, as values.
    """

    def __init__(self, path: Path, settings: dict[str, Any], options: Options) -> None:
        self.path, self._partial = path, path.with_name(f"{path.name}.partial")
        self._settings: dict[str, Any] = json.loads(json.dumps(settings))
        self._schedule: list[int] | None = self._settings["schedule"]
        self._range, self._guarantee = tuple(settings["loss_range"]), options.guarantee
        self._kind = options.channel or "one-bit"
        self._channel = None
        if isinstance(self._guarantee, LocalDP):
            self._channel = local.channel_for(self._guarantee, self._range, self._kind)
        self.privacy = self._evaluations(None).privacy
        self._read()

    # ------------------------------------------------------------------ the file

    def _read(self) -> None:
        self._text = self.path.read_text(encoding="utf-8") if self.path.exists() else None
        self._key, self._digests = secrets.token_bytes(32), dict[str, dict[str, str]]()
        self.stages: dict[str, Numbers] = {name: [] for name in self._settings["arms"]}
        if self._text is None:
            return
        try:
            plain = json.loads(self._text)
            settings, digests = plain["settings"], {name: dict(one) for name, one in plain["rows"].items()}
            stages: dict[str, Numbers] = {name: plain["released"][name] for name in settings["arms"]}
            numbers = [value for found in stages.values() for one in found for value in one.values()]
            complete = all({"events", "total"} <= set(one) for found in stages.values() for one in found)
            if not complete or not all(type(one) is int for one in numbers):
                raise TypeError
            key = bytes.fromhex(plain["key"])
        except (ValueError, TypeError, KeyError, AttributeError):
            raise ValueError(f"{self.path} does not hold what an A/B test has released, or is damaged") from None
        other = sorted(name for name in {*settings, *self._settings} if settings.get(name) != self._settings.get(name))
        if other:
            raise ValueError(
                f"{self.path} holds what was released before with another {', '.join(other)}. To release the same "
                "losses again costs the guarantee again: if that is meant, name another file with --released"
            )
        self._key, self._digests, self.stages = key, digests, stages

    @contextmanager
    def _claimed(self) -> Iterator[None]:
        """Hold the file, so that no other run releases the same rows."""
        try:
            os.close(os.open(self._partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            raise ValueError(
                f"{self._partial} is there: another run is releasing these rows, or was killed while it did. If none "
                "is running, remove it: nothing was shown of what it had drawn"
            ) from None
        self._holding = True
        try:
            if (self.path.read_text(encoding="utf-8") if self.path.exists() else None) != self._text:
                raise ValueError(f"another run has written {self.path} meanwhile; nothing was released: try again")
            yield
        finally:
            if self._holding:  # otherwise it may be another run's by now
                self._partial.unlink(missing_ok=True)

    def _keep(self, fresh: dict[str, Numbers], digests: dict[str, dict[str, str]]) -> None:
        """Write down what was released now, and of which rows, before anybody sees it."""
        stages = {name: [*found, *fresh[name]] for name, found in self.stages.items()}
        about = {"sottovoce": __version__, "settings": self._settings, "released": stages}
        known = {name: dict(list(one.items())[: len(stages[name])]) for name, one in digests.items()}
        with self._partial.open("w", encoding="utf-8") as out:
            out.write(json.dumps({**about, "key": self._key.hex(), "rows": known}, indent=2) + "\n")
            out.flush()
            os.fsync(out.fileno())
        self._holding = False  # before it is: an exception in between leaves it to be removed by hand
        self._partial.replace(self.path)
        sync_folder(self.path.absolute().parent)
        self.stages = stages

    # ------------------------------------------------------------------ what is released

    @property
    def results(self) -> dict[str, Any]:
        """What was released, for `ab_test`."""
        numbers, scale = itertools.count(), scale_for(self._range, self._guarantee, channel=self._kind)
        found = {
            name: [ReleasedMean(next(numbers), one["events"], one["total"], scale, one.get("squares")) for one in each]
            for name, each in self.stages.items()
        }
        return found if self._schedule else {name: stages[0] for name, stages in found.items()}

    def release(self, file: Path, ledger: Path | None) -> list[str]:
        """Release what can be, and is not yet; return what is to be said about the rest."""
        channel, begun = self._channel, self._text is not None
        table = Table(
            file,
            list(self.stages),
            column="loss" if channel is None else "report",
            missing=self._settings["missing"],
            valid=None if channel is None else lambda value: value == int(value) and channel.valid(int(value)),
            key=self._key,
            ends=[*itertools.accumulate(self._schedule or [])],
        )
        if any(
            table.digests[name].get(count) != one
            for name in self._digests
            for count, one in self._digests[name].items()
        ):
            raise ValueError(
                "rows that were released were changed, removed or reordered since, or others were put before them: "
                "to go on would release some of them again. Nothing was released. Put them back as they were, and "
                "add new rows below them"
            )
        done = {name: sum(one["events"] for one in found) for name, found in self.stages.items()}
        sizes, notes = self._due({name: len(values) - done[name] for name, values in table.values.items()})
        if any(sizes.values()):
            with self._claimed():
                evaluations = self._evaluations(None if begun else ledger)
                fresh = {
                    name: [self._told(evaluations, part) for part in _parts(values[done[name] :], sizes[name])]
                    for name, values in table.values.items()
                }
                self._keep(fresh, table.digests)
        elif not begun:
            raise ValueError(notes[0] if notes else "the file has no rows")
        return notes

    def _due(self, counts: dict[str, int]) -> tuple[dict[str, list[int]], list[str]]:
        """The sizes of the stages that are due, for each arm; and what is to be said."""
        if self._schedule is None:
            if self._text is not None:
                rest = ", ".join(f"{count:,} of {name}" for name, count in counts.items())
                later = f"Rows that were added since the release are not in it: {rest}."
                return {name: [] for name in counts}, [later] if any(counts.values()) else []
            empty = [name for name, count in counts.items() if not count]
            if empty:
                raise ValueError(f"arm {', '.join(empty)} has no rows")
            return {name: [count] for name, count in counts.items()}, []
        done, due = len(next(iter(self.stages.values()))), list[int]()
        for size in self._schedule[done:]:
            if min(counts.values()) < sum(due) + size:
                there = ", ".join(f"{min(count - sum(due), size):,} of {name}" for name, count in counts.items())
                number = done + len(due) + 1
                said = f"Stage {number} is released once each arm has {size:,} events; there are {there}."
                return dict.fromkeys(counts, due), [said]
            due.append(size)
        beyond = any(count > sum(due) for count in counts.values())
        return dict.fromkeys(counts, due), ["Rows beyond the schedule are not in it."] if beyond else []

    def _told(self, evaluations: PrivateEvaluations, values: Any) -> dict[str, int]:
        """Return what is released of losses, of which NaN counts as the middle of the range."""
        stage, values = evaluations.open(len(values)), np.asarray(values)
        told, missing = values[~np.isnan(values)], int(np.isnan(values).sum())
        if missing:
            stage.forget(stage.assign(size=missing))
        if len(told):
            stage.tell(told) if self._channel is None else stage.tell(report=told.astype(np.int64))
        one = stage.result
        squares = {} if one.squares is None else {"squares": one.squares}
        return {"events": one.events, "total": one.total, **squares}

    def _evaluations(self, ledger: Path | None) -> PrivateEvaluations:
        seed = self._settings["simulated_noise"]  # of the first stage: later ones have others
        stage = len(next(iter(self.stages.values()))) if hasattr(self, "stages") else 0
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


def _parts(values: Any, sizes: list[int]) -> Iterator[Any]:
    ends = [0, *itertools.accumulate(sizes)]
    return (values[start:end] for start, end in itertools.pairwise(ends))
