"""Minimise a loss that is given as a function: the shortest way to a private answer."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Unpack

from sottovoce._arrays import Floats, Vector
from sottovoce.domains import Domain
from sottovoce.learning import PrivateBandit
from sottovoce.plans.options import OptimizerOptions, spelled_out
from sottovoce.playing import World, play
from sottovoce.privacy import Guarantee, Ledger, NoiseSource, PrivacyStatement


@dataclass(frozen=True, slots=True)
class Minimized:
    """What `minimize` found.

    Parameters
    ----------
    point : array of shape (n,)
        The last point of the optimizer; feasible, and as private as everything it showed.
    optimizer : PrivateBandit
        With its plan; all of its events are used up.
    privacy : PrivacyStatement
        What is promised about the losses.

    Examples
    --------
    >>> import sottovoce as sv
    >>> found = sv.minimize(
    ...     lambda x: x[0], sv.domains.Ball(2), horizon=500, loss_range=(-1, 1), privacy=sv.NoPrivacy(), seed=1
    ... )
    >>> bool(found.point[0] < -0.3)
    True
    """

    point: Vector
    optimizer: PrivateBandit
    privacy: PrivacyStatement

    @property
    def chosen(self) -> Any:
        """The point in the names of the set's coordinates: see `Domain.chosen`."""
        return self.optimizer.domain.chosen(self.point)


@spelled_out
def minimize(
    loss: Callable[..., Any],
    domain: Domain,
    *,
    horizon: int,
    loss_range: tuple[float, float],
    privacy: Guarantee,
    vectorized: bool = False,
    seed: int | None = None,
    noise: NoiseSource | None = None,
    patience: int | str | None = "auto",
    ledger: Ledger | None = None,
    name: str | None = None,
    **options: Unpack[OptimizerOptions],
) -> Minimized:
    """Minimise a loss over a domain from its values alone, keeping each value private.

    Parameters
    ----------
    loss : callable
        From an action, an array of shape (n,), to a number. It may be noisy, and may differ from call to call.
    domain : Domain
    horizon : int
        How often `loss` is evaluated.
    loss_range : tuple of float
        Losses are clipped to it.
    privacy : Guarantee
        Such as ``sottovoce.PureDP(epsilon=1.0)``. There is no default: whoever calls must choose.
    vectorized : bool
        If True, `loss` takes actions of shape (k, n) and returns k losses.
    seed, noise, patience, ledger, name, **options
        As for `PrivateBandit`; not `segments`, which a function has none of.

    Returns
    -------
    Minimized

    Examples
    --------
    >>> import numpy as np
    >>> import sottovoce as sv
    >>> def distance(actions):
    ...     return np.linalg.norm(actions - [0.5, 0.0], axis=1)
    >>> found = sv.minimize(
    ...     distance,
    ...     sv.domains.Ball(2),
    ...     horizon=10_000,
    ...     loss_range=(0, 2),
    ...     privacy=sv.NoPrivacy(),
    ...     vectorized=True,
    ...     seed=1,
    ... )
    >>> bool(np.linalg.norm(found.point - [0.5, 0.0]) < 0.3)
    True
    """
    if not callable(loss):
        raise TypeError(f"loss must be a function from an action to its loss, got {loss!r}")
    if options.get("segments") is not None:
        raise TypeError("segments are kinds of people: a function has none. Minimise for each by itself")
    optimizer = PrivateBandit(
        domain,
        horizon=horizon,
        loss_range=loss_range,
        privacy=privacy,
        seed=seed,
        noise=noise,
        patience=patience,
        ledger=ledger,
        name=name,
        **options,
    )
    for _ in play(optimizer, _Function(loss, vectorized), horizon):
        pass
    return Minimized(optimizer.point, optimizer, optimizer.privacy)


class _Function(World):
    """A world whose losses a function has."""

    def __init__(self, loss: Callable[..., Any], vectorized: bool) -> None:
        self._loss, self._vectorized = loss, vectorized

    def losses(self, start: int, actions: Floats) -> Any:
        return self._loss(actions) if self._vectorized else list(map(self._loss, actions))
