"""What every belief offers: decisions that may be the best, drawn from what was released, and lengths of rounds."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import chdtrc

from sottovoce._arrays import Floats
from sottovoce._records import Record
from sottovoce.exploration.posterior.history import History, Numbers

if TYPE_CHECKING:
    from sottovoce.exploration.posterior.hearsay import Evidence, Prior
    from sottovoce.exploration.posterior.published import Posterior

__all__ = ["Belief", "Certainty", "Misfit", "Pace", "Settings", "laplace_tails"]


_ENOUGH_REPEATS = 20  # numbers of decisions that were released before, to tell whether the world changes
_AMPLE = 22.0  # events of a number, over the deviation of its noise in B: 32/epsilon, if that is Laplace's
_AT_FIRST = 2.0  # what the least events of a number are divided by, for the first numbers of several segments
_EARLY = 0.1  # of the events that were asked, those of numbers under way, about
_FASTER, _LONGER = 0.75, 1.3  # how rounds grow, and how long they may be, as powers of the crowd
_CROWD = 20  # segments from which each has fewer rounds than it would have alone
_PLAINLY_WRONG = 1e-4  # probability of what was released, under the model


@dataclass(frozen=True)
class Settings:
    """What a belief is told beforehand, all of it public.

    Attributes
    ----------
    horizon
        Events that there will be (T).
    width, middle
        Of the loss range (B, and its middle).
    noise
        Standard deviation that a released sum carries beyond the losses' own, in units of loss; 0 without privacy.
    heavy
        Whether that noise is Laplace's, whose squares vary more than a Gaussian's.
    variances
        (least, first, largest) variance of one loss or report at one decision.
    probes, least
        Decisions of a round (m), and events for each of them at least (b_0).
    growth, cap
        A round has this share of the events that are remembered, and of the horizon at most.
    temper
        What deviations of a posterior sample are multiplied by.
    sentinel
        Whether one probe of every fourth round is drawn from a short memory, whatever the evidence says.
    segments
        How many segments there are, if this is one of several: their first rounds are under way together, and so have
        fewer decisions; and where there are dozens, rounds grow faster.
    """

    horizon: int
    width: float
    middle: float
    noise: float
    variances: tuple[float, float, float]
    probes: int
    least: int
    growth: float
    cap: float
    temper: float
    heavy: bool = True
    sentinel: bool = False
    segments: int = 0

    def among(self, segments: int, asked: int, share: float, variance: float) -> "Settings":
        """Return what holds for one of several segments.

        What others have found out makes it less urgent to know a little soon. So numbers are of as many events as it
        takes for the noise of privacy not to be the larger part, as soon as all segments' first rounds are a small part
        of what was asked.

        Parameters
        ----------
        segments
            How many there are.
        asked
            Events that were asked, of all segments.
        share
            Of all events that the segment is expected to have.
        variance
            Of one loss at one decision, as far as is known.
        """
        ample = max(_AMPLE * self.noise / self.width, self.noise**2 / variance)
        first = max(1, round(self.least / _AT_FIRST))
        least = max(first, int(min(max(ample, self.least), _EARLY * asked / segments)))
        horizon = max(1, round(share * self.horizon))
        return replace(self, segments=segments, least=least, horizon=horizon)


@dataclass(frozen=True)
class Pace:
    """What the lengths of rounds follow from: since when a belief remembers, and how many events back at most.

    Attributes
    ----------
    since
        The event since which a belief remembers.
    reach
        How many events back it remembers at most.
    """

    since: int = 0
    reach: float = np.inf

    def events(self, settings: Settings, passed: int) -> int:
        """Events of each probe in the round that begins after `passed` events.

        Parameters
        ----------
        settings
            The plan's numbers.
        passed
            Events before the round.
        """
        return max(settings.least, int(self._longest(settings, passed) / self.probes(settings, passed)))

    def probes(self, settings: Settings, passed: int) -> int:
        """Decisions of the round that begins after `passed` events.

        Parameters
        ----------
        settings
            The plan's numbers.
        passed
            Events before the round.
        """
        if not settings.segments:
            return settings.probes
        return min(settings.probes, max(1, int(self._longest(settings, passed) / settings.least)))

    def _longest(self, settings: Settings, passed: int) -> float:
        remembered = min(max(0, passed - self.since), self.reach)
        crowd = max(1.0, settings.segments / _CROWD)
        longest = settings.cap * crowd**_LONGER * settings.horizon
        if settings.segments:  # a small segment has rounds that are large enough to tell that the world has changed
            longest = max(longest, settings.probes * settings.least)
        return float(min(settings.growth * crowd**_FASTER * remembered, longest))


@dataclass(frozen=True)
class Misfit:
    """How well decisions fit the model: a sum of their squared residuals, each over its variance.

    Attributes
    ----------
    statistic, expected
        The sum, and what it should be on average.
    probability
        That it would be as large if the model were right (a p-value).
    model
        "linear", or "radial" for convex losses.
    """

    statistic: float
    expected: float
    probability: float
    model: str = "linear"

    @classmethod
    def of(cls, statistic: float, expected: float, excess: float) -> "Misfit":
        """Compare a sum of squares with a scaled chi-squared; `excess` is what heavy tails add to its variance.

        Parameters
        ----------
        statistic
            The sum of squares.
        expected
            What it should be.
        excess
            What heavy tails add to its variance.
        """
        if expected < 1:
            return cls(statistic, max(expected, 0.0), 1.0)
        scale = 1 + excess / (2 * expected)
        return cls(statistic, expected, float(chdtrc(expected / scale, statistic / scale)))

    @classmethod
    def between_decisions(
        cls, history: History, variances: Floats, expected: Floats, covariance: Floats, tails: Floats
    ) -> "Misfit":
        """Compare decisions with the model, all numbers of a decision taken together.

        Numbers of one decision say nothing of the model, and thousands of them would drown what the others say. If they
        differ by more than noise, then the world changes from round to round, which is no fault of the model: decisions
        are then expected to differ from it by as much more.

        Parameters
        ----------
        history, variances
            What was released, and the variance of each mean.
        expected, covariance
            Of the mean losses of the decisions, by the model that was fitted to it.
        tails
            How much the fourth power of each mean's noise is above a Gaussian's, over the squared variance.
        """
        if not len(history):
            return cls.of(0.0, 0.0, 0.0)
        weights, pulls = history.pooled(1 / variances)
        fourth, _ = history.pooled(tails / variances**2)
        freedom = len(weights) - float(weights @ np.diag(covariance))
        means = pulls / weights
        statistic = float((weights * (means - expected) ** 2).sum())
        repeats = len(history) - len(weights)
        if repeats >= _ENOUGH_REPEATS:
            statistic /= max(1.0, float(((history.means - means[history.index]) ** 2 / variances).sum()) / repeats)
        return cls.of(statistic, freedom, float((fourth / weights**2).sum()))

    @property
    def serious(self) -> bool:
        """Whether the model is plainly wrong: by chance this happens once in thousands of times."""
        return self.probability < _PLAINLY_WRONG

    @property
    def caution(self) -> str:
        """Say what to do if the model is plainly wrong; nothing if it is not."""
        if not self.serious:
            return ""
        if self.model == "linear":
            return (
                f"losses do not look linear in the action (p = {self.probability:.1g}): parts of a decision may depend "
                "on each other. Try losses='convex', a set whose coordinates say what matters, or plan='worst-case'"
            )
        return (
            f"losses are not as the convex model has them (p = {self.probability:.1g}), which it allows for; if regret "
            "does not fall, try plan='worst-case'"
        )

    def to_dict(self) -> dict[str, float]:
        """Return plain data that JSON can hold."""
        return {"statistic": self.statistic, "expected": self.expected, "probability": self.probability}

    def __str__(self) -> str:
        sums = f"{self.statistic:.4g}, {self.expected:.4g} expected"
        return f"squared residuals add up to {sums} (p = {self.probability:.2g})"


@dataclass(frozen=True)
class Certainty:
    """How sure a recommendation is.

    Attributes
    ----------
    share
        Of the decisions that may be the best, drawn from what is believed, how many are this one.
    shortfall
        How much the best decision is likely to be better, per event: mean, and what 95% stay below.
    loss, deviation
        The loss per event that is expected of it, and how far off that may be (a standard deviation).
    """

    share: float
    shortfall: tuple[float, float]
    loss: float
    deviation: float


def laplace_tails(settings: Settings, counts: Floats, variances: Floats) -> Floats:
    """Return how much the fourth powers of means exceed a Gaussian's, over the squared variances: 3 for Laplace."""
    if not settings.heavy:
        return np.zeros(len(counts))
    return np.asarray(3 * ((settings.noise / counts) ** 2 / variances) ** 2)


