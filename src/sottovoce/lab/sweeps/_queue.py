"""Which cell next: the one that should take longest, so that all processes end together."""

from collections.abc import Iterable

from sottovoce.lab.sweeps.cell import Cell

__all__ = ["CellQueue"]


class CellQueue:
    """Cells that are left, longest first, by what the finished ones took per event.

    An algorithm that was not seen yet on a problem is taken to be as slow as the slowest, so it is tried early.

    Examples
    --------
    >>> short, long = Cell("ball", "default", 1.0, 1_000, 0), Cell("ball", "default", 1.0, 100_000, 0)
    >>> schedule = CellQueue([short, long])
    >>> schedule.pick() == long, schedule.pick() == short, schedule.pick()
    (True, True, None)
    """

    def __init__(self, cells: Iterable[Cell]) -> None:
        self._left = list(cells)
        self._out: set[Cell] = set()  # handed out, and not finished
        self.seconds_finished = 0.0
        self._pace: dict[tuple[str, str], float] = {}  # seconds per event

    def learn(self, cell: Cell, seconds: float) -> None:
        """Note what a cell took."""
        self._pace[cell.problem, cell.algorithm] = seconds / cell.horizon

    def finish(self, cell: Cell, seconds: float) -> None:
        """Note that a cell that was handed out needs no more time, whatever came of it."""
        self._out.discard(cell)
        self.seconds_finished += seconds

    def seconds_of(self, cell: Cell) -> float:
        """Return what a cell should take."""
        slowest = max(self._pace.values(), default=1e-5)
        return cell.horizon * self._pace.get((cell.problem, cell.algorithm), slowest)

    def pick(self) -> Cell | None:
        """Hand out the cell that should take longest; the first such one."""
        if not self._left:
            return None
        best = max(range(len(self._left)), key=lambda place: (self.seconds_of(self._left[place]), -place))
        cell = self._left.pop(best)
        self._out.add(cell)
        return cell

    @property
    def seconds_left(self) -> float:
        """Return what the cells that are not finished should take together."""
        return sum(map(self.seconds_of, self._left)) + sum(map(self.seconds_of, self._out))
