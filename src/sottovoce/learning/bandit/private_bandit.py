"""PrivateBandit: Algorithm 1 behind `ask` and `tell`.

_ask_tell.py keeps the books (ids, open rounds, what is outstanding); what happens to a complete round is NoisyOCO's
affair (epoch.py puts its parts together), and what happens to a loss is privacy's.
"""

import copy
import threading
from dataclasses import replace
from typing import Any, Self, Unpack, cast, overload

from sottovoce import _fork
from sottovoce._arrays import Floats
from sottovoce._checks import choice, whole
from sottovoce._losses import as_array, raw_loss_refused
from sottovoce.domains import Domain
from sottovoce.errors import CopyRefused, StateRefused
from sottovoce.exploration.posterior import Misfit, Posterior
from sottovoce.learning.bandit import saved_state
from sottovoce.learning.bandit._ask_tell import BUSY, AskTell, Epochs
from sottovoce.learning.bandit._life import Life, begin_life, resume_life
from sottovoce.learning.bandit.actions import Action, Actions
from sottovoce.learning.bandit.configuration import BanditConfiguration
from sottovoce.learning.bandit.describe import describe
from sottovoce.learning.bandit.doubling import next_length
from sottovoce.learning.bandit.open_rounds import OpenRounds
from sottovoce.learning.bandit.outstanding import Outstanding
from sottovoce.learning.bandit.recommendation import Recommendation, believed, best_informed, misfit_of
from sottovoce.learning.options import OptimizerOptions, separate, spelled_out
from sottovoce.learning.planning.plan import Plan
from sottovoce.privacy import Guarantee, Ledger, NoiseSource, PrivacyStatement
from sottovoce.privacy.noise import noise_source

__all__ = ["PrivateBandit"]


