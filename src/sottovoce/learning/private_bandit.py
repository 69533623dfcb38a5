"""PrivateBandit: Algorithm 1 behind `ask` and `tell`.

This file keeps the books (ids, open rounds, what is outstanding); what happens to a complete round is NoisyOCO's affair
(epoch.py puts its parts together), and what happens to a loss is privacy's.
"""

import copy
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Self, overload

import numpy as np
from numpy.typing import NDArray

from sottovoce import _fork
from sottovoce._checks import choice, whole
from sottovoce._losses import as_array, as_float
from sottovoce.domains import Domain
from sottovoce.errors import CopyRefused, ForkRefused, HorizonReached, StateRefused
from sottovoce.learning import saved_state
from sottovoce.learning.configuration import Configuration
from sottovoce.learning.describe import describe
from sottovoce.learning.doubling import epoch_lengths
from sottovoce.learning.epoch import Epoch, next_epoch, public_coins
from sottovoce.learning.life import Life, begin_life, resume_life
from sottovoce.learning.open_rounds import Filling, OpenRounds, as_ids
from sottovoce.learning.outstanding import Outstanding
from sottovoce.learning.patience import patience_for
from sottovoce.learning.plan import Plan
from sottovoce.learning.rounds import FORGOTTEN, TOLD, UNWANTED, Action, Actions, Block
from sottovoce.privacy import Guarantee, Ledger, LocalDP, NoiseSource, PrivacyStatement, SecureNoise

__all__ = ["PrivateBandit"]

