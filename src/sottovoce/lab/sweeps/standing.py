"""How a sweep stands while it runs."""

from dataclasses import dataclass, field

from sottovoce.lab.sweeps.cell import Cell, Result


@dataclass
class Standing:
    """How a sweep stands, for a progress display.

    Attributes
    ----------
    cells, done, failed
        Cells in all, finished ones (those of earlier times too), and failed ones.
    events_done, events_total
        Of the cells that this call runs.
    seconds_left
        A guess, from what other cells took.
    latest
        The result that came last, if any.
    running
        Cells that are being run: events done, and when it began.

    Examples
    --------
    >>> standing = Standing(cells=10, done=4, failed=1)
    >>> standing.left
    5
    """

    cells: int
    done: int
    failed: int = 0
    events_done: int = 0
    events_total: int = 0
    seconds_left: float | None = None
    latest: Result | None = None
    running: dict[Cell, tuple[int, float]] = field(default_factory=dict)

    @property
    def left(self) -> int:
        """Cells that are neither done nor failed."""
        return self.cells - self.done - self.failed

    @property
    def events(self) -> int:
        """Events done, those of running cells included."""
        return self.events_done + sum(done for done, _ in self.running.values())
