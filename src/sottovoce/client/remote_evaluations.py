"""Evaluations behind a service: the same calls as `PrivateEvaluations`, over HTTP."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.client._answers import read
from sottovoce.client._remote import Remote
from sottovoce.client._wire import checked_ids
from sottovoce.errors import NotReleased
from sottovoce.evaluations.evaluation import Counts, Evaluation, Evaluations
from sottovoce.privacy.local import OneBitChannel
from sottovoce.rounds.book import Recorded
from sottovoce.rounds.people import plain_people
from sottovoce.stats.released_mean import ReleasedMean
from sottovoce.stats.scale import Scale


class RemoteEvaluations(Remote, Evaluations):
    """Evaluations that a service holds: made by `sottovoce.connect`, and used like `PrivateEvaluations`.

    Calls are repeated while the service is away: one that is repeated opens and assigns nothing anew, and a loss that
    is told twice counts once. To open, close and abandon takes a key with the role admin, to assign one with ask, to
    tell and forget tell, to read results read.

    Parameters
    ----------
    service
        The connection.
    name
        Of the evaluations.
    accepts
        What the service may be told: `privacy` and `raw_losses` of `connect`.

    Examples
    --------
    >>> import sottovoce as sv
    >>> with sv.connect("https://decide.example", evaluations="checkout", key="sv_example") as remote:
    ...     print(remote)
    RemoteEvaluations('checkout' at 'https://decide.example')
    """

    _kind = "evaluations"

    @property
    def open_evaluations(self) -> tuple[Evaluation, ...]:
        """The evaluations that are not closed, in the order in which they were opened."""
        return tuple(self._handle(one["number"]) for one in self.status()["open"])

    @property
    def results(self) -> tuple[ReleasedMean, ...]:
        """All that was released so far, in the order in which it was."""
        return tuple(read("a result", self._mean_of, one) for one in self._call("GET", "results")["results"])

    @property
    def channel(self) -> OneBitChannel | None:
        """Under `LocalDP`: what owners privatise with, once they have said what it may spend; None otherwise."""
        return self._agreed()

    @property
    def loss_range(self) -> tuple[float, float]:
        """(low, high): what losses are clipped to."""
        return self._scale.loss_range

    def status(self) -> dict[str, Any]:
        """Return where the evaluations stand: what they were created with, the statement, which are open."""
        return self._call("GET", "status")

    # ------------------------------------------------------------------ single ones

    @cached_property
    def _released(self) -> dict[int, ReleasedMean]:
        return {}

    def _open(self, events: int) -> int:
        return int(self._once("open", {"events": events})["number"])

    def _assign(self, number: int | None, size: int, people: Sequence[str] | None) -> list[tuple[int, Any, bool]]:
        which = {} if number is None else {"number": number}
        met = self._once("assign", {"size": size, **which, **plain_people(people)})["assigned"]
        return [(int(one["number"]), one["id"], one["wants_loss"]) for one in met]

    def _take_in(
        self, number: int | None, ids: Any, losses: NDArray[Any], late: str, people: Sequence[str] | None
    ) -> Recorded:
        if ids is None:
            self._checked(("",) * losses.size, losses)  # before anybody is assigned
            ids = [one for _, one, _ in self._assign(number, losses.size, people)] if losses.size else []
        return self._tell(checked_ids(ids), losses, late)

    def _forget_in(self, number: int | None, ids: Any) -> int:
        return self.forget(ids)

    def _finish(self, number: int, *, drop: bool) -> None:
        self._post("abandon" if drop else "close", {"number": number})

    def _result(self, number: int) -> ReleasedMean | None:
        if number not in self._released:
            try:
                found = self._call("GET", f"result?number={number}")
            except NotReleased:
                return None
            self._released[number] = read("a result", self._mean_of, found)
        return self._released[number]

    def _counts(self, number: int) -> Counts:
        found = self._call("GET", f"evaluation?number={number}")
        return Counts(*(found[name] for name in ("events", "assigned", "remaining", "abandoned")))

    def _waiting(self, number: int) -> NDArray[Any]:
        """Return the ids that were handed out, and have no loss: 10,000 at most."""
        return np.array(self._call("GET", f"evaluation?number={number}")["ids"], dtype=str)

    @cached_property
    def _scale(self) -> Scale:
        """What released integers are worth."""
        return read("a scale", Scale.from_dict, self.status()["scale"])

    def _mean_of(self, plain: Any) -> ReleasedMean:
        number, events, total = (plain[name] for name in ("number", "events", "total"))
        if not all(type(one) is int for one in (number, events, total)):
            raise TypeError("these are whole numbers")
        squares = plain.get("squares")
        return ReleasedMean(number, events, total, self._scale, squares if type(squares) is int else None)
