"""How far a run is: a bar of people served, if one is wished for."""

from types import TracebackType
from typing import Any


class Display:
    """A bar on the standard error stream, or nothing; use it as a context.

    Parameters
    ----------
    events
        People in all.
    shown
        Whether to show a bar.
    """

    def __init__(self, events: int, shown: bool) -> None:
        self._bars: Any = None
        if shown:
            from rich.console import Console  # slow to import
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
            self._bars = Progress(*columns, console=Console(stderr=True))
            self._bars.add_task("people served", total=events)

    def served(self, people: int) -> None:
        """Move the bar on."""
        if self._bars is not None:
            self._bars.advance(self._bars.task_ids[0], people)

    def __enter__(self) -> "Display":
        if self._bars is not None:
            self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bars is not None:
            self._bars.stop()
