"""What every belief offers: decisions that may be the best, drawn from what was released, and lengths of rounds."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import chdtrc

from sottovoce._arrays import Floats
from sottovoce._records import Record
from sottovoce.exploration.posterior.history import History, Numbers

__all__ = ["Belief", "Certainty", "Misfit", "Pace", "Settings"]


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


@dataclass(frozen=True)
class Pace:
    """What the lengths of rounds follow from: since when a belief remembers, and how many events back at most."""

    since: int = 0
    reach: float = np.inf

    def events(self, settings: Settings, passed: int) -> int:
        """Events of each probe in the round that begins after `passed` events."""
        remembered = min(max(0, passed - self.since), self.reach)
        longest = min(settings.growth * remembered, settings.cap * settings.horizon)
        return max(settings.least, int(longest / settings.probes))


@dataclass(frozen=True)
class Misfit:
    """How well released numbers fit the model: a sum of squared residuals, each over its variance.

    Attributes
    ----------
    statistic, expected
        The sum, and what it should be on average.
    probability
        That it would be as large if the model were right (a p-value).
    """

    statistic: float
    expected: float
    probability: float

    @classmethod
    def of(cls, statistic: float, expected: float, excess: float) -> "Misfit":
        """Compare a sum of squares with a scaled chi-squared; `excess` is what heavy tails add to its variance."""
        if expected < 1:
            return cls(statistic, max(expected, 0.0), 1.0)
        scale = 1 + excess / (2 * expected)
        return cls(statistic, expected, float(chdtrc(expected / scale, statistic / scale)))


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


class Belief(ABC):
    """What is believed about losses, given all that was released; replaced as a whole, never changed in part."""

    settings: Settings
    dimension: int

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
    def leader(self) -> Floats:
        """The best decision, as far as is known."""

    @abstractmethod
    def draw(self, count: int, passed: int, number: int, coins: np.random.Generator) -> Floats:
        """Draw decisions that may be the best, for round `number`, which begins after `passed` events."""

    @abstractmethod
    def learn(self, numbers: Numbers) -> None:
        """Take in what a round has released."""

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
        """Begin with what another belief of the same kind knows, `events` before this one's first."""

    @abstractmethod
    def misfit(self) -> Misfit:
        """Compare what was released with the model."""

    @abstractmethod
    def certainty(self, decision: Floats, draws: int = 200) -> Certainty:
        """Say how sure it is that a decision is the best."""
