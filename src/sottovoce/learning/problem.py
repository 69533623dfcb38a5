"""What is given: the public facts that every plan starts from."""

from dataclasses import dataclass
from typing import Any

from sottovoce._checks import choice, number, whole
from sottovoce.domains import Domain
from sottovoce.errors import DomainError
from sottovoce.privacy import Guarantee, LossGrid

__all__ = ["Problem"]


@dataclass(frozen=True)
class Problem:
    """What is given: everything a plan may depend on, all of it public."""

    domain: Domain
    horizon: int
    loss_range: tuple[float, float]
    privacy: Guarantee
    lipschitz: float
    play: str

    @classmethod
    def of(
        cls,
        domain: Domain,
        horizon: int,
        loss_range: tuple[float, float],
        privacy: Guarantee,
        lipschitz: float | None = None,
        play: str = "inside",
    ) -> "Problem":
        """Check the arguments. An unknown Lipschitz constant is range/diameter, as the paper's |f| <= LD suggests."""
        if not isinstance(privacy, Guarantee):
            raise TypeError(f"privacy must be a guarantee such as sv.PureDP(epsilon=1.0), got {privacy!r}")
        grid = LossGrid(*_pair(loss_range))
        if domain.affine_dimension < 1:
            raise DomainError(f"{domain!r} holds a single point: there is nothing to decide")
        constant = grid.width / domain.diameter if lipschitz is None else number("lipschitz", lipschitz, above=0)
        choice("play", play, ("inside", "around"))
        return cls(domain, whole("horizon", horizon), (grid.low, grid.high), privacy, constant, play)


def _pair(loss_range: Any) -> tuple[float, float]:
    try:
        low, high = loss_range
    except (TypeError, ValueError):
        raise ValueError(f"loss_range must be a pair (low, high), got {loss_range!r}") from None
    return low, high
