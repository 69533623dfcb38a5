"""A plan: the parameters of a run, what they should cost, and what else was considered."""

import math
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from sottovoce.privacy import DirectionGrid, LossGrid, Noise

__all__ = ["Alternative", "Plan"]


@dataclass(frozen=True)
class Alternative:
    """A plan that was considered: what it is, and its bound on the regret per event."""

    what: str
    bound: float
    bound_without_privacy: float


@dataclass(frozen=True)
class Plan:
    """The parameters of a run; `print` it to see what was chosen and what it should cost.

    Attributes
    ----------
    name
        "auto" or "paper".
    exploration
        "sphere" (the paper's), "frames" (any convex loss) or "designs" (linear losses).
    mechanism
        What releases the sums: "probe-sums", "fresh", "tree", "honaker", "toeplitz"; "local" if losses come in
        privatised; "none" without privacy.
    position
        "plain", or "rounded" for lopsided sets.
    horizon, batch_size
        T, and the events of a round (T_batch); of the first one, where rounds grow.
    radius
        The smoothing radius (zeta); None for designs.
    directions
        Directions of a frame (m); None for others.
    rate, probe_events, decay, growth, control_variate, memory, reuse
        Of designs: share of events that explore, events of a probe, how the two change with time, whether earlier
        releases serve as a control variate, how many rounds are remembered, and whether the losses of events that do
        not explore are read as well.
    step, step_multiplier
        eta; None adapts it to the released gradients, times the multiplier.
    delay
        How many sums the played point lags behind.
    method, gap, max_calls
        How the point of a round is computed, and the Frank-Wolfe gap at which it stops.
    baseline
        A constant that is subtracted from every loss; it leaves the estimate unbiased.
    bits
        Of the integer grids of losses and directions.
    noise
        The noise of one released number on the integer grid; None if none is added here.
    noise_in_loss_units
        Its scale in units of loss (for spheres: of loss times direction).
    padding
        Whether a tree draws the paper's padding noise.
    bound, bound_without_privacy
        Predicted upper bound on the regret of the whole run, and of the same plan without noise.
    no_learning
        What never learning can cost at most.
    alternatives, notes
        What else was considered; what a user should know.
    """

    name: str
    exploration: str
    mechanism: str
    position: str
    horizon: int
    batch_size: int
    step: float | None
    delay: int
    method: str
    gap: float
    max_calls: int
    baseline: float
    bits: int
    noise: Noise | None
    noise_in_loss_units: float
    bound: float
    bound_without_privacy: float
    no_learning: float
    radius: float | None = None
    directions: int | None = None
    rate: float | None = None
    probe_events: int | None = None
    decay: float = 0.0
    growth: float = 0.0
    control_variate: bool = True
    reuse: bool = False
    memory: float = math.inf
    step_multiplier: float = 1.0
    padding: bool = False
    alternatives: tuple[Alternative, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def rounds(self) -> int:
        """N = ceil(T/k); the last round may be short. Where rounds grow there are fewer."""
        return math.ceil(self.horizon / self.batch_size)

    @property
    def vacuous(self) -> bool:
        """Whether the bound is above what never learning can cost."""
        return self.bound >= self.no_learning

    @property
    def price_of_privacy(self) -> float:
        """The bound, relative to that of the same plan without noise."""
        return self.bound / self.bound_without_privacy

    @property
    def what(self) -> str:
        """Exploration, mechanism and position in a few words."""
        position = ", rounded position" if self.position == "rounded" else ""
        return f"{self.exploration} with {self.mechanism}{position}"

    def grids(self, loss_range: tuple[float, float]) -> tuple[LossGrid, DirectionGrid]:
        """The integer grids of losses and directions."""
        return LossGrid(*loss_range, bits=self.bits), DirectionGrid(bits=self.bits)

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain data that JSON can hold."""
        return {**asdict(self), "memory": None if math.isinf(self.memory) else self.memory}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Return the plan that `to_dict` wrote down."""
        unknown = set(data) - {field.name for field in fields(cls)}
        if unknown:
            raise ValueError(f"the plan has {', '.join(sorted(unknown))}, which this version does not know")
        return cls(
            **{
                **data,
                "memory": math.inf if data["memory"] is None else data["memory"],
                "noise": None if data["noise"] is None else Noise(**data["noise"]),
                "alternatives": tuple(Alternative(**other) for other in data["alternatives"]),
                "notes": tuple(data["notes"]),
            }
        )

    @property
    def order_only(self) -> bool:
        """Whether the bound is one up to constants: so for designs, see bounds.py."""
        return self.exploration == "designs"

    @property
    def rows(self) -> tuple[tuple[str, str], ...]:
        """What it says: names and texts, without the alternatives."""
        return (
            ("method", self.what),
            ("rounds", f"{self.rounds:,} of {self.batch_size:,} events ({self.horizon:,} in all)"),
            ("explore", self._exploring()),
            ("step", self._stepping()),
            ("noise", self._noising()),
            ("point", f"{self.method}, to a gap of {self.gap:.3g}"),
            ("regret", self._costing()),
            *(("note", note) for note in self.notes),
        )

    def __str__(self) -> str:
        lines = [f"Plan: {self.name}", *(f"  {name:<8} {text}" for name, text in self.rows)]
        return "\n".join(lines + self._considered())

    def _exploring(self) -> str:
        if self.exploration == "designs":
            reporting = "all report" if self.reuse else "only these report"
            law = f", falling as t^-{self.decay:.2g}" if self.decay else ""
            return f"{100 * (self.rate or 0):.3g}% of events{law}, {self.probe_events} for each probe; {reporting}"
        frame = f", {self.directions} directions a round" if self.directions else ""
        return f"every event, at radius {self.radius:.4g}{frame}"

    def _stepping(self) -> str:
        law = "adapted to what is released" if self.step is None else f"{self.step:.4g}"
        times = f", times {self.step_multiplier:g}" if self.step_multiplier != 1 else ""
        return f"{law}{times}, delay {self.delay}"

    def _noising(self) -> str:
        if self.noise is None:
            return "none" if self.mechanism != "local" else "added by the losses' owners"
        padded = ", padded" if self.padding else ""
        return f"{self.noise.family}, scale {self.noise_in_loss_units:.4g} in units of loss{padded}"

    def _costing(self) -> str:
        price = f"; {self.price_of_privacy:.2f} times that without privacy" if self.noise is not None else ""
        word = "of the order of" if self.order_only else "at most"
        return (
            f"{word} {self.bound / self.horizon:.4g} per event{price}; "
            f"never learning costs at most {self.no_learning / self.horizon:.4g}"
        )

    def _considered(self) -> list[str]:
        if not self.alternatives:
            return []
        width = max(len(other.what) for other in self.alternatives)
        rows = [
            f"    {other.what:<{width}}  {other.bound:>10.4g}  {other.bound_without_privacy:>10.4g}"
            for other in self.alternatives
        ]
        return ["  considered (bound per event; without privacy)", *rows]
