"""Smith & Thakurta: private bandit optimisation with exact projections."""

from dataclasses import replace

from sottovoce.lab.baselines.base import Baseline
from sottovoce.lab.baselines.garber_kretzu import least_bound_radius
from sottovoce.plans.plan import Plan
from sottovoce.plans.problem import Problem
from sottovoce.plans.sphere import SphereDraft, SphereOptions
from sottovoce.privacy import TREE, ZCDP, ApproxDP, PureDP


class SmithThakurta(Baseline):
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

    Examples
    --------
    >>> import sottovoce as sv
    >>> learner = sv.lab.baselines.SmithThakurta(
    ...     sv.domains.Ball(3), horizon=1_000, loss_range=(0.0, 1.0), privacy=sv.PureDP(epsilon=1.0), seed=1
    ... )
    >>> learner.plan.batch_size, learner.plan.mechanism, learner.privacy.headline
    (1, 'tree', 'epsilon = 1, pure differential privacy')
    """

    name, promises = "smith-thakurta", (PureDP, ApproxDP, ZCDP)

    def _planned(self, problem: Problem) -> Plan:
        options = SphereOptions(problem.domain.inner_radius / 2)
        draft = SphereDraft(problem, problem.placement("plain"), options, 1, TREE, name=self.name)
        draft = replace(draft, known=draft.noise)  # the same at every radius
        radius = least_bound_radius(problem, lambda radius: replace(draft, options=SphereOptions(radius)).bound)
        return replace(draft, options=SphereOptions(radius)).finish()
