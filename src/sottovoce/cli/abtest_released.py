"""What an A/B test has released, in a file beside its data: the same losses are not released a second time.

Every run of the command with fresh noise would cost the guarantee again. So what was released is written down before
anything of it is shown, and a later run reads it: the same rows give the same numbers, and rows that were added since
are released as the next stage of the schedule, each event in one number.

While a run is releasing it holds the file `.partial`, which is made only if there is none: of two runs at once one is
refused. A run that was killed leaves it behind. Nothing it drew was seen by anybody then, so it may be removed.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sottovoce import __version__
from sottovoce._disk import sync_folder

__all__ = ["Released"]

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

    def keep(self, fresh: dict[str, Numbers]) -> None:
        """Write down what was released now, before anybody sees it."""
        stages = {name: [*found, *fresh[name]] for name, found in self.stages.items()}
        plain = {"sottovoce": __version__, "settings": self._settings, "released": stages}
        with self._partial.open("w", encoding="utf-8") as out:
            out.write(json.dumps(plain, indent=2) + "\n")
            out.flush()
            os.fsync(out.fileno())
        self._holding = False  # before it is: an exception in between leaves it to be removed by hand
        self._partial.replace(self.path)
        sync_folder(self.path.absolute().parent)
        self.begun, self.stages = True, stages

    def _read(self) -> None:
        try:
            text = self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            self.begun, self.stages = False, self._nothing()
            return
        try:
            plain = json.loads(text)
            settings, stages = plain["settings"], {name: plain["released"][name] for name in plain["settings"]["arms"]}
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
        self.begun, self.stages = True, stages