class Belief(ABC):
    """What is believed about losses, given all that was released; replaced as a whole, never changed in part."""

    model: str
    settings: Settings
    dimension: int
    known: Any
    """What was learned, as one value: the same object as long as nothing new is."""

    @property
    @abstractmethod
    def history(self) -> History:
        """What it rests on."""

    @property
    @abstractmethod
    def pace(self) -> Pace:
        """What the lengths of rounds follow from."""

    @property
    @abstractmethod
    def resets(self) -> int:
        """How often all was forgotten, because a round surprised far more than is usual: the world had changed."""

    @property
    @abstractmethod
    def leader(self) -> Floats:
        """The best decision, as far as is known."""

    def is_as_good(self, decision: Floats) -> bool:
        """Whether nothing but rounding makes the leader better than another decision.

        Parameters
        ----------
        decision
            A point of the set.
        """
        return False

    @abstractmethod
    def draw(self, count: int, passed: int, number: int, coins: np.random.Generator) -> Floats:
        """Draw decisions that may be the best, for round `number`, which begins after `passed` events.

        Parameters
        ----------
        count
            How many decisions.
        passed
            Events before the round.
        number
            Of the round, from 0.
        coins
            Public ones.
        """

    @abstractmethod
    def learn(self, numbers: Numbers) -> None:
        """Take in what a round has released.

        Parameters
        ----------
        numbers
            Means, and the events behind them.
        """

    @abstractmethod
    def knowledge(self) -> Any:
        """Return what was learned, as one value that nothing changes later."""

    @abstractmethod
    def go_back(self, knowledge: Any) -> None:
        """Know no more than what `knowledge` returned."""

    @abstractmethod
    def memory(self) -> Record:
        """Return what was learned, as plain arrays and numbers."""

    @abstractmethod
    def remember(self, memory: Record) -> None:
        """Take over what `memory` returned."""

    @abstractmethod
    def carry_over(self, earlier: Any, events: int) -> None:
        """Begin with what another belief of the same kind knows, `events` before this one's first.

        Parameters
        ----------
        earlier
            That belief.
        events
            How many.
        """

    @abstractmethod
    def misfit(self) -> Misfit:
        """Compare what was released with the model."""

    @abstractmethod
    def certainty(self, decision: Floats, draws: int = 200) -> Certainty:
        """Say how sure it is that a decision is the best.

        Parameters
        ----------
        decision
            A point of the set.
        draws
            Samples of the posterior that it is judged by.
        """

    @abstractmethod
    def coefficients(self) -> Floats:
        """Return the posterior mean of what mean losses are linear in."""

    @abstractmethod
    def best_for(self, coefficients: Floats) -> Floats:
        """Return the best decision for coefficients.

        Parameters
        ----------
        coefficients
            As `coefficients` returns them.
        """

    @abstractmethod
    def gaps(self, one: Floats, other: Floats, draws: int) -> Floats:
        """Draw from what is believed by how much one decision loses more than another.

        Parameters
        ----------
        one, other
            Decisions.
        draws
            How many samples.
        """

    @abstractmethod
    def expected_loss(self, decision: Floats) -> float:
        """Return the loss per event that is expected of a decision.

        Parameters
        ----------
        decision
            A point of the set.
        """

    @property
    @abstractmethod
    def variance(self) -> float:
        """Variance of one loss at one decision, as far as is known."""

    @property
    @abstractmethod
    def prior_mean(self) -> Floats:
        """Of the coefficients, before anything is known."""

    @property
    @abstractmethod
    def prior_root(self) -> Floats:
        """R with R R^T the prior covariance of the coefficients."""

    @property
    @abstractmethod
    def level_place(self) -> int:
        """Which of the coefficients is the level of the losses."""

    @abstractmethod
    def evidence(self) -> "Evidence":
        """Return what was released, as measurements of the coefficients."""

    @abstractmethod
    def sibling(self) -> Any:
        """Return a belief of another segment: of the same set, and knowing nothing."""

    @abstractmethod
    def lean_on(self, prior: "Prior", settings: Settings) -> None:
        """Begin with what other segments say of this one, in place of nothing.

        Parameters
        ----------
        prior
            What they say.
        settings
            What is known of the segment's place among them: see `Settings.among`.
        """

    @abstractmethod
    def posterior(self) -> "Posterior":
        """Return what is believed, as a public record."""
