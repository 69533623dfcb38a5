"""What a belief is told beforehand, and how long its rounds are."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sottovoce._arrays import Floats

_AMPLE = 22.0  # events of a number, over the deviation of its noise in B: 32/epsilon, if that is Laplace's
_AT_FIRST = 2.0  # what the least events of a number are divided by, for the first numbers of several segments
_EARLY = 0.1  # of the events that were asked, those of numbers under way, about
_FASTER, _LONGER = 0.75, 1.3  # how rounds grow, and how long they may be, as powers of the crowd
_CROWD = 20  # segments from which each has fewer rounds than it would have alone
_OWN, _ROOT, _LEAST_SCALE = 200_000, 6, 0.7  # events of a segment from which it explores as if alone; else their root


@dataclass(frozen=True)
class ModelSettings:
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
    posterior_scale
        What deviations of a posterior sample are multiplied by.
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
    posterior_scale: float
    heavy: bool = True
    segments: int = 0

    @property
    def sample_scale(self) -> float:
        """What deviations of a posterior sample are multiplied by: less, where a segment has few events of its own.

        Rounds of all segments are under way at once, so that they explore for each other; and what a small one finds
        out by itself comes too late to be of use to it.
        """
        if not self.segments:
            return self.posterior_scale
        own: float = (self.horizon / _OWN) ** (1 / _ROOT)
        return self.posterior_scale * min(1.0, max(_LEAST_SCALE, own))

    def number_variance(self, variance: Any, counts: Floats) -> Floats:
        """Variance of released means of so many losses, each of such a variance.

        Parameters
        ----------
        variance
            Of one loss at one decision, or a column of them.
        counts
            Events behind each number.
        """
        return np.asarray(variance / counts + (self.noise / counts) ** 2)

    def among(self, segments: int, asked: int, share: float, variance: float) -> "ModelSettings":
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

    def events(self, settings: ModelSettings, passed: int) -> int:
        """Events of each probe in the round that begins after `passed` events.

        Parameters
        ----------
        settings
            The plan's numbers.
        passed
            Events before the round.
        """
        return max(settings.least, int(self._longest(settings, passed) / self.probes(settings, passed)))

    def probes(self, settings: ModelSettings, passed: int) -> int:
        """Decisions of the round that begins after `passed` events, by the `settings` of the plan."""
        if not settings.segments:
            return settings.probes
        return min(settings.probes, max(1, int(self._longest(settings, passed) / settings.least)))

    def _longest(self, settings: ModelSettings, passed: int) -> float:
        remembered = min(max(0, passed - self.since), self.reach)
        crowd = max(1.0, settings.segments / _CROWD)
        longest = settings.cap * crowd**_LONGER * settings.horizon
        if settings.segments:  # a small segment has rounds that are large enough to tell that the world has changed
            longest = max(longest, settings.probes * settings.least)
        return float(min(settings.growth * crowd**_FASTER * remembered, longest))
