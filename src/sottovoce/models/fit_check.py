"""How well what was released fits a model, and how sure a recommendation is."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.special import chdtrc

from sottovoce._arrays import Floats
from sottovoce.models.measurements import Measurements
from sottovoce.models.pace import ModelSettings

_ENOUGH_REPEATS = 20  # numbers of decisions that were released before, to tell whether the world changes
_PLAINLY_WRONG = 1e-4  # probability of what was released, under the model


@dataclass(frozen=True)
class FitCheck:
    """How well decisions fit the model: a sum of their squared residuals, each over its variance.

    Attributes
    ----------
    statistic, expected
        The sum, and what it should be on average.
    probability
        That it would be as large if the model were right (a p-value).
    model
        "linear", "radial" for convex losses, or "items".
    """

    statistic: float
    expected: float
    probability: float
    model: str = "linear"

    @classmethod
    def of(cls, statistic: float, expected: float, excess: float, model: str = "linear") -> "FitCheck":
        """Compare a sum of squares with a scaled chi-squared; `excess` is what heavy tails add to its variance.

        Parameters
        ----------
        statistic
            The sum of squares.
        expected
            What it should be.
        excess
            What heavy tails add to its variance.
        model
            Its name.
        """
        if expected < 1:
            return cls(statistic, max(expected, 0.0), 1.0, model)
        scale = 1 + excess / (2 * expected)
        return cls(statistic, expected, float(chdtrc(expected / scale, statistic / scale)), model)

    @classmethod
    def between_decisions(
        cls, model: str, settings: ModelSettings, measurements: Measurements, fitted: tuple[Floats, Floats, Floats]
    ) -> "FitCheck":
        """Compare decisions with the model, all numbers of a decision taken together.

        Numbers of one decision say nothing of the model, and thousands of them would drown what the others say. If they
        differ by more than noise, then the world changes from round to round, which is no fault of the model: decisions
        are then expected to differ from it by as much more.

        Parameters
        ----------
        model, settings
            Its name, and the plan's numbers.
        measurements
            What was released.
        fitted
            The variance of each mean; and of the mean losses of the decisions, by the model that was fitted to it, what
            is expected, and the covariance.
        """
        variances, expected, covariance = fitted
        if not len(measurements):
            return cls.of(0.0, 0.0, 0.0, model)
        # By how much the fourth powers of noise exceed a Gaussian's, over the squared variances: 3 for Laplace.
        tails = 3 * settings.heavy * ((settings.noise / measurements.counts) ** 2 / variances) ** 2
        weights, pulls = measurements.pooled(1 / variances)
        fourth, _ = measurements.pooled(tails / variances**2)
        freedom = len(weights) - float(weights @ np.diag(covariance))
        means = pulls / weights
        statistic = float((weights * (means - expected) ** 2).sum())
        repeats = len(measurements) - len(weights)
        if repeats >= _ENOUGH_REPEATS:
            statistic /= max(
                1.0, float(((measurements.means - means[measurements.index]) ** 2 / variances).sum()) / repeats
            )
        return cls.of(statistic, freedom, float((fourth / weights**2).sum()), model)

    @property
    def serious(self) -> bool:
        """Whether the model is plainly wrong: by chance this happens once in thousands of times."""
        return self.probability < _PLAINLY_WRONG

    @property
    def caution(self) -> str:
        """Say what to do if the model is plainly wrong; nothing if it is not."""
        if not self.serious:
            return ""
        if self.model == "items":
            return (
                f"losses of items are not as they were before (p = {self.probability:.1g}): they may depend on what is "
                "chosen beside them, or change all the time. Tell one loss for each decision to compare"
            )
        if self.model == "linear":
            return (
                f"losses do not look linear in the action (p = {self.probability:.1g}): parts of a decision may depend "
                "on each other. Try losses='convex', a set whose coordinates say what matters, or plan='worst-case'"
            )
        return (
            f"losses are not as the convex model has them (p = {self.probability:.1g}), which it allows for; if regret "
            "does not fall, try plan='worst-case'"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that JSON can hold."""
        return asdict(self)

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
