"""What an `Evaluation` needs of whoever keeps it: in memory (_books.py) or in a storage (stored/)."""

from collections.abc import Sequence
from typing import Any, Protocol

from numpy.typing import NDArray

from sottovoce.evaluations._setting import Setting
from sottovoce.evaluations.released_mean import ReleasedMean

__all__ = ["Keeping", "KeepingHere", "Places", "Terms"]


class Places(Protocol):
    """The places of one evaluation, as far as they are public."""

    handle: Any  # what users have of it

    @property
    def number(self) -> int:
        """Of the evaluation."""

    @property
    def size(self) -> int:
        """How many places there are."""

    @property
    def assigned(self) -> int:
        """How many of them are taken."""

    @property
    def room(self) -> int:
        """How many are left to take."""

    @property
    def abandoned(self) -> bool:
        """Whether nothing of it will ever be released."""


class Terms(Protocol):
    """What evaluations have in common, as far as a single one needs to know."""

    def told(self, losses: Any, report: Any) -> Any:
        """Return what a call has brought, losses or reports; refuse what is not for the guarantee."""


class Keeping(Protocol):
    """Keeps evaluations: ids, losses, releases. Places are those that it has made itself."""

    @property
    def setting(self) -> Terms:
        """What all of them have in common."""

    @property
    def assigned(self) -> int:
        """Ids that were handed out."""

    @property
    def still_open(self) -> Sequence[Any]:
        """The places of the evaluations that are open."""

    def assign(self) -> tuple[Any, Any]:
        """Hand out the next id, for the evaluation whose turn it is; return its places, and the id."""

    def assign_to(self, one: Any, size: int) -> Sequence[Any]:
        """Hand out the next ids, all for one evaluation."""

    def tell(self, one: Any, ids: Any, losses: NDArray[Any], late: str) -> None:
        """Take in losses, for ids or for the next places."""

    def forget(self, one: Any, ids: Any) -> int:
        """Close places without their losses; return how many."""

    def close(self, one: Any) -> None:
        """Close an evaluation with what it has."""

    def abandon(self, one: Any) -> None:
        """Drop an evaluation: nothing of it is ever released."""

    def result(self, one: Any) -> ReleasedMean | None:
        """Return what an evaluation has released; None if it is open."""

    def results(self) -> tuple[ReleasedMean, ...]:
        """Return what was released, in the order in which it was."""

    def waiting(self, one: Any) -> NDArray[Any]:
        """Return the ids of an evaluation that were handed out, and have no loss."""


class KeepingHere(Keeping, Protocol):
    """Keeps evaluations in this process: the setting is all here."""

    @property
    def setting(self) -> Setting:
        """What all of them have in common."""
