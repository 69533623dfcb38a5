"""Calls of tell that arrive together: what each tells, and what came of it."""

from typing import Any, NamedTuple

from sottovoce.rounds.book import Recorded


class TellCall(NamedTuple):
    """One call of tell, among others: as for `Study.tell`.

    Attributes
    ----------
    ids, losses, report, late
        As the arguments of `Study.tell`.
    """

    ids: Any
    losses: Any = None
    report: Any = None
    late: str = "error"

    def __repr__(self) -> str:
        return f"TellCall(late={self.late!r})"  # losses are never in print


Outcomes = list[Recorded | Exception]