class PrivateBandit(AskTell):
    """Optimise a decision online, from loss values alone, while every person's loss stays private.

    Parameters
    ----------
    domain
        The feasible set.
    horizon
        How many events there will be. None if unknown: the run then proceeds in epochs of doubled length, which costs
        regret but no privacy.
    loss_range
        (low, high): losses are clipped to it, silently. Privacy rests on this clipping and on nothing else that a
        caller does.
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
        What `posterior` of an earlier run or study returned, about the same coordinates: posterior probes begin with
        what that knew, allow for a world that has moved since, and drop it if released numbers speak against it.
    accept_prior
        "not private" begins with a prior that holds losses of people whom nothing protects: of a run without privacy,
        with simulated noise, or with a promise that is not known. It is refused otherwise, and the statement says it.
    segments
        Kinds of people or occasions, public, that are decided for separately and learn from each other: a list of
        names, a mapping of factors to levels, or `Segments`. `ask` then says whom an action is for.
    seed
        Seeds the public coins (directions) only. Operating-system entropy by default.
    noise
        `SecureNoise()` by default. `SimulatedNoise(seed)` for simulations: reproducible, and NOT PRIVATE.
    channel
        For `LocalDP`: how owners privatise their losses, "one-bit" or "laplace".
    patience
        How many later positions are asked before a round closes without the losses that it lacks, which then count as
        the middle of the range. "auto" (a hundredth of the horizon, and 10,000 or a tenth of it at least), a whole
        number, or None to wait for ever. Nothing private decides when a round closes.
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
    ['espresso', 'lungo', 'mocha', 'sencha', 'rooibos']
    >>> optimizer.tell(action.id, 0.25)
    >>> actions = optimizer.ask(size=256)
    >>> actions.x.shape
    (256, 12)
    >>> optimizer.tell(actions.ids, np.full(256, 0.5))
    >>> optimizer.remaining
    743
    """

    def __new__(cls, *_: Any, segments: Any = None, **__: Any) -> Self:
        """Return an optimizer of several segments, where there are any."""
        if segments is not None and cls is PrivateBandit:
            from sottovoce.learning.segmented import SegmentedBandit

            return cast(Self, super().__new__(SegmentedBandit))
        return super().__new__(cls)

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
        self._prepare(made, source, seed)
        self._begin()
        # Last of all: what cannot be built is not charged.
        self._charge(begin_life(ledger, name, self._problem.privacy, simulated=self._source.simulated))

    __new__.__signature__ = __init__.__signature__  # type: ignore[attr-defined]

    def _begin(self) -> None:
        self._epochs = self._next_epoch(None)
        self._current = self._open_block()

    def _charge(self, life: Life) -> None:
        self._life, self._attentive = life, self._local or life.wants_to_hear

    # ------------------------------------------------------------------ asking

    @overload
    def ask(self, size: None = None, *, segment: Any = None) -> Action: ...

    @overload
    def ask(self, size: int, *, segment: Any = None) -> Actions: ...

    def ask(self, size: int | None = None, *, segment: Any = None) -> Action | Actions:
        """Return the next action, or a block of `size` of them.

        Never blocks: while losses are outstanding, later rounds play the newest point there is.

        Parameters
        ----------
        size
            How many actions; None for a single `Action`.
        segment
            Whom it is for, of an optimizer with `segments`; for a block, one segment for all of it or a list with one
            for each event.
        """
        if segment is not None:
            raise no_segments()
        if size is not None:
            size = whole("size", size)
            with self._lock: return self._ask_block(size)  # noqa: E701  # fmt: skip
        with self._lock: return self._ask_one()  # noqa: E701  # fmt: skip

    def ask_round(self, most: int | None = None, *, segment: Any = None) -> Actions:
        """Return the rest of the current round (or `most` of it), or of the next one if nothing is left of it.

        Parameters
        ----------
        most
            How many actions at most; None for all that are left of the round.
        segment
            Whose round, of an optimizer with `segments`.
        """
        if segment is not None:
            raise no_segments()
        limit = None if most is None else whole("most", most)
        with self._lock: return self._ask_round(limit)  # noqa: E701  # fmt: skip

    # ------------------------------------------------------------------ telling

    def tell(self, ids: Any, losses: Any = None, *, report: Any = None, late: str = "error") -> None:
        """Report the loss of an action, or of a block of them: any order, any split, each id once, all or nothing.

        Losses outside the range are clipped without a word. NaN and infinity are refused, without showing them. What an
        action with `wants_loss` False is told is dropped unread. Under `LocalDP` only privatised reports are taken:
        `tell(id, report=sv.local.privatise(loss, optimizer.channel))`. A loss that comes after its action was
        forgotten, or its round ran out of patience, is refused (`RoundClosed`), and with it the whole call;
        `late="drop"` drops such losses, and records the others.

        Parameters
        ----------
        ids
            The id of one action, or an array of them.
        losses
            A number for each id.
        report
            In place of losses under `LocalDP`: what `sv.local.privatise` returned for each id.
        late
            "error" refuses a call with losses that come too late, "drop" drops those.
        """
        if self._attentive or report is not None or late != "error":
            losses = self._reported(losses, report, late)
        if type(ids) is int:
            with self._lock: return self._tell_one(ids, losses, late)  # noqa: E701  # fmt: skip
        values = as_array(losses)
        with self._lock: return self._tell_block(ids, values, late)  # noqa: E701  # fmt: skip

    def _reported(self, losses: Any, report: Any, late: str) -> Any:
        """See to what few calls need: reports in place of losses, and a ledger that must hear of the first."""
        choice("late", late, ("error", "drop"))
        if self._local:
            if losses is not None or report is None:
                raise raw_loss_refused("optimizer")
            losses = report
        elif report is not None:
            raise TypeError(f"report= is for LocalDP; under {self._problem.privacy} tell the loss itself")
        with self._lock: self._hear()  # noqa: E701  # fmt: skip
        return losses

    def _hear(self) -> None:
        self._life.hear()  # before the first loss
        self._attentive = self._local

    def forget(self, ids: Any) -> int:
        """Close actions whose loss will never come: each counts as the middle of the range, whatever it was.

        What is told or forgotten already is skipped. Returns how many were closed.

        Parameters
        ----------
        ids
            The id of one action, or an array of them.
        """
        with self._lock: return self._forget(ids)  # noqa: E701  # fmt: skip

    # ------------------------------------------------------------------ looking

    @property
    def domain(self) -> Domain:
        """The feasible set."""
        return self._problem.domain

    @property
    def channel(self) -> Any:
        """Under `LocalDP`: what owners privatise their losses with."""
        return self._problem.channel_of_owners

    def outstanding(self, limit: int | None = None) -> Outstanding:
        """Return the actions that were asked, and whose loss is neither told nor forgotten; the oldest `limit` of them.

        Printed, it says which round waits for what, and what to do.
        """
        limit = None if limit is None else whole("limit", limit, least=0)
        with self._lock: return self._outstanding(limit)  # noqa: E701  # fmt: skip

    def recommend(self, *, segment: Any = None) -> Recommendation:
        """Return the decision to take home, now or after the last event, with how sure that is and what it rests on.

        Released values alone decide it. The point that actions are taken around may lag behind: see `point`.

        Parameters
        ----------
        segment
            For whom, of an optimizer with `segments`; None for one decision for all of them, with that of each beside
            it.
        """
        if segment is not None:
            raise no_segments()
        with self._lock: return self._recommended()  # noqa: E701  # fmt: skip

    def posterior(self, *, segment: Any = None) -> Posterior:
        """Return what is believed about losses: to look at, to `save`, and to begin another run with (`prior=`).

        It holds released values alone. Plans without a model (frames, designs, the paper's) have none, and say so.

        Parameters
        ----------
        segment
            Of whom, of an optimizer with `segments`.
        """
        if segment is not None:
            raise no_segments()
        with self._lock: return self._believed()  # noqa: E701  # fmt: skip

    def misfit(self, *, segment: Any = None) -> Misfit | None:
        """Return how well what was released fits the model of the losses; None if the plan has none.

        Its `caution` says what to do if it does not; `recommend` repeats it.

        Parameters
        ----------
        segment
            Of whom, of an optimizer with `segments`.
        """
        if segment is not None:
            raise no_segments()
        with self._lock: return misfit_of(self._best_informed or self._epoch)  # noqa: E701  # fmt: skip

    def _believed(self) -> Posterior:
        if self._settled != _fork.current:
            self._settle()
        statement, known = self.privacy, believed(self._best_informed or self._epoch)
        return replace(known, promises=statement.promises)

    @property
    def point(self) -> Floats:
        """The point that actions are taken around at present: a function of released values alone."""
        return self._current.round.epoch.stage.original(self._current.round.point)

    @property
    def plan(self) -> Plan:
        """The plan in force; that of the current epoch if the horizon is unknown."""
        return self._epoch.plan

    @property
    def oracle_calls(self) -> int:
        """Calls of the linear oracle that were made for this optimizer, `setup_oracle_calls` among them.

        What a state was taken from has made is in it as far as it computed points.
        """
        return self._epochs.finished_calls + self._epoch.oracle_calls

    @property
    def setup_oracle_calls(self) -> int:
        """Calls of the linear oracle before the first action: planning, and geometry that has no formula.

        A set remembers its geometry: a second optimizer on the same one finds it there, and does not ask again.
        """
        return self._epochs.setup_calls

    @property
    def privacy(self) -> PrivacyStatement:
        """The statement: what is promised, to whom, against whom, why it holds, what is not covered."""
        return describe(self._problem, self.plan, self._source, doubling=self.horizon is None)

    def __repr__(self) -> str:
        return (
            f"PrivateBandit({self.domain!r}, horizon={self.horizon}, privacy={self._problem.privacy!r}, "
            f"plan={self.plan.name!r}, asked={self._asked - self._origin}, closed_rounds={self.round})"
        )

    # ------------------------------------------------------------------ saving

    def state(self) -> bytes:
        """Return what is needed to go on elsewhere, with a checksum: released values and public coins, no loss.

        Rounds that are not released are not in it. An optimizer that `from_state` makes of it begins a new round, and
        refuses the ids that this one handed out. Mechanisms that keep secrets from round to round (trees,
        factorisations) cannot be saved, and say so. With a ledger, a state is good for one continuation, until this
        optimizer closes its next round or hands out its next state: what comes second is charged as another life.
        """
        with self._lock: return self._saved()  # noqa: E701  # fmt: skip

    def _saved(self) -> bytes:
        if self._settled != _fork.current:
            self._settle()
        saved_state.refuse_secrets(self._epoch)  # before the right to go on is handed over
        return saved_state.save(
            self._configuration,
            self._epoch,
            coins=self._coins,
            asked=self._asked - self._origin,
            planned=self._epochs.planned,
            released=self.round,
            finished_calls=self._epochs.finished_calls,
            home=None if best_informed([self._epoch]) is not None else self._recommended(),
            seed=self.seed,
            simulated=self._source.simulated,
            name=self._life.name,
            token=self._life.hand_over(),
        )

    @classmethod
    def from_state(
        cls,
        state: bytes,
        *,
        domain: Domain | None = None,
        noise: NoiseSource | None = None,
        ledger: Ledger | None = None,
        name: str | None = None,
    ) -> Self:
        """Return an optimizer that goes on where `state` was taken; losses of rounds that were open then are lost.

        Parameters
        ----------
        state
            What `state` returned. Take up each state once: two optimizers of one state share their public coins.
        domain
            The feasible set, if it holds functions of your own (`sv.domains.Custom`, say), which are not stored.
        noise
            As for `PrivateBandit`; simulated noise has to be passed again.
        ledger, name
            As for `PrivateBandit`. Pass the ledger that the original was charged to: the first to take up its newest
            state goes on under its charge; any other is charged as a life of its own, or refused. A state of an
            optimizer that was charged is refused without a ledger.

        Examples
        --------
        >>> import sottovoce as sv
        >>> optimizer = sv.PrivateBandit(
        ...     sv.domains.Simplex(5), horizon=1000, loss_range=(0.0, 1.0), privacy=sv.PureDP(epsilon=1.0)
        ... )
        >>> actions = optimizer.ask(300)
        >>> optimizer.tell(actions.ids, actions.x[:, 0])
        >>> again = sv.PrivateBandit.from_state(optimizer.state())
        >>> again.remaining, again.round == optimizer.round
        (700, True)
        """
        saved = saved_state.load(state, domain=domain, noise=noise)
        if saved.configuration.segments is not None and cls is PrivateBandit:
            from sottovoce.learning.segmented import SegmentedBandit

            return cast(Self, SegmentedBandit.from_state(state, domain=domain, noise=noise, ledger=ledger, name=name))
        if saved.token is not None and ledger is None:
            raise StateRefused(f"{saved.name!r} was charged to a ledger, and this life must be, too: pass ledger=")
        self = cls.__new__(cls)
        self._prepare(saved.configuration, saved.source, saved.seed)
        self._coins.bit_generator.state = saved.coins
        self._home = saved.home
        self._origin = saved_state.new_life()
        self._rounds = OpenRounds(self._origin, saved.released)
        planned = length = 0
        while planned < saved.planned:
            length = next_length(self.horizon, planned)
            planned += length
        epoch = saved.epoch(replace(self._problem, horizon=length), first=self._origin + planned - length)
        epoch.abandon(max(0, saved.asked - (planned - length)))
        epoch.earlier = saved.released - epoch.counts[1]
        if epoch.exhausted and self.horizon is not None:
            raise StateRefused(f"all {self.horizon} events of this state were asked: there is nothing to go on with")
        self._epochs, self._taught = Epochs(epoch, planned, saved.finished_calls), best_informed([epoch])
        self._current = self._open_block()
        simulated = self._source.simulated
        self._charge(resume_life(ledger, name or saved.name, saved.token, self._problem.privacy, simulated=simulated))
        return self

    # ------------------------------------------------------------------ one copy only

    def __reduce_ex__(self, protocol: Any) -> Any:
        if self._releases_in_earnest:
            raise CopyRefused(
                "an optimizer with real noise cannot be copied or pickled: two copies of a round would release the "
                "same losses under two noises. Use noise=SimulatedNoise(seed) or privacy=NoPrivacy() in simulations"
            )
        return super().__reduce_ex__(protocol)

    def __copy__(self) -> "PrivateBandit":
        return copy.deepcopy(self)

    def __getstate__(self) -> dict[str, Any]:
        dropped = ("_lock", "_on_release")
        return {name: value for name, value in vars(self).items() if name not in dropped}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._lock, self._on_release = threading.RLock(), None
        self._generation = _fork.generation()
        self._settled = self._generation if self._settled != BUSY else BUSY


def no_segments() -> TypeError:
    """Say that there are none."""
    return TypeError("segment= is for an optimizer with segments: pass segments=[...] when it is created")
