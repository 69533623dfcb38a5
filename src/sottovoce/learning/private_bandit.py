"""PrivateBandit: Algorithm 1 behind `ask` and `tell`, in memory.

What is asked and told is its book's affair (rounds/), what rounds play and learn its policy's, and what happens to a
loss is privacy's.
"""

import copy
import uuid
from typing import Any, Unpack

from sottovoce.domains import Domain
from sottovoce.errors import CopyRefused
from sottovoce.learning.configuration import BanditConfiguration
from sottovoce.learning.policy import entropy_of
from sottovoce.optimizer import Optimizer
from sottovoce.plans.options import OptimizerOptions, separate, spelled_out
from sottovoce.privacy import Guarantee, Ledger, NoiseSource
from sottovoce.privacy.ledger import check_ledger, new_token
from sottovoce.privacy.noise import noise_source
from sottovoce.privacy.promise import warn_of
from sottovoce.rounds.round import Shape
from sottovoce.rounds.stores.memory import MemoryStore


class PrivateBandit(Optimizer):
    """Optimise a decision online, from loss values alone, while every person's loss stays private.

    Parameters
    ----------
    domain
        The feasible set.
    horizon
        How many events there will be. None if unknown: the run then proceeds in epochs of doubled length, which costs
        regret but no privacy.
    loss_range
        (low, high): losses (or rewards, see `direction`) are clipped to it, silently. Privacy rests on this clipping
        and on nothing else that a caller does.
    privacy
        The guarantee, such as `PureDP(epsilon=1.0)`.
    plan
        "auto" plays decisions that may be the best, drawn from what was released: for worlds that stay, drift, or
        change now and then. "worst-case" minimises a regret bound that holds for any sequence of losses. "paper" is
        Algorithm 1 with the paper's parameters and noise. Or a `Plan`.
    play
        "inside": every action is feasible. "around": actions lie on a sphere around the point and may leave the set.
    losses
        "convex", or "linear" if losses are linear in the action: then vertices of the set are played.
    integral
        Play vertices (0/1 decisions, say) with the right mean, instead of points between them.
    lipschitz
        Lipschitz constant of the losses, if known. It affects regret, never privacy.
    features
        (n, k), a row of numbers for each coordinate, public: coordinates with like rows are expected to have like
        losses. For posterior probes with linear losses; what is learned of one coordinate then says something of many.
    prior
        What `posterior` of an earlier run or study returned: posterior probes begin with what that knew of things of
        the same names, allow for a world that has moved since, and drop it if released numbers speak against it.
    accept_prior
        "not private" begins with a prior that holds losses of people whom nothing protects: of a run without privacy,
        with simulated noise, or with a promise that is not known. It is refused otherwise, and the statement says it.
    segments
        Kinds of people or occasions, public, that are decided for separately and learn from each other: a list of
        names, a mapping of factors to levels, or `Segments`. `ask` then says whom an action is for.
    feedback
        "decision": people tell one loss of each decision. "items": they tell one of each item that it chooses (clicks
        on a slate, times of the links of a route), and `loss_range` is each item's. Then far fewer events are needed.
    most
        With `feedback="items"`: what the losses of one person's items add up to at most, in distance from 0; what is
        more is scaled down. Items that are not told are 0, which has to lie at an end of `loss_range`.
    direction
        "minimize" losses, or "maximize": then rewards are told in the place of losses, `loss_range` is theirs, and all
        that is shown of losses is shown of rewards.
    seed
        Seeds the public coins (directions) only. Operating-system entropy by default.
    noise
        `SecureNoise()` by default. `SimulatedNoise(seed)` for simulations: reproducible, and NOT PRIVATE.
    patience
        How many later positions are asked before a round closes without the losses that it lacks, which then count as
        the middle of the range. "auto" (a tenth of the horizon up to 10,000 events, and never less than a hundredth of
        it), a whole number, or None to wait for ever. Nothing private decides when a round closes.
    ledger, name
        Charge the guarantee to a `Ledger`, under a name (a fresh one by default), when the optimizer is created; a
        ledger whose budget would be exceeded refuses.
    **choices
        Override single choices of the plan: exploration, mechanism, position, radius, batch_size, directions, rate,
        probe_events, step, step_multiplier, delay, method, padding, ... (see `Plan`).

    Examples
    --------
    >>> import numpy as np
    >>> import sottovoce as sv
    >>> drinks = "espresso lungo latte mocha cortado assam sencha matcha chai rooibos cocoa lemonade".split()
    >>> optimizer = sv.PrivateBandit(
    ...     sv.domains.Hypersimplex(drinks, k=5),  # choose 5 of 12
    ...     horizon=1000,
    ...     loss_range=(0.0, 1.0),
    ...     privacy=sv.PureDP(epsilon=1.0),
    ...     integral=True,  # whole drinks, not shares of them
    ...     seed=1,
    ... )
    >>> action = optimizer.ask()
    >>> action.chosen
    ['lungo', 'assam', 'sencha', 'matcha', 'lemonade']
    >>> optimizer.tell(action.id, 0.25)
    >>> actions = optimizer.ask(size=256)
    >>> actions.x.shape
    (256, 12)
    >>> optimizer.tell(actions.ids, np.full(256, 0.5))
    >>> optimizer.remaining
    743
    """

    @spelled_out
    def __init__(
        self,
        domain: Domain,
        *,
        horizon: int | None,
        loss_range: tuple[float, float],
        privacy: Guarantee,
        seed: int | None = None,
        noise: NoiseSource | None = None,
        patience: int | str | None = "auto",
        ledger: Ledger | None = None,
        name: str | None = None,
        **options: Unpack[OptimizerOptions],
    ) -> None:
        arguments, choices = separate(options)
        made = BanditConfiguration(
            domain, horizon, loss_range, privacy, patience=patience, choices=choices, **arguments
        )
        source = noise_source(noise)
        made.check_prior(source)
        self._build(made, source, seed, entropy_of(seed))
        warn_of(privacy, horizon, simulated=source.simulated, level=3)
        # Last of all: what cannot be built is not charged.
        check_ledger(ledger)
        if ledger is not None:
            entry = name or f"private-bandit-{uuid.uuid4().hex}"
            ledger.charge(entry, privacy, simulated=source.simulated, resume=False, token=new_token())

    def _build(self, made: BanditConfiguration, source: NoiseSource, seed: int | None, entropy: int) -> None:
        def store(shape: Shape) -> MemoryStore:
            return MemoryStore(shape, forks=not made.privacy.private or source.simulated)

        super().__init__(made, source, seed, entropy, store)

    def __repr__(self) -> str:
        whom = f"plan={self.plan.name!r}" if self.segments is None else f"segments={self.segments!r}"
        return (
            f"PrivateBandit({self.domain!r}, horizon={self.horizon}, privacy={self._problem.privacy!r}, {whom}, "
            f"asked={self.asked}, closed_rounds={self.round})"
        )

    # ------------------------------------------------------------------ one copy only

    def __reduce_ex__(self, protocol: Any) -> Any:
        if self._problem.privacy.private and not self._source.simulated:
            raise CopyRefused(
                "an optimizer with real noise cannot be copied or pickled: two copies of a round would release the "
                "same losses under two noises. Use noise=SimulatedNoise(seed) or privacy=NoPrivacy() in simulations"
            )
        return super().__reduce_ex__(protocol)

    def __copy__(self) -> "PrivateBandit":
        return copy.deepcopy(self)
