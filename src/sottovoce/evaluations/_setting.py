"""What all evaluations of one `PrivateEvaluations` have in common: range, promise, grid, noise, patience."""

from dataclasses import replace
from typing import Any

from sottovoce._checks import boolean, whole
from sottovoce.learning.describe import spent_words, state_noise
from sottovoce.learning.patience import check_patience, patience_for
from sottovoce.learning.reports import ReportGrid
from sottovoce.privacy import Guarantee, LocalDP, LossGrid, NoiseSource, PrivacyStatement, local
from sottovoce.privacy.noise import LARGEST_SUM, noise_source
from sottovoce.rounds.round import Shape
from sottovoce.stats.scale import mechanism_of, scale_for, sensitivity_of


class EvaluationSetting:
    """Fixed when it is made; the arguments are those of `PrivateEvaluations`."""

    def __init__(
        self,
        loss_range: tuple[float, float],
        privacy: Guarantee,
        *,
        noise: NoiseSource | None = None,
        patience: int | str | None = "auto",
        variance: bool = False,
    ) -> None:
        self.privacy = privacy
        self.variance = _check_variance(variance, privacy)
        self.source = noise_source(noise)
        self.patience = check_patience(patience)
        self.scale = scale_for(loss_range, privacy, variance=self.variance)
        losses, ends = LossGrid(*self.scale.loss_range), self.scale.loss_range
        self.channel = local.OneBitChannel(ends, privacy.per_report) if isinstance(privacy, LocalDP) else None
        self.grid: Any = losses if self.channel is None else ReportGrid(self.channel)
        self._sensitivity = sensitivity_of(losses, self.variance)

    @property
    def arguments(self) -> dict[str, Any]:
        """What it was made with, each in one way of saying it."""
        plain = {"patience": self.patience, "variance": self.variance}
        return {"loss_range": self.scale.loss_range, "privacy": self.privacy, **plain}

    @property
    def in_earnest(self) -> bool:
        """Whether anybody's privacy rests on there being one of these only."""
        return self.privacy.private and not self.source.simulated

    def mechanism(self) -> Any:
        """Return what releases the numbers of all evaluations, each with noise of its own, if there is any."""
        sampler = None if self.scale.noise is None else self.source.sampler(self.scale.noise)
        return mechanism_of(self.privacy).start(self._sensitivity, sampler)

    def patience_of(self, events: int) -> int | None:
        """How many later ids a full evaluation waits for; None for ever."""
        return patience_for(self.patience, None, events)

    def check_events(self, events: int) -> None:
        """Refuse more events than can be summed in 64 bits."""
        whole("events", events, most=(LARGEST_SUM - 1) // max(map(abs, self.grid.bounds)))

    @property
    def shape(self) -> Shape:
        """What a slot holds."""
        return Shape(1, *self.grid.bounds)

    def statement(self, *, counted: bool = False) -> PrivacyStatement:
        """Return what is promised, and why it holds, where people are `counted` or not."""
        each = "two probe sums each, of losses and of their squares" if self.variance else "one probe sum each"
        found = state_noise(
            self.privacy,
            self.scale.noise,
            simulated=self.source.simulated,
            who="the evaluations",
            what=f"evaluations, {each}",
            why=self._why,
        )
        return replace(found, counted=counted)

    def _why(self) -> str:
        one, two = "one number that is released of it", "two numbers that are released of it, sum and squares, together"
        assert self.scale.noise is not None
        return (
            f"every event is in one evaluation, and replacing its loss moves the {two if self.variance else one} by "
            f"at most {self._sensitivity.l1} steps of the grid, whatever the caller does. Evaluations hold disjoint "
            "events: the budget is spent once for all. Every number carries "
            f"{spent_words(self.scale.noise, self.privacy.contributions, float(self._sensitivity.l1))}"
        )


def _check_variance(given: Any, privacy: Any) -> bool:
    variance = boolean("variance", given)
    if variance and isinstance(privacy, LocalDP):
        raise ValueError("variance=True is not for LocalDP: owners send one report each, and nothing of its square")
    return variance
