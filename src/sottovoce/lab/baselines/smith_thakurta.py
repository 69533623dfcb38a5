"""Smith & Thakurta: private bandit optimisation with exact projections."""

from dataclasses import replace
from typing import ClassVar

from sottovoce.domains import Domain
from sottovoce.lab.baselines.planned import PrivatelyPlanned
from sottovoce.lab.baselines.plans import least_bound_radius
from sottovoce.plans.plan import Plan
from sottovoce.plans.problem import Problem
from sottovoce.plans.sphere import SphereDraft
from sottovoce.privacy import TREE, Guarantee, NoiseSource


class SmithThakurta(PrivatelyPlanned):
    """Follow the regularised leader on a private tree of one-point estimates, one event per round, exact projections.

    After every event, (d/delta) (f_t(x_t) - middle) u_t enters a binary tree whose nodes carry Laplace noise (PureDP)
    or Gaussian noise (ApproxDP, ZCDP); the next point is the projection of centre - step * (released sum). The regret
    grows as T^(3/4)/epsilon, times d for pure and sqrt(d) for approximate privacy, up to logarithms.

    Source: "(Nearly) optimal algorithms for private online learning in full-information and bandit settings" (NIPS
    2013). Verified: the approach (follow the approximate leader, with logarithmic time and space) against its abstract;
    the order T^(3/4)/epsilon for convex losses against papers that quote it. Its constants are not reproduced: radius
    and step minimise the explicit bound that `plan.bound` holds, with the noise in it.

    Differences: this is `PrivateBandit` with a plan of its own: losses are clipped, shifted so that their middle is 0,
    and added up as integers; the noise is discrete, of the least scale that privacy needs, and privacy does not rest
    on the Lipschitz constant; d, r and R are those of the affine hull; delta is at most r/2; sets without a formula for
    projections are projected on by linear oracle, to a gap of a millionth of the squared diameter.

    Parameters
    ----------
    domain, horizon, loss_range, privacy, lipschitz, seed, noise
        As for `PrivateBandit`.
    radius_factor
        The radius is this times the one with the least bound: for looking up the best constant in hindsight.

    Examples
    --------
    >>> import sottovoce as sv
    >>> learner = sv.lab.baselines.SmithThakurta(
    ...     sv.domains.Ball(3), horizon=1_000, loss_range=(0.0, 1.0), privacy=sv.PureDP(epsilon=1.0), seed=1
    ... )
    >>> learner.plan.batch_size, learner.plan.mechanism, learner.privacy.headline
    (1, 'tree', 'epsilon = 1, pure differential privacy')
    """

    name: ClassVar[str] = "smith-thakurta"

    def __init__(
        self,
        domain: Domain,
        *,
        horizon: int,
        loss_range: tuple[float, float],
        privacy: Guarantee,
        lipschitz: float | None = None,
        seed: int | None = None,
        noise: NoiseSource | None = None,
        radius_factor: float = 1.0,
    ) -> None:
        self._radius_factor = radius_factor
        super().__init__(
            domain, horizon=horizon, loss_range=loss_range, privacy=privacy, lipschitz=lipschitz, seed=seed, noise=noise
        )

    def _planned(self, problem: Problem) -> Plan:
        draft = SphereDraft(problem, problem.placement("plain"), 1, problem.domain.inner_radius / 2, TREE)
        draft = replace(draft, noised=draft.finest())  # the same at every radius
        radius = least_bound_radius(problem, lambda radius: replace(draft, radius=radius).bound, self._radius_factor)
        return replace(draft, name=self.name, radius=radius).finish()
