"""What all evaluations of one `PrivateEvaluations` have in common: range, promise, grid, noise, patience."""

from typing import Any

from sottovoce._arrays import Integers
from sottovoce._checks import choice, whole
from sottovoce.errors import WrongReport
from sottovoce.evaluations.released_mean import Scale
from sottovoce.learning.bandit.describe import local_statement
from sottovoce.learning.bandit.patience import check_patience, patience_for
from sottovoce.learning.bandit.reports import ReportGrid
from sottovoce.plans.problem import check_loss_range
from sottovoce.privacy import (
    PROBE_SUMS,
    Guarantee,
    LocalDP,
    LossGrid,
    Mechanism,
    Moves,
    NoiseSource,
    PrivacyStatement,
    local,
    mechanism_for,
    state,
)
from sottovoce.privacy.mechanisms.probe_sums import least_probe_noise
from sottovoce.privacy.noise import LARGEST_SUM, Sampler, noise_source
from sottovoce.privacy.statement import NO_NOISE
from sottovoce.rounds.round import Shape

__all__ = ["Setting"]


class Setting:
    """Fixed when it is made; the arguments are those of `PrivateEvaluations`."""

    def __init__(
        self,
        loss_range: tuple[float, float],
        privacy: Guarantee,
        *,
        noise: NoiseSource | None = None,
        channel: str = "one-bit",
        patience: int | str | None = "auto",
        variance: bool = False,
    ) -> None:
        self.privacy = privacy
        self.variance = _check_variance(variance, privacy)
        mechanism = _mechanism(privacy)
        self.source = noise_source(noise)
        self.patience = check_patience(patience)
        losses = _loss_grid(loss_range)
        choice("channel", channel, ("one-bit", "laplace"))
        ends = (losses.low, losses.high)
        self.channel = local.channel_for(privacy, ends, channel) if isinstance(privacy, LocalDP) else None
        self.grid: Any = losses if self.channel is None else ReportGrid(self.channel)
        self._moves = Moves(losses.steps, float(losses.steps), 1, 1 + self.variance)
        drawn = mechanism.noise(privacy, self._moves)
        if self.variance and drawn is not None:  # one event is in two numbers, which together move as one does
            drawn = least_probe_noise(privacy, losses.steps, reached=2)
        self.scale = Scale(ends, self.grid.low, self.grid.step, *_known_of(self.channel, ends), noise=drawn)

    @property
    def in_earnest(self) -> bool:
        """Whether anybody's privacy rests on there being one of these only."""
        return self.privacy.private and not self.source.simulated

    def sampler(self) -> Sampler | None:
        """Return what draws the noise of all evaluations; None if there is none."""
        return None if self.scale.noise is None else self.source.sampler(self.scale.noise)

    def stream(self, sampler: Sampler | None) -> Any:
        """Return what releases the number of one evaluation."""
        return _mechanism(self.privacy).start(self._moves, sampler)

    def patience_of(self, events: int) -> int | None:
        """How many later ids a full evaluation waits for; None for ever."""
        return patience_for(self.patience, horizon=None, planned=events)

    def check_events(self, events: int) -> None:
        """Refuse more events than can be summed in 64 bits."""
        largest = self._moves.l1
        if self.channel is not None:
            largest = max(-self.channel.least_report, self.channel.most_report)
        whole("events", events, most=(LARGEST_SUM - 1) // largest)

    @property
    def shape(self) -> Shape:
        """What a slot holds."""
        if self.channel is None:
            return Shape(high=self.grid.steps)
        return Shape(low=self.channel.least_report, high=self.channel.most_report)

    def valid(self, integers: Integers) -> bool:
        """Say whether integers can be losses, or reports."""
        if self.channel is not None:
            return not len(integers) or bool(self.channel.valid(integers))
        return bool(((integers >= 0) & (integers <= self.grid.steps)).all())

    def told(self, losses: Any, report: Any) -> Any:
        """Return what a call has brought, losses or reports; refuse what is not for this guarantee."""
        if self.channel is None:
            if report is not None:
                raise WrongReport(f"report= is for LocalDP; under {self.privacy} tell the loss itself")
            return losses
        if losses is not None or report is None:
            raise WrongReport(
                "under LocalDP a raw loss is refused: privatise it where it is born, and "
                "tell(report=sv.local.privatise(loss, evaluations.channel))"
            )
        return report

    def statement(self) -> PrivacyStatement:
        """Return what is promised, and why it holds."""
        noise, simulated = self.scale.noise, self.source.simulated
        if isinstance(self.privacy, LocalDP):
            return local_statement(self.privacy, "the evaluations")
        if noise is None:
            return state(self.privacy, mechanism="none", why=NO_NOISE, noise=None, simulated=False)
        people, laplace = self.privacy.contributions, noise.family == "laplace"
        numbers = (
            "two numbers that are released of it, sum and squares, together"
            if self.variance
            else "one number that is released of it"
        )
        why = (
            f"every event is in one evaluation, and replacing its loss moves the {numbers} by "
            f"at most {self._moves.l1} steps of the grid, whatever the caller does; every number carries independent "
            f"discrete {noise.family.capitalize()} noise of scale {noise.scale:.6g}. Evaluations hold disjoint events, "
            f"so that the budget is spent once, however many there are. Hence {'epsilon' if laplace else 'mu'} = "
            f"{f'{people} events x ' * (people > 1)}{self._moves.l1} / {noise.scale:.6g} = "
            f"{people * self._moves.l1 / noise.scale:.6g}"
            + ("." if laplace else ", converted exactly (analytic Gaussian mechanism).")
        )
        drawn = "noise SIMULATED from a seed" if simulated else "noise from OpenDP's exact samplers"
        each = "two probe sums each, of losses and of their squares" if self.variance else "one probe sum each"
        mechanism = f"evaluations, {each}; integers until noised; {drawn}."
        return state(self.privacy, mechanism=mechanism, why=why, noise=noise, simulated=simulated)


def _check_variance(variance: Any, privacy: Any) -> bool:
    if not isinstance(variance, bool):
        raise TypeError(f"variance must be True or False, got {variance!r}")
    if variance and isinstance(privacy, LocalDP):
        raise ValueError("variance=True is not for LocalDP: owners send one report each, and nothing of its square")
    return variance


def _mechanism(privacy: Any) -> Mechanism:
    if isinstance(privacy, Guarantee):
        found = mechanism_for(privacy, PROBE_SUMS)
        if found.serves(privacy):
            return found
    raise TypeError(
        "privacy must be a guarantee that probe sums keep, such as sv.PureDP(epsilon=1.0), sv.ApproxDP, sv.ZCDP, "
        f"sv.LocalDP or sv.NoPrivacy, got {privacy!r}"
    )


def _loss_grid(loss_range: Any) -> LossGrid:
    try:
        low, high = loss_range
    except (TypeError, ValueError):
        raise TypeError(f"loss_range must be two numbers, (low, high), got {loss_range!r}") from None
    grid = LossGrid(low, high)
    check_loss_range((grid.low, grid.high))
    return grid


def _known_of(channel: Any, ends: tuple[float, float]) -> tuple[tuple[float, float], float]:
    """What can be known of the distribution of one place: its ends, and the variance of its owner's noise."""
    if channel is None:
        return ends, 0.0
    if isinstance(channel, local.OneBitChannel):
        return (channel.low - channel.step, channel.low + channel.step), 0.0
    return ends, (channel.noise.standard_deviation * channel.step) ** 2
