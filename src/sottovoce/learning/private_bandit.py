"""PrivateBandit: Algorithm 1 behind `ask` and `tell`.

This file keeps the books (ids, open rounds, what is outstanding); what happens to a complete round is NoisyOCO's affair
(epoch.py puts its parts together), and what happens to a loss is privacy's.
"""

import copy
import threading
import uuid
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Self, overload

import numpy as np
from numpy.typing import NDArray

from sottovoce import _fork
from sottovoce._checks import whole
from sottovoce._losses import as_array, as_float
from sottovoce.domains import Domain
from sottovoce.errors import AlreadyTold, CopyRefused, ForkRefused, HorizonReached, StateRefused
from sottovoce.learning import saved_state
from sottovoce.learning.configuration import Configuration
from sottovoce.learning.describe import describe
from sottovoce.learning.doubling import epoch_lengths
from sottovoce.learning.epoch import Epoch, next_epoch, public_coins
from sottovoce.learning.open_rounds import OpenRounds, as_ids
from sottovoce.learning.plan import Plan
from sottovoce.learning.rounds import TOLD, UNWANTED, Action, Actions, Block
from sottovoce.privacy import Guarantee, Ledger, LocalDP, NoiseSource, PrivacyStatement, SecureNoise

__all__ = ["PrivateBandit"]

Floats = NDArray[np.float64]
_new_tuple = tuple.__new__