Floats = NDArray[np.float64]
_new_tuple = tuple.__new__
_BUSY = -1  # in place of the fork's number while a change is under way


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
        patience: int | str | None = "auto",
        ledger: Ledger | None = None,
        name: str | None = None,
        **choices: Any,
    ) -> None:
        made = (domain, horizon, loss_range, privacy, plan, play, losses, integral, drift, lipschitz, channel, choices)
        self._prepare(Configuration(*made, patience), SecureNoise() if noise is None else noise, seed)
        self._epoch = self._next_epoch(None)
        self._current = self._open_block()
        # Last of all: what cannot be built is not charged.
        self._charge(begin_life(ledger, name, self._problem.privacy, simulated=self._source.simulated))

    def _prepare(self, configuration: Configuration, source: NoiseSource, seed: int | None) -> None:
        self._configuration = configuration
        self._problem = configuration.problem()
        self.horizon = None if configuration.horizon is None else self._problem.horizon
        self._source = source
        self.seed = None if seed is None else whole("seed", seed, least=0)
        self._coins = public_coins(self.seed)
        self._local = isinstance(configuration.privacy, LocalDP)
        self._generation = self._settled = _fork.generation()
        self._lock = threading.RLock()
        self._lengths: Iterator[int] = epoch_lengths(self.horizon)
        self._origin = 0  # the id of the first event: above 0 after a restart
        self._planned = 0  # events of the epochs so far
        self._rounds = OpenRounds()  # begun and not released
        self._finished_calls = 0
        # For the auditing package alone: called with (round number, released numbers) before anything else uses them.
        self._on_release: Callable[[int, Floats], None] | None = None

    def _charge(self, life: Life) -> None:
        self._life, self._attentive = life, self._local or life.wants_to_hear

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
            if self._settled != _fork.current:
                self._attend()
            current = self._current
            slot = current.asked
            if slot == current.stop:
                current = self._look_around()
                slot = current.asked
            action = (current.first + slot, current.actions[slot], current.states[slot] != UNWANTED)
            current.asked = slot + 1
            return _new_tuple(Action, action)  # half the time of Action(...), once per event

    def ask_round(self, most: int | None = None) -> Actions:
        """Return the rest of the current round (or `most` of it), or of the next one if nothing is left of it."""
        limit = None if most is None else whole("most", most)
        with self._lock:
            if self._settled != _fork.current:
                self._attend()
            self._check_remaining(1)
            self._close_overdue()
            asked = self._asked
            left = self._blocks_from(asked, asked + 1)[0].round.end - asked
            return self._hand_out(left if limit is None else min(left, limit))

    def _ask_block(self, size: int) -> Actions:
        with self._lock:
            if self._settled != _fork.current:
                self._attend()
            self._check_remaining(size)
            self._close_overdue()
            return self._hand_out(size)

    def _hand_out(self, size: int) -> Actions:
        """Hand out the next actions: all of them, by one assignment after everything that can fail."""
        start = self._asked
        ids = np.arange(start, start + size)
        blocks = self._blocks_from(start, start + size)
        within = [slice(max(0, start - block.first), start + size - block.first) for block in blocks]
        x = _joined([block.actions[piece] for block, piece in zip(blocks, within, strict=True)])
        wants = _joined([block.wants_loss[piece] for block, piece in zip(blocks, within, strict=True)])
        actions, last = Actions(ids, x, wants), blocks[-1]
        last.stop = start + size - last.first  # rounds may be full now: asking one by one has to look around first
        last.asked = last.stop
        self._current = last
        return actions

    def _look_around(self) -> Block:
        """See to what asking one by one does not look at every time: rounds that are overdue, the next block."""
        self._check_remaining(1)
        self._close_overdue()
        asked = self._asked
        current = self._blocks_from(asked, asked + 1)[0]
        current.stop = min(current.size, self._rounds.due(self.patience) - current.first)
        if current is not self._current:
            current.asked = 0
            self._current = current
        return current

    def _close_overdue(self) -> None:
        """Close rounds that have been full for longer than patience lasts."""
        asked, patience = self._asked, self.patience
        self._rounds.note_full(asked)
        if patience is not None and self._rounds.due(patience) <= asked:
            self._settled = _BUSY
            self._rounds.forget_overdue(asked, patience)
            self._release()
            self._settled = self._generation

    def _blocks_from(self, start: int, end: int) -> list[Block]:
        """Return the blocks that hold the ids from `start` to before `end`, opened if need be."""
        while self._rounds.end < end:
            self._open_block()
        return self._rounds.blocks_from(start, end)

    def _check_remaining(self, size: int) -> None:
        remaining = self.remaining
        if remaining is not None and size > remaining:
            raise HorizonReached(
                f"size={size} actions were asked for, and {remaining} of horizon={self.horizon} are left; "
                "plan with a longer horizon, or with horizon=None if it is unknown"
            )

    def _open_block(self) -> Block:
        if self._epoch.exhausted:
            self._epoch = self._next_epoch(self._epoch)
        opened = self._epoch.open_block(self._coins)
        self._rounds.append(opened)
        return opened

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

    def tell(self, ids: Any, losses: Any = None, *, report: Any = None, late: str = "error") -> None:
        """Report the loss of an action, or of a block of them: any order, any split, each id once, all or nothing.

        Losses outside the range are clipped without a word. NaN and infinity are refused, without showing them. What an
        action with `wants_loss` False is told is dropped unread. Under `LocalDP` only privatised reports are taken:
        `tell(id, report=sv.local.privatise(loss, optimizer.channel))`. A loss that comes after its action was
        forgotten, or its round ran out of patience, is refused (`RoundClosed`), and with it the whole call;
        `late="drop"` drops such losses, and records the others.
        """
        if self._attentive or report is not None or late != "error":
            losses = self._reported(losses, report, late)
        if type(ids) is not int:
            self._tell_block(ids, losses, late)
            return
        with self._lock:
            if self._settled != _fork.current:
                self._attend()
            current = self._current
            slot = ids - current.first
            if not 0 <= slot < current.asked or current.states[slot]:
                located = self._rounds.locate_one(ids, asked=self._asked, late=late)
                if located is None:
                    return  # dropped unread
                current, slot = located
            current.slots[slot] = current.quantise(losses if type(losses) is float else as_float(losses))
            left = current.outstanding - 1
            current.outstanding = left  # before the loss is in: what is cut short is counted again, at zero
            if left > 0:
                current.states[slot] = TOLD  # now it is in
            else:
                self._tell_last(current, slot)

    def _tell_last(self, block: Block, slot: int) -> None:
        """Record the last loss of a block, and see to all that follows from it."""
        self._settled = _BUSY
        block.states[slot] = TOLD
        block.settle()
        self._rounds.drop_finished(self._asked)
        self._release()
        self._settled = self._generation

    def _reported(self, losses: Any, report: Any, late: str) -> Any:
        """See to what few calls need: reports in place of losses, and a ledger that must hear of the first."""
        choice("late", late, ("error", "drop"))
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
            self._life.hear()  # before the first loss
            self._attentive = self._local
        return losses

    def forget(self, ids: Any) -> int:
        """Close actions whose loss will never come: each counts as the middle of the range, whatever it was.

        What is told or forgotten already is skipped. Returns how many were closed.
        """
        with self._lock:
            if self._settled != _fork.current:
                self._attend()
            fillings = self._rounds.waiting(as_ids(ids).ravel(), asked=self._asked)
            self._fill(fillings, FORGOTTEN)
            return sum(len(slots) for _, slots, _ in fillings)

    def _tell_block(self, ids: Any, losses: Any, late: str) -> None:
        values = as_array(losses)
        with self._lock:
            if self._settled != _fork.current:
                self._attend()
            self._fill(self._rounds.losses(as_ids(ids), values, asked=self._asked, late=late), TOLD)

    def _fill(self, fillings: list[Filling], state: int) -> None:
        """Record what a call brings, and see to all that follows from it."""
        self._settled = _BUSY
        self._rounds.fill(fillings, state)
        self._rounds.drop_finished(self._asked)
        self._release()
        self._settled = self._generation

    def _release(self) -> None:
        """Release complete rounds, in order; when a round closes never depends on the value of a loss."""
        while (complete := self._rounds.complete(self._asked)) is not None:
            self._life.claim()  # nothing is released that a state, taken up elsewhere, may release as well
            complete.epoch.release(complete, self._on_release)
            self._rounds.close(complete)

    def _attend(self) -> None:
        """See to what is unusual: a process that has forked, or a call before this one that was cut short."""
        if self._generation != _fork.current:
            self._refuse_fork()
        if self._settled == _BUSY:
            self._rounds.settle(self._asked)
            self._release()
        self._settled = self._generation

    # ------------------------------------------------------------------ looking

    @property
    def domain(self) -> Domain:
        """The feasible set."""
        return self._problem.domain

    @property
    def _asked(self) -> int:
        current = self._current
        return current.first + current.asked

    @property
    def remaining(self) -> int | None:
        """Events that are left to ask; None if the horizon is unknown."""
        return None if self.horizon is None else self.horizon - (self._asked - self._origin)

    @property
    def channel(self) -> Any:
        """Under `LocalDP`: what owners privatise their losses with."""
        return self._problem.channel_of_owners

    def outstanding(self, limit: int | None = None) -> Outstanding:
        """Return the actions that were asked, and whose loss is neither told nor forgotten; the oldest `limit` of them.

        Printed, it says which round waits for what, and what to do.
        """
        limit = None if limit is None else whole("limit", limit, least=0)
        with self._lock:
            if self._settled != _fork.current:
                self._attend()
            return self._rounds.outstanding(self._asked, self.patience, limit)

    @property
    def patience(self) -> int | None:
        """How many later positions a full round waits for its losses; None for ever."""
        return patience_for(self._configuration.patience, horizon=self.horizon, planned=self._planned)

    @property
    def round(self) -> int:
        """Rounds that are closed."""
        return self._rounds.closed

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
            f"plan={self.plan.name!r}, asked={self._asked}, closed_rounds={self.round})"
        )

    # ------------------------------------------------------------------ saving

    def state(self) -> bytes:
        """Return what is needed to go on elsewhere, with a checksum: released values and public coins, no loss.

        Rounds that are not released are not in it. An optimizer that `from_state` makes of it begins a new round, and
        refuses the ids that this one handed out. Mechanisms that keep secrets from round to round (trees,
        factorisations) cannot be saved, and say so. With a ledger, a state is good for one continuation, until this
        optimizer closes its next round or hands out its next state: what comes second is charged as another life.
        """
        with self._lock:
            if self._settled != _fork.current:
                self._attend()
            saved_state.refuse_secrets(self._epoch)  # before the right to go on is handed over
            return saved_state.save(
                self._configuration,
                self._epoch,
                coins=self._coins,
                asked=self._asked - self._origin,
                planned=self._planned,
                released=self.round,
                finished_calls=self._finished_calls,
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
        if saved.token is not None and ledger is None:
            raise StateRefused(f"{saved.name!r} was charged to a ledger, and this life must be, too: pass ledger=")
        self = cls.__new__(cls)
        self._prepare(saved.configuration, saved.source, saved.seed)
        self._coins.bit_generator.state = saved.coins
        self._origin = saved_state.new_life()
        self._rounds = OpenRounds(self._origin, saved.released)
        self._finished_calls = saved.finished_calls
        while self._planned < saved.planned:
            length = next(self._lengths)
            self._planned += length
        self._epoch = saved.epoch(replace(self._problem, horizon=length), first=self._origin + self._planned - length)
        self._epoch.abandon(max(0, saved.asked - (self._planned - length)))
        if self._epoch.exhausted and self.horizon is not None:
            raise StateRefused(f"all {self.horizon} events of this state were asked: there is nothing to go on with")
        self._epoch.earlier = saved.released - self._epoch.counts[1]
        self._current = self._open_block()
        simulated = self._source.simulated
        self._charge(resume_life(ledger, name or saved.name, saved.token, self._problem.privacy, simulated=simulated))
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
        dropped = ("_lock", "_lengths", "_on_release")
        return {name: value for name, value in vars(self).items() if name not in dropped}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._lock, self._on_release = threading.RLock(), None
        self._generation = _fork.generation()
        self._settled = self._generation if self._settled != _BUSY else _BUSY
        self._lengths = epoch_lengths(self.horizon)
        passed = 0
        while passed < self._planned:
            passed += next(self._lengths)


def _joined(pieces: list[NDArray[Any]]) -> NDArray[Any]:
    return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)
