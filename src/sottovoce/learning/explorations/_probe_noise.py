"""What plans with probe sums share, however they explore: noise, grid, and how points are computed."""

from dataclasses import dataclass
from typing import Any

from sottovoce.exploration import Stage
from sottovoce.learning.explorations._common import position_of
from sottovoce.learning.planning.problem import Problem
from sottovoce.learning.planning.sensitivity import finest_bits, needed_noise
from sottovoce.privacy import PROBE_SUMS, LossGrid, Mechanism, Noise, mechanism_for

__all__ = ["ProbeNoise", "common_fields", "probe_noise_of"]


@dataclass(frozen=True)
class ProbeNoise:
    """The noise of one number: on the integer grid, and its standard deviation in units of loss."""

    bits: int
    noise: Noise | None
    in_loss_units: float
    deviation: float


def probe_noise_of(problem: Problem, mechanism: Mechanism = PROBE_SUMS) -> ProbeNoise:
    """Return the least noise of a number; none without privacy, or where losses come in privatised."""
    mechanism = mechanism_for(problem.privacy, mechanism)
    bits = finest_bits(problem, mechanism, rounds=1, dimension=1)
    noise = needed_noise(problem, mechanism, bits=bits, rounds=1, dimension=1)
    step = LossGrid(*problem.loss_range, bits=bits).step
    if noise is None:
        return ProbeNoise(bits, None, 0.0, 0.0)
    return ProbeNoise(bits, noise, noise.scale * step, noise.standard_deviation * step)


def common_fields(
    problem: Problem, stage: Stage, mechanism: Mechanism = PROBE_SUMS, noise: ProbeNoise | None = None
) -> dict[str, Any]:
    """Fields of a `Plan` that do not depend on how it explores; `noise` if it is known already."""
    noise = probe_noise_of(problem, mechanism) if noise is None else noise
    return {
        "name": "auto",
        "mechanism": mechanism_for(problem.privacy, mechanism).name,
        "position": position_of(stage),
        "horizon": problem.horizon,
        "gap": 1e-6 * stage.working.diameter**2,
        "max_calls": 10_000,
        "baseline": problem.middle,
        "bits": noise.bits,
        "noise": noise.noise,
        "noise_in_loss_units": noise.in_loss_units,
        "reach_from_start": stage.reach_from_start if stage.moved else None,
    }