class PrivateBandit:
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
        "auto" minimises the regret bound; "paper" is Algorithm 1 with the paper's parameters and noise; or a `Plan`.
    play
        "inside": every action is feasible. "around": actions lie on a sphere around the point and may leave the set.
    losses
        "convex", or "linear" if losses are linear in the action: then a few events explore, and only these report.
    integral
        Play vertices (0/1 decisions, say) with the right mean, instead of points between them.
    drift
        Whether what is good changes over the run: earlier rounds are then forgotten.
    lipschitz
        Lipschitz constant of the losses, if known. It affects regret, never privacy.
    seed
        Seeds the public coins (directions) only. Operating-system entropy by default.
    noise
        `SecureNoise()` by default. `SimulatedNoise(seed)` for simulations: reproducible, and NOT PRIVATE.
    channel
        For `LocalDP`: how owners privatise their losses, "one-bit" or "laplace".
    ledger, name
        Charge the guarantee to a `Ledger`, under a name (a fresh one by default), when the optimizer is created; a
        ledger whose budget would be exceeded refuses.
    **choices
        Override single choices of the plan: exploration, mechanism, position, radius, batch_size, directions, rate,
        probe_events, step, step_multiplier, delay, method, padding, ... (see `Plan`).

    Examples
    --------
    >>> import sottovoce as sv
    >>> optimizer = sv.PrivateBandit(
    ...     sv.domains.Hypersimplex(20, 5), horizon=1000, loss_range=(0.0, 1.0), privacy=sv.PureDP(epsilon=1.0)
    ... )
    >>> action = optimizer.ask()
    >>> optimizer.tell(action.id, 0.25)
    >>> actions = optimizer.ask(size=256)
    >>> actions.x.shape
    (256, 20)
    >>> optimizer.tell(actions.ids, np.full(256, 0.5))
    >>> optimizer.remaining
    743
    """

    def __init__(
        self,
        domain: Domain,
        *,
        horizon: int | None,
        loss_range: tuple[float, float],
        privacy: Guarantee,
        plan: str | Plan = "auto",
        play: str = "inside",
        losses: str = "convex",
        integral: bool = False,
        drift: bool = False,
        lipschitz: float | None = None,
        seed: int | None = None,
        noise: NoiseSource | None = None,
        channel: str = "one-bit",
        ledger: Ledger | None = None,
        name: str | None = None,
        **choices: Any,
    ) -> None:
        configuration = Configuration(
            domain, horizon, loss_range, privacy, plan, play, losses, integral, drift, lipschitz, channel, choices
        )
        self._prepare(configuration, SecureNoise() if noise is None else noise, seed)
        self._epoch = self._next_epoch(None)
        self._current = self._begin_block()
        self._charge(ledger, name, resume=False)

    def _prepare(self, configuration: Configuration, source: NoiseSource, seed: int | None) -> None:
        self._configuration = configuration
        self._problem = configuration.problem()
        self.horizon = None if configuration.horizon is None else self._problem.horizon
        self._source = source
        self.seed = None if seed is None else whole("seed", seed, least=0)
        self._coins = public_coins(self.seed)
        self._local = isinstance(configuration.privacy, LocalDP)
        self._generation = _fork.generation()
        self._lock = threading.RLock()
        self._lengths: Iterator[int] = epoch_lengths(self.horizon)
        self._origin = 0  # the id of the first event: above 0 after a restart
        self._planned = 0  # events of the epochs so far
        self._rounds = OpenRounds()  # begun and not released
        self._ahead: deque[Block] = deque()  # opened for a long ask, not begun
        self._finished_calls = 0
        self._released = 0

    def _charge(self, ledger: Ledger | None, name: str | None, *, resume: bool) -> None:
        self._ledger, self._name = ledger, name or f"private-bandit-{uuid.uuid4().hex}"
        self._attentive = self._local or ledger is not None
        if ledger is not None:  # last of all: what cannot be built is not charged
            ledger.charge(self._name, self._problem.privacy, simulated=self._source.simulated, resume=resume)

    # ------------------------------------------------------------------ asking

    @overload
    def ask(self, size: None = None) -> Action: ...

    @overload
    def ask(self, size: int) -> Actions: ...

    def ask(self, size: int | None = None) -> Action | Actions:
        """Return the next action, or a block of `size` of them.

        Never blocks: while losses are outstanding, later rounds play the newest point there is.
        """
        if size is not None:
            return self._ask_block(whole("size", size))
        with self._lock:
            if self._generation != _fork.current:
                self._refuse_fork()
            current = self._current
            slot = current.asked
            if slot == current.size:
                self._check_remaining(1)
                self._current = current = self._begin_block()
                slot = 0
            current.asked = slot + 1
            action = (current.first + slot, current.actions[slot], current.states[slot] != UNWANTED)
            return _new_tuple(Action, action)  # half the time of Action(...), once per event

    def ask_round(self, most: int | None = None) -> Actions:
        """Return the rest of the current round (or `most` of it), or of the next one if nothing is left of it."""
        limit = None if most is None else whole("most", most)
        with self._lock:
            if self._generation != _fork.current:
                self._refuse_fork()
            if self._current.asked == self._current.size:
                self._check_remaining(1)
                self._current = self._begin_block()
            current = self._current
            left = current.size - current.asked + current.round.size - current.round.opened
            left += sum(block.size for block in self._ahead if block.round is current.round)
            return self._ask_block(left if limit is None else min(left, limit))

    def _ask_block(self, size: int) -> Actions:
        with self._lock:
            if self._generation != _fork.current:
                self._refuse_fork()
            self._check_remaining(size)
            ids = np.arange(self._asked, self._asked + size)
            # Open every block that is needed before handing anything out: an oracle that fails leaves no half of it.
            free = self._current.size - self._current.asked + sum(block.size for block in self._ahead)
            while free < size:
                self._ahead.append(self._open_block())
                free += self._ahead[-1].size
            actions, wants = [], []
            left = size
            while left:
                if self._current.asked == self._current.size:
                    self._current = self._begin_block()
                taken = self._current.take(min(left, self._current.size - self._current.asked))
                actions.append(self._current.actions[taken])
                wants.append(self._current.wants_loss[taken])
                left -= taken.stop - taken.start
            return Actions(ids, _joined(actions), _joined(wants))

    def _check_remaining(self, size: int) -> None:
        remaining = self.remaining
        if remaining is not None and size > remaining:
            raise HorizonReached(
                f"size={size} actions were asked for, and {remaining} of horizon={self.horizon} are left; "
                "plan with a longer horizon, or with horizon=None if it is unknown"
            )

    def _begin_block(self) -> Block:
        begun = self._ahead.popleft() if self._ahead else self._open_block()
        self._rounds.append(begun)
        return begun

    def _open_block(self) -> Block:
        if self._epoch.exhausted:
            self._epoch = self._next_epoch(self._epoch)
        return self._epoch.open_block(self._coins)

    def _next_epoch(self, previous: Epoch | None) -> Epoch:
        length = next(self._lengths)
        problem = replace(self._problem, horizon=length)
        epoch = next_epoch(
            problem, self._configuration, self._source, first=self._origin + self._planned, previous=previous
        )
        if previous is not None:
            self._finished_calls += previous.oracle_calls
        self._planned += length
        return epoch

    # ------------------------------------------------------------------ telling

    def tell(self, ids: Any, losses: Any = None, *, report: Any = None) -> None:
        """Report the loss of an action, or of a block of them: any order, any split, each id once, all or nothing.

        Losses outside the range are clipped without a word. NaN and infinity are refused, without showing them. What an
        action with `wants_loss` False is told is dropped unread. Under `LocalDP` only privatised reports are taken:
        `tell(id, report=sv.local.privatise(loss, optimizer.channel))`.
        """
        if self._attentive or report is not None:
            losses = self._reported(losses, report)
        if type(ids) is not int:
            self._tell_block(ids, losses)
            return
        with self._lock:
            if self._generation != _fork.current:
                self._refuse_fork()
            current = self._current
            slot = ids - current.first
            if not 0 <= slot < current.asked:
                located = self._rounds.locate_one(ids, asked=self._asked)
                if located is None:
                    return  # dropped unread
                current, slot = located
            if current.states[slot]:
                if current.states[slot] == UNWANTED:
                    return  # dropped unread
                raise AlreadyTold(f"id {ids} has its loss already, or was forgotten; nothing was changed")
            current.slots[slot] = current.quantise(losses if type(losses) is float else as_float(losses))
            current.states[slot] = TOLD
            current.outstanding -= 1
            if not current.outstanding:
                current.finish()
                self._rounds.drop_finished()
                self._release()

    def _reported(self, losses: Any, report: Any) -> Any:
        """See to what few optimizers need: reports in place of losses, and a ledger that must hear of the first."""
        if self._local:
            if losses is not None or report is None:
                raise TypeError(
                    "under LocalDP a raw loss is refused: privatise it where it is born, and tell(id, "
                    "report=sv.local.privatise(loss, optimizer.channel))"
                )
            losses = report
        elif report is not None:
            raise TypeError(f"report= is for LocalDP; under {self._problem.privacy} tell the loss itself")
        with self._lock:
            if self._ledger is not None:  # before the first loss: from here on it gives nothing back
                self._ledger.mark_used(self._name)
                self._ledger, self._attentive = None, self._local
        return losses

    def forget(self, ids: Any) -> None:
        """Close actions whose loss will never come: each counts as the middle of the range, whatever it was."""
        with self._lock:
            if self._generation != _fork.current:
                self._refuse_fork()
            self._rounds.fill(as_ids(ids), None, asked=self._asked)
            self._release()

    def _tell_block(self, ids: Any, losses: Any) -> None:
        values = as_array(losses)
        with self._lock:
            if self._generation != _fork.current:
                self._refuse_fork()
            self._rounds.fill(as_ids(ids), values, asked=self._asked)
            self._release()

    def _release(self) -> None:
        """Release complete rounds, in order; when a round closes never depends on the value of a loss."""
        while (complete := self._rounds.complete()) is not None:
            complete.epoch.release(complete)  # all or nothing: on an error the round stays, and is tried again
            self._rounds.close(complete)
            self._released += 1

    # ------------------------------------------------------------------ looking

    @property
    def domain(self) -> Domain:
        """The feasible set."""
        return self._problem.domain

    @property
    def _asked(self) -> int:
        return self._current.first + self._current.asked

    @property
    def remaining(self) -> int | None:
        """Events that are left to ask; None if the horizon is unknown."""
        return None if self.horizon is None else self.horizon - (self._asked - self._origin)

    @property
    def channel(self) -> Any:
        """Under `LocalDP`: what owners privatise their losses with."""
        return self._problem.channel_of_owners

    @property
    def outstanding(self) -> int:
        """Actions that were asked, and whose loss is neither told nor forgotten."""
        return self._rounds.outstanding

    @property
    def round(self) -> int:
        """Rounds that are closed."""
        return self._released

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
        """Calls of the linear oracle that computing points has cost."""
        return self._finished_calls + self._epoch.oracle_calls

    @property
    def privacy(self) -> PrivacyStatement:
        """The statement: what is promised, to whom, against whom, why it holds, what is not covered."""
        return describe(self._problem, self.plan, self._source, doubling=self.horizon is None)

    def __repr__(self) -> str:
        return (
            f"PrivateBandit({self.domain!r}, horizon={self.horizon}, privacy={self._problem.privacy!r}, "
            f"plan={self.plan.name!r}, asked={self._asked}, closed_rounds={self._released})"
        )

    # ------------------------------------------------------------------ saving

    def state(self) -> bytes:
        """Return what is needed to go on elsewhere, with a checksum: released values and public coins, no loss.

        Rounds that are not released are not in it. An optimizer that `from_state` makes of it begins a new round, and
        refuses the ids that this one handed out. Mechanisms that keep secrets from round to round (trees,
        factorisations) cannot be saved, and say so.
        """
        with self._lock:
            if self._generation != _fork.current:
                self._refuse_fork()
            return saved_state.save(
                self._configuration,
                self._epoch,
                coins=self._coins,
                asked=self._asked - self._origin,
                planned=self._planned,
                released=self._released,
                finished_calls=self._finished_calls,
                seed=self.seed,
                simulated=self._source.simulated,
                name=self._name,
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
            As for `PrivateBandit`; the name under which the original was charged is remembered, and is not charged
            again.

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
        self = cls.__new__(cls)
        self._prepare(saved.configuration, saved.source, saved.seed)
        self._coins.bit_generator.state = saved.coins
        self._origin = saved_state.new_life()
        self._rounds = OpenRounds(self._origin)
        self._released, self._finished_calls = saved.released, saved.finished_calls
        while self._planned < saved.planned:
            length = next(self._lengths)
            self._planned += length
        self._epoch = saved.epoch(replace(self._problem, horizon=length), first=self._origin + self._planned - length)
        self._epoch.abandon(max(0, saved.asked - (self._planned - length)))
        if self._epoch.exhausted and self.horizon is not None:
            raise StateRefused(f"all {self.horizon} events of this state were asked: there is nothing to go on with")
        self._current = self._begin_block()
        self._charge(ledger, name or saved.name, resume=True)
        return self

    # ------------------------------------------------------------------ one copy only

    @property
    def _releases_in_earnest(self) -> bool:
        return self._problem.privacy.private and not self._source.simulated

    def _refuse_fork(self) -> None:
        if self._releases_in_earnest:
            raise ForkRefused(
                "this optimizer was created in another process: parent and child would release the same losses "
                "under two noises. Create it after the fork, in one process only"
            )
        self._generation = _fork.generation()

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
        dropped = ("_lock", "_lengths")
        return {name: value for name, value in vars(self).items() if name not in dropped}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._lock = threading.RLock()
        self._generation = _fork.generation()
        self._lengths = epoch_lengths(self.horizon)
        passed = 0
        while passed < self._planned:
            passed += next(self._lengths)


def _joined(pieces: list[NDArray[Any]]) -> NDArray[Any]:
    return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)
