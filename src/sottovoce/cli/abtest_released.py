"""What an A/B test has released, in a file beside its data: the same losses are not released a second time.

Every run of the command with fresh noise would cost the guarantee again. So what was released is written down before
anything of it is shown, and a later run reads it: the same rows give the same numbers, and rows that were added since
are released as the next stage of the schedule, each event in one number.

While a run is releasing it holds the file `.partial`, which is made only if there is none: of two runs at once one is
refused. A run that was killed leaves it behind. Nothing it drew was seen by anybody then, so it may be removed. Once
the record of the rows (abtest_record.py) knows of it, it is what was released, and the next run puts it in its place.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sottovoce import __version__
from sottovoce._disk import sync_folder
from sottovoce.cli.abtest_record import RowRecord, Witness

Numbers = list[dict[str, int]]


class Released:
    """The file of what a test has released.

    Parameters
    ----------
    path
        Of the file.
    settings
        What was asked for: what a file was written with must be the same.
    """

    def __init__(self, path: Path, settings: dict[str, Any]) -> None:
        self.path = path
        self._partial = path.with_name(f"{path.name}.partial")
        self._settings: dict[str, Any] = json.loads(json.dumps(settings))
        self.rows = RowRecord(path.with_name(f"{path.name}.rows"))
        self.begun, self.stages = False, self._nothing()
        self._holding = False
        self._read()

    def _nothing(self) -> dict[str, Numbers]:
        return {name: [] for name in self._settings["arms"]}

    @contextmanager
    def claimed(self) -> Iterator[None]:
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
            self._read()  # another run may have finished in between
            yield
        finally:
            if self._holding:  # otherwise it may be another run's by now
                self._partial.unlink(missing_ok=True)

    def keep(self, fresh: dict[str, Numbers], witness: Witness) -> None:
        """Write down what was released now, and of which rows, before anybody sees it.

        Parameters
        ----------
        fresh
            What was released, by arm.
        witness
            Of all rows up to the last that was released.
        """
        stages = {name: [*found, *fresh[name]] for name, found in self.stages.items()}
        plain = {"sottovoce": __version__, "settings": self._settings, "released": stages}
        text = json.dumps(plain, indent=2) + "\n"
        with self._partial.open("w", encoding="utf-8") as out:
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        self._holding = False  # before it is: an exception in between leaves it to be removed by hand
        self.rows.write(witness, text)
        self._finish()
        self.begun, self.stages = True, stages

    def _finish(self) -> None:
        """Put what was drawn in its place; another run may have done so."""
        with suppress(FileNotFoundError):
            self._partial.replace(self.path)
        sync_folder(self.path.absolute().parent)

    def _read(self) -> None:
        """Read what was released, and see that it is all that was."""
        while True:
            self.rows.read()
            text = _text(self.path)
            self.begun, self.stages = text is not None, self._nothing() if text is None else self._stages(text)
            if self.rows.knows(text):
                return
            drawn = _text(self._partial)
            if drawn is not None and self.rows.knows(drawn):  # its run was killed before the last step, or is there now
                self._finish()
            elif not self.rows.read() and _text(self.path) == text:  # or another run is at work
                break
        if self.rows.there:
            raise ValueError(
                f"{self.path} is not what was released last, as {self.rows.path.name} has it: rows would be released "
                "again. Nothing was released; put the newest one back"
            )
        if self._settings.get("schedule") is not None:
            raise ValueError(
                f"{self.rows.path} is gone, and with it the record of which rows were released: others may stand in "
                "their place. Nothing was released; put it back"
            )

    def _stages(self, text: str) -> dict[str, Numbers]:
        try:
            plain = json.loads(text)
            settings = plain["settings"]
            stages: dict[str, Numbers] = {name: plain["released"][name] for name in settings["arms"]}
            numbers = [value for found in stages.values() for one in found for value in one.values()]
            complete = all({"events", "total"} <= set(one) for found in stages.values() for one in found)
            if not complete or not all(type(one) is int for one in numbers):
                raise TypeError
        except (ValueError, TypeError, KeyError):
            raise ValueError(f"{self.path} does not hold what an A/B test has released, or is damaged") from None
        other = sorted(name for name in {*settings, *self._settings} if settings.get(name) != self._settings.get(name))
        if other:
            raise ValueError(
                f"{self.path} holds what was released before with another {', '.join(other)}. To release the same "
                "losses again costs the guarantee again: if that is meant, name another file with --released"
            )
        return stages


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
