"""Discrete Laplace noise on one loss, added by its owner: simple, with a little more variance than one bit.

What is released: one integer, the loss on its grid plus discrete Laplace noise, cut to a public range.

Neighbours: any two values of one loss (local privacy: everybody else may be the adversary).

Sensitivity: `steps`, the whole grid, whatever the loss is, since it is clipped first.

Proof. The discrete Laplace distribution at scale steps/epsilon, moved by at most `steps`, has a likelihood ratio of at
most e^epsilon at every integer. Cutting is post-processing. K reports of one person: K*epsilon.

Decoding: low + step * report errs from the loss by half a step at most in the mean (the grid), and by e^-40 of the
noise's scale (the cut).

Tests: tests/privacy/test_local.py.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from sottovoce import _fork
from sottovoce._arrays import Floats, Integers
from sottovoce._checks import number, whole
from sottovoce._losses import as_float
from sottovoce.privacy.grid import LossGrid
from sottovoce.privacy.local.one_bit import LARGEST_EPSILON
from sottovoce.privacy.noise import Noise, Sampler, SecureNoise, add, laplace_for

_TAIL = 40  # scales of noise beyond the grid at which a report is cut


@dataclass(frozen=True)
class LaplaceChannel:
    """Turns a loss into an integer with Laplace noise.

    Parameters
    ----------
    loss_range
        (low, high); a loss outside is clipped.
    epsilon
        The budget of one report. For a person with K reports hand in `LocalDP(epsilon, K).per_report`.
    bits
        The grid has 2^bits steps.

    Attributes
    ----------
    low, step
        A report is worth `low + step * report`, an estimate of the loss that is unbiased up to the grid.
    middle
        What a report that never comes counts as: the middle of the range.

    Examples
    --------
    >>> channel = LaplaceChannel((0.0, 1.0), epsilon=1.0)
    >>> channel.valid(channel.privatise(0.3))
    True
    """

    loss_range: tuple[float, float]
    epsilon: float
    bits: int = 16

    kind = "laplace"

    def __post_init__(self) -> None:
        grid = LossGrid(*self.loss_range, bits=whole("bits", self.bits, most=20))
        object.__setattr__(self, "loss_range", (grid.low, grid.high))
        object.__setattr__(self, "epsilon", number("epsilon", self.epsilon, above=0, at_most=LARGEST_EPSILON))

    @property
    def grid(self) -> LossGrid:
        """The integer grid of losses."""
        return LossGrid(*self.loss_range, bits=self.bits)

    @property
    def noise(self) -> Noise:
        """The noise of a report, in steps of the grid."""
        return _noise(self.grid.steps, self.epsilon)

    @property
    def low(self) -> float:
        """What a report of 0 is worth."""
        return self.loss_range[0]

    @property
    def step(self) -> float:
        """What one unit of a report is worth."""
        return self.grid.step

    @property
    def middle(self) -> int:
        """What a report that never comes counts as: the middle of the range."""
        return self.grid.middle

    @property
    def least_report(self) -> int:
        """The smallest legal report."""
        return -math.ceil(_TAIL * self.noise.scale)

    @property
    def most_report(self) -> int:
        """The largest legal report."""
        return self.grid.steps - self.least_report

    @property
    def second_moment(self) -> float:
        """Largest mean square of a decoded report around the middle of the range: B^2/4 + 2 (B/epsilon)^2."""
        return self.grid.width**2 / 4 + (self.noise.standard_deviation * self.step) ** 2

    def privatise(self, loss: float) -> int:
        """Return the report of a loss: all that may leave its owner's hands. Send one report per loss, once."""
        exact = self.grid.quantiser()(as_float(loss))
        noise = int(_sampler(self.noise, _fork.fork_count()).draw(1)[0])
        return min(max(exact + noise, self.least_report), self.most_report)

    def privatise_block(self, losses: Floats) -> Integers:
        """Return the reports of several losses, each with noise of its own: what `privatise` does, one by one.

        Parameters
        ----------
        losses
            Finite numbers, of any shape.
        """
        exact = self.grid.quantise(losses)
        noise = _sampler(self.noise, _fork.fork_count()).draw(exact.size).reshape(exact.shape)
        return np.asarray(np.clip(add(exact, noise), self.least_report, self.most_report))

    def decode(self, report: Any) -> Any:
        """Return the estimate of the loss behind a report, or behind each of an array of them."""
        return self.low + self.step * report

    def valid(self, reports: Any) -> bool:
        """Whether this is a report, or an array of reports, that the channel can send."""
        least, most = self.least_report, self.most_report
        if hasattr(reports, "dtype"):
            return reports.dtype.kind == "i" and bool(((reports >= least) & (reports <= most)).all())
        if isinstance(reports, int):
            return least <= reports <= most
        return isinstance(reports, list | tuple) and all(self.valid(report) for report in reports)

    def to_dict(self) -> dict[str, Any]:
        """Return the channel as plain data, to be sent to clients as JSON."""
        return {"kind": self.kind, "loss_range": list(self.loss_range), "epsilon": self.epsilon, "bits": self.bits}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> "LaplaceChannel":
        """Return the channel that `to_dict` wrote down.

        Parameters
        ----------
        plain
            Plain data, as for JSON.
        """
        if plain.get("kind") != cls.kind:
            raise ValueError(f"kind must be {cls.kind!r}, got {plain.get('kind')!r}")
        low, high = plain["loss_range"]
        return cls((low, high), plain["epsilon"], plain["bits"])


@lru_cache(maxsize=64)
def _noise(steps: int, epsilon: float) -> Noise:
    return laplace_for(steps, epsilon)


@lru_cache(maxsize=8)
def _sampler(noise: Noise, fork_count: int) -> Sampler:
    """One sampler per process: a forked child has another `fork_count`, and so never meets its parent's noise."""
    return SecureNoise().sampler(noise)
