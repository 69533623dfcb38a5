"""PrivateEvaluations: the mean loss of whatever is tried, one private number for each; any optimizer does the rest."""

import copy
from typing import Any, NamedTuple

import numpy as np

from sottovoce._checks import whole
from sottovoce.evaluations._books import Books
from sottovoce.evaluations._keeping import KeepingHere
from sottovoce.evaluations._setting import Setting
from sottovoce.evaluations.evaluation import Evaluation
from sottovoce.evaluations.released_mean import ReleasedMean
from sottovoce.privacy import Guarantee, Ledger, NoiseSource, PrivacyStatement

__all__ = ["Assignment", "PrivateEvaluations"]


class Assignment(NamedTuple):
    """Where a person was assigned to: the evaluation, and the id to tell the loss with."""

    evaluation: Evaluation
    id: Any  # a whole number; of evaluations in a storage, a short text


class PrivateEvaluations:
    """Evaluate anything by people's losses, while every person's loss stays private.

    Each evaluation releases one number, the noisy sum of its losses, once. An event is in one evaluation only, so that
    all of them together cost the guarantee once, however many there are and however the next one is chosen by the means
    of those before: given the past, its noise is fresh, and the person's events, at most K of them (`contributions`),
    are shared out among evaluations, each moving one sum by at most the range of a loss. Hence epsilon = K *
    range/scale for all of them (parallel composition). A person who takes part several times is covered as long as all
    of their events, in whichever evaluations, are at most K.

    Parameters
    ----------
    loss_range
        (low, high): losses are clipped to it, silently. Privacy rests on this clipping and on nothing else that a
        caller does.
    privacy
        The guarantee, such as `PureDP(epsilon=1.0)`: for each person, over all evaluations.
    ledger, name
        Charge the guarantee to a `Ledger`, under a name (a fresh one by default), when this is created: once, for all
        evaluations.
    noise
        `SecureNoise()` by default. `SimulatedNoise(seed)` for simulations: reproducible, and NOT PRIVATE.
    seed
        Seeds the public coins by which people are assigned. Operating-system entropy by default.
    patience
        How many later people are assigned, to any evaluation, before one that is full is closed without the losses that
        it lacks, which then count as the middle of the range. "auto" (a tenth of its events, a hundredth of very many,
        1,000 at least), a whole number, or None to wait for ever. Nothing private decides when an evaluation closes.
    channel
        For `LocalDP`: how owners privatise their losses, "one-bit" or "laplace".
    variance
        Whether each evaluation releases a second number, the noisy sum of squares of its losses: for intervals that are
        as narrow as losses vary, where those are not one end of the range or the other. It costs no privacy and no
        noise. Not for `LocalDP`.

    Examples
    --------
    >>> import sottovoce as sv
    >>> evaluations = sv.PrivateEvaluations((0.0, 1.0), sv.PureDP(epsilon=1.0), noise=sv.SimulatedNoise(2), seed=1)
    >>> red, blue = evaluations.open(events=200), evaluations.open(events=200)
    >>> for person in range(400):
    ...     shown, person_id = evaluations.assign()
    ...     shown.tell(0.2 if shown is red else 0.6, ids=person_id)
    >>> print(f"{red.mean:.2f} {blue.mean:.2f}")
    0.21 0.60
    >>> low, high = red.interval(0.95)
    >>> low < 0.2 < high
    True
    """

    def __init__(
        self,
        loss_range: tuple[float, float],
        privacy: Guarantee,
        *,
        ledger: Ledger | None = None,
        name: str | None = None,
        noise: NoiseSource | None = None,
        seed: int | None = None,
        patience: int | str | None = "auto",
        channel: str = "one-bit",
        variance: bool = False,
    ) -> None:
        self.seed = None if seed is None else whole("seed", seed, least=0)
        entropy: Any = np.random.SeedSequence().entropy if self.seed is None else self.seed
        setting = Setting(
            loss_range,
            privacy,
            noise=noise,
            channel=channel,
            patience=patience,
            ledger=ledger,
            name=name,
            variance=variance,
        )
        self._keep(Books(setting, entropy))

    def _keep(self, books: KeepingHere) -> None:
        self._books = books

    def open(self, events: int) -> Evaluation:
        """Begin an evaluation: so many people will meet one set of parameters.

        Parameters
        ----------
        events
            How many people, or events; public, and fixed from here on.
        """
        books: Any = self._books
        made = books.make(whole("events", events))
        made.handle = opened = Evaluation(books, made)
        books.open(made)  # last of all: nobody is assigned to what the caller does not have
        return opened

    def assign(self) -> Assignment:
        """Assign the next person to one of the evaluations that have places left, by public coins.

        In blocks: of every K people each of the K evaluations gets one, in a random order, so that what changes with
        the time of day does not pose as quality. One that is opened in the middle of a block joins with the next.
        """
        positions, person = self._books.assign()
        return Assignment(positions.handle, person)

    @property
    def open_evaluations(self) -> tuple[Evaluation, ...]:
        """The evaluations that are not closed, in the order in which they were opened."""
        return tuple(one.handle for one in self._books.still_open)

    @property
    def results(self) -> tuple[ReleasedMean, ...]:
        """All that was released so far, in the order in which it was."""
        return self._books.results()

    @property
    def channel(self) -> Any:
        """Under `LocalDP`: what owners privatise their losses with; None otherwise."""
        return self._books.setting.channel

    @property
    def loss_range(self) -> tuple[float, float]:
        """(low, high): what losses are clipped to."""
        return self._books.setting.scale.loss_range

    @property
    def patience(self) -> int | str | None:
        """How many later people an evaluation that is full waits for: as it was passed."""
        return self._books.setting.patience

    @property
    def privacy(self) -> PrivacyStatement:
        """The statement: what is promised, to whom, against whom, why it holds, what is not covered."""
        return self._books.setting.statement()

    def __repr__(self) -> str:
        books = self._books
        return (
            f"PrivateEvaluations(loss_range={self.loss_range}, privacy={books.setting.privacy!r}, "
            f"open={len(books.still_open)}, assigned={books.assigned})"
        )

    def __copy__(self) -> "PrivateEvaluations":
        return copy.deepcopy(self)
