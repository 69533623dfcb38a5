"""A plan: the parameters of a run, and what they should cost."""

import math
from dataclasses import dataclass

from sottovoce.privacy import DirectionGrid, LossGrid, Noise

__all__ = ["Plan"]


@dataclass(frozen=True)
class Plan:
    """The parameters of a run; `print` it to see what was chosen and what it should cost.

    Attributes
    ----------
    name
        "auto", "paper", or what the caller named it.
    horizon, batch_size
        T, and the events of a round (T_batch); `rounds` follows.
    radius, step, delay
        zeta, eta, and how many sums the played point lags behind.
    method, gap, max_calls
        How the point of a round is computed, and the Frank-Wolfe gap at which it stops.
    baseline
        A constant that is subtracted from every loss; it leaves the estimate unbiased.
    bits
        Of the integer grids of losses and directions.
    noise
        The noise of a tree node on the integer grid; None without privacy.
    padding
        Whether the tree draws the paper's padding noise.
    bound
        Predicted upper bound on the regret of the whole run.
    no_learning
        What never learning can cost at most: T * L * R.
    notes
        What a user should know about the choice.
    """

    name: str
    horizon: int
    batch_size: int
    radius: float
    step: float
    delay: int
    method: str
    gap: float
    max_calls: int
    baseline: float
    bits: int
    noise: Noise | None
    padding: bool
    noise_in_gradient_units: float
    bound: float
    no_learning: float
    notes: tuple[str, ...] = ()

    @property
    def rounds(self) -> int:
        """N = ceil(T/k); the last round may be short."""
        return math.ceil(self.horizon / self.batch_size)

    @property
    def vacuous(self) -> bool:
        """Whether the bound is above what never learning can cost."""
        return self.bound >= self.no_learning

    def grids(self, loss_range: tuple[float, float]) -> tuple[LossGrid, DirectionGrid]:
        """The integer grids of losses and directions."""
        return LossGrid(*loss_range, bits=self.bits), DirectionGrid(bits=self.bits)

    def __str__(self) -> str:
        noise = (
            "none" if self.noise is None else f"{self.noise.family}, scale {self.noise_in_gradient_units:.4g} per node"
        )
        rows = [
            ("rounds", f"{self.rounds:,} of {self.batch_size:,} events ({self.horizon:,} in all)"),
            ("radius", f"{self.radius:.4g}"),
            ("step", f"{self.step:.4g}, delay {self.delay}"),
            ("noise", noise + (", padded" if self.padding and self.noise else "")),
            ("point", f"{self.method}, to a gap of {self.gap:.3g}"),
            (
                "regret",
                f"at most {self.bound / self.horizon:.4g} per event; never learning costs at most "
                f"{self.no_learning / self.horizon:.4g}",
            ),
            *(("note", note) for note in self.notes),
        ]
        return "\n".join([f"Plan: {self.name}", *(f"  {name:<8} {text}" for name, text in rows)])
