"""Online Frank-Wolfe: full information, one oracle call per event."""

from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from sottovoce._arrays import Floats
from sottovoce._checks import vector
from sottovoce.domains import Domain
from sottovoce.lab.baselines.compared import Observing
from sottovoce.lab.baselines.plans import BaselinePlan
from sottovoce.privacy import NoPrivacy, PrivacyStatement, state
from sottovoce.privacy.statement import NO_NOISE


class OnlineFrankWolfe(Observing):
    """One Frank-Wolfe step per event on the regularised sum of gradients. Needs gradients; not private.

    F_t(x) = eta sum_{i<t} <gradient_i, x> + ||x - x_1||^2, v = oracle(grad F_t(x_t)), x <- (1 - sigma_t) x + sigma_t v,
    with eta = D/(2 G T^(3/4)), sigma_t = min(1, 2/sqrt(t)) and regret at most 8 D G T^(3/4).

    Source: Hazan & Kale, "Projection-free online learning" (ICML 2012), in the form of Hazan's "Introduction to online
    convex optimization" (online conditional gradient). Verified: the order T^(3/4), against papers that quote it. The
    parameters and the constant 8 are from memory, and are tested in simulation.

    Differences: none known. G is the Lipschitz constant along the affine hull, range/diameter if unknown.

    Parameters
    ----------
    domain, horizon, loss_range, lipschitz, seed
        As for `PrivateBandit`; there is nothing random, so the seed plays no part.

    Examples
    --------
    >>> import sottovoce as sv
    >>> ball = sv.domains.Ball(2)
    >>> learner = sv.lab.baselines.OnlineFrankWolfe(ball, horizon=400, loss_range=(-1.0, 1.0), lipschitz=1.0)
    >>> while learner.remaining:
    ...     learner.observe(gradient=np.array([1.0, 0.0]))
    >>> bool(learner.point[0] < -0.9)
    True
    """

    name: ClassVar[str] = "online-frank-wolfe"

    def __init__(
        self,
        domain: Domain,
        *,
        horizon: int,
        loss_range: tuple[float, float],
        lipschitz: float | None = None,
        seed: int | None = None,
    ) -> None:
        self._begin(domain, horizon, loss_range, NoPrivacy(), lipschitz, seed)
        self.round = self.oracle_calls = 0
        self._eta = domain.diameter / (2 * self._longest * self.horizon**0.75)
        self._sum: Floats = np.zeros(domain.dimension)
        self._point = domain.center
        self.plan = BaselinePlan(
            self.name,
            "Hazan & Kale 2012",
            self.horizon,
            8 * domain.diameter * self._longest * self.horizon**0.75,
            "T^(3/4)",
            {"step": self._eta},
            order_only=lipschitz is None,
        )

    def observe(self, gradient: ArrayLike) -> None:
        """Take in the gradient, at the point, of the event's loss.

        Parameters
        ----------
        gradient
            Of shape (n,).
        """
        self._check_remaining()
        taken = vector("gradient", gradient, self.domain.dimension)
        slope = self._eta * self._sum + 2 * (self._point - self.domain.center)
        vertex = self.domain.extreme_point(slope)
        self.round += 1
        self.oracle_calls += 1
        self._point = self._point + min(1.0, 2 / self.round**0.5) * (vertex - self._point)
        self._sum = self._sum + taken

    @property
    def privacy(self) -> PrivacyStatement:
        """The statement: nothing is promised."""
        return state(NoPrivacy(), mechanism="none", why=NO_NOISE, noise=None, simulated=False)
