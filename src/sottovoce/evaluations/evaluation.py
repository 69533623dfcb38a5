"""One evaluation: people who meet the same parameters, and the mean of what they lose."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from sottovoce._checks import whole
from sottovoce.errors import NotReleased, StorageError
from sottovoce.rounds.people import people_for
from sottovoce.stats.released_mean import ReleasedMean

if TYPE_CHECKING:
    from sottovoce.evaluations.private_evaluations import PrivateEvaluations


class State(NamedTuple):
    """Places of an evaluation: all, those that are taken, those left to take. Once it is over: its mean, if it has one.

    `order` is then how many were over before it.
    """

    events: int
    assigned: int
    remaining: int
    over: bool = False
    mean: ReleasedMean | None = None
    order: int = -1


class Evaluation:
    """The losses of people who meet the same parameters; made by `PrivateEvaluations.open`.

    It has a place for each event. People take places by `assign`, which returns an id, or with their loss, by `tell`.
    Once all places have their loss, or are forgotten, one number is released, and the losses are erased: it is closed.

    Parameters
    ----------
    all
        The evaluations that it is one of.
    number
        Its number.
    """

    def __init__(self, all: "PrivateEvaluations", number: int) -> None:
        self._all, self._number = all, number

    # ------------------------------------------------------------------ assigning and telling

    @overload
    def assign(self, size: None = None, *, person: str | None = None) -> Any: ...

    @overload
    def assign(self, size: int, *, person: Sequence[str] | None = None) -> NDArray[Any]: ...

    def assign(self, size: int | None = None, *, person: str | Sequence[str] | None = None) -> Any:
        """Give the next person a place here, or the next `size` of them; return the id of each.

        For people whom coins should spread over several evaluations call `PrivateEvaluations.assign`.

        Parameters
        ----------
        size
            How many people; None for one, whose id is returned by itself.
        person
            Who it is, or a list of them, so that people are counted: as for `PrivateEvaluations.assign`.
        """
        ids = [one for one, _ in self.take(size, person)]
        return ids[0] if size is None else np.asarray(ids)

    def take(self, size: int | None, person: Any) -> list[tuple[Any, bool]]:
        """Assign people by `size` and `person` as `assign` does; return each id, and whether its loss is wanted."""
        count = None if size is None else whole("size", size)
        met = self._all._assign(self._number, count or 1, people_for(count, person))
        return [(one, wanted) for _, one, wanted in met]

    def tell(
        self,
        losses: Any = None,
        *,
        ids: Any = None,
        person: str | Sequence[str] | None = None,
        report: Any = None,
        late: str = "error",
    ) -> None:
        """Report a loss, or a block of them: any order, any split, all or nothing.

        Without ids the losses are those of the next people, who are assigned first. Losses outside the range are
        clipped without a word. NaN and infinity are refused, without showing them: a person whose loss cannot be mended
        has had a place nonetheless, so call `forget(assign())`. A loss that comes after its place was forgotten, or
        after the evaluation ran out of patience, is refused (`RoundClosed`), and with it the whole call.

        Parameters
        ----------
        losses
            A number, or an array of them: one for each person. Of a slate, it is what all of its items lost.
        ids
            What `assign` returned for each of these people; None for people who were not assigned before.
        person
            Who people are that were not assigned before, where they are counted: one for each loss.
        report
            In place of losses under `LocalDP`: what `sv.local.privatise(loss, evaluations.channel)` returned for each.
        late
            "error" refuses a call with losses that come too late, "drop" drops those.
        """
        if ids is not None and person is not None:
            raise TypeError("person= is for people who were not assigned before: ids say whose losses these are")
        self._all._take_in(self._number, ids, losses, report, late, person)

    def forget(self, ids: Any) -> int:
        """Close places whose loss will never come: each counts as the middle of the range, whatever it was.

        What is told or forgotten already is skipped. Returns how many were closed.

        Parameters
        ----------
        ids
            What `assign` returned, one or an array of them.
        """
        return self._all._forget_in(self._number, ids)

    def close(self) -> None:
        """Close the evaluation now, and release its mean over the people who were assigned so far.

        Losses of theirs that are missing count as the middle of the range; places that nobody took do not count. When
        to call this must not depend on losses that are not released. What is closed stays as it is.
        """
        self._all._finish(self._number, drop=False)

    def abandon(self) -> None:
        """Drop the evaluation: its losses are erased, nothing of them is ever released, and nobody else is assigned.

        For what went wrong, an error halfway say: had somebody's loss decided that, a mean of those who came before
        would not be private. Those people count as having taken part. What is closed stays as it is.
        """
        self._all._finish(self._number, drop=True)

    # ------------------------------------------------------------------ what is released

    @property
    def result(self) -> ReleasedMean:
        """What was released, with all that follows from it; an error before it is closed."""
        found = self._state
        if found.mean is not None:
            return found.mean
        if found.over:
            raise NotReleased(f"evaluation {self.number} was abandoned: nothing of it is released")
        raise NotReleased(
            f"evaluation {self.number} is open, so nothing of it is released: {found.remaining} of its {found.events} "
            f"places are not taken, and {len(self.outstanding)} that are have no loss. close() ends it with what it has"
        )

    @property
    def mean(self) -> float:
        """The mean loss with its noise: the same number whenever it is read; an error before it is closed."""
        return self.result.mean

    @property
    def standard_error(self) -> float:
        """Standard error of the mean, the noise of privacy in it; an error before it is closed."""
        return self.result.standard_error

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return an interval for the mean loss, with the noise of privacy in it; an error before it is closed.

        Parameters
        ----------
        confidence
            How often intervals made in this way hold the truth.
        """
        return self.result.interval(confidence)

    # ------------------------------------------------------------------ looking

    @property
    def number(self) -> int:
        """Its number: 0 for the first that was opened."""
        return self._number

    @property
    def _state(self) -> State:
        return self._all._state(self._number)

    @property
    def events(self) -> int:
        """How many places it has."""
        return self._state.events

    @property
    def assigned(self) -> int:
        """How many of them are taken."""
        return self._state.assigned

    @property
    def remaining(self) -> int:
        """How many are left to take; none once it is closed."""
        return self._state.remaining

    @property
    def closed(self) -> bool:
        """Whether its mean is released."""
        return self._state.mean is not None

    @property
    def abandoned(self) -> bool:
        """Whether it was dropped, so that it has no mean and never will."""
        found = self._state
        return found.over and found.mean is None

    @property
    def outstanding(self) -> NDArray[Any]:
        """Ids of people who took a place, and whose loss is neither told nor forgotten."""
        return self._all._waiting(self._number)

    def __repr__(self) -> str:
        try:
            state = "abandoned" if self.abandoned else "open"
            found = f"mean={self.mean:.4g}" if self.closed else f"assigned={self.assigned}, {state}"
            return f"Evaluation({self.number}, events={self.events}, {found})"
        except StorageError:
            return f"Evaluation({self.number}, of a connection that is closed)"


@dataclass(frozen=True)
class Assignment:
    """Where a person was assigned to; unpacked, the evaluation and the id.

    Attributes
    ----------
    evaluation
        Whose parameters the person meets.
    id
        What the loss is told with: a whole number; of evaluations in a storage, a short text.
    wants_loss
        False for a person who has given all their losses, where people are counted: what is told is dropped unread.
    """

    evaluation: Evaluation
    id: Any
    wants_loss: bool = True

    def __iter__(self) -> Iterator[Any]:
        return iter((self.evaluation, self.id))
