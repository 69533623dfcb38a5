"""The books behind `PrivateBandit`: what is asked, told, overdue and released, whatever cuts a call short.

An exception may be delivered between any two lines (a keyboard interrupt, an alarm, a solver that fails). Therefore
every step is one assignment away from done, and nothing is undone: what is begun is finished by the next call.

- Asking: a draw counts once the epoch has it, a block once it is in the list, and actions are handed out by the last
  assignment of a call. What a call that was cut short has drawn goes out with the next one.
- Telling: a loss is in once its slot says so, a block of them once the list of what to fill is in place. Everything
  after that, up to the release, is found unfinished by the next call (`_settled` says so), and finished.
- Releasing: what a mechanism has drawn stays with it and then with the round, before anything uses it; a round is never
  drawn for twice, and learned from once.

Locks are taken and released on one line with what they guard: so there is no moment in between.

Tests: tests/learning/test_interrupts.py raises at every line of every call.
"""

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sottovoce import _fork
from sottovoce._arrays import Floats
from sottovoce._checks import whole
from sottovoce._losses import as_float
from sottovoce.domains.oracles import calls_of_this_thread
from sottovoce.errors import ForkRefused, HorizonReached
from sottovoce.exploration import joined
from sottovoce.learning.bandit._life import Life
from sottovoce.learning.bandit.actions import Action, Actions
from sottovoce.learning.bandit.configuration import BanditConfiguration
from sottovoce.learning.bandit.doubling import next_length
from sottovoce.learning.bandit.epoch import Epoch, next_epoch, public_coins
from sottovoce.learning.bandit.open_losses import FORGOTTEN, TOLD
from sottovoce.learning.bandit.open_rounds import Filling, OpenRounds, as_ids
from sottovoce.learning.bandit.outstanding import Outstanding
from sottovoce.learning.bandit.patience import patience_for
from sottovoce.learning.bandit.recommendation import Recommendation, best_informed, recommended
from sottovoce.learning.bandit.rounds import Block, OpenRound
from sottovoce.privacy import LocalDP, NoiseSource

__all__ = ["BUSY", "AskTell", "Epochs"]

BUSY = -1  # in place of the fork's number while a change is under way


class Epochs(NamedTuple):
    """The epoch that blocks are drawn from; replaced as a whole."""

    current: Epoch
    planned: int  # events of it and of those before
    finished_calls: int  # oracle calls of those before
    setup_calls: int = 0  # of these and of the current one's, those before the first event of each


class AskTell:
    """The books. All methods but the properties are called with the lock held."""

    _epochs: Epochs
    _life: Life
    _current: Block  # the one that is asked from: those before are asked to their end, those after not at all

    def _prepare(self, configuration: BanditConfiguration, source: NoiseSource, seed: int | None) -> None:
        self._configuration = configuration
        calls = calls_of_this_thread()
        self._problem = configuration.problem()
        self._problem_calls = calls_of_this_thread() - calls  # of the oracle, to see whether the set is one at all
        self.horizon = None if configuration.horizon is None else self._problem.horizon
        self._source = source
        self.seed = None if seed is None else whole("seed", seed, least=0)
        self._coins = public_coins(self.seed)
        self._local = isinstance(configuration.privacy, LocalDP)
        self._generation = self._settled = _fork.generation()
        self._lock = threading.RLock()
        self._origin = 0  # the id of the first event: above 0 after a restart
        self._rounds: OpenRounds[Block, OpenRound] = OpenRounds()  # begun and not released
        self._taught: Epoch | None = None  # the one that has learned most of those whose rounds were released
        self._home: Recommendation | None = None  # what was known when a state was taken, if nothing else says it
        # For the auditing package alone: called with (round number, released numbers) before anything else uses them.
        self._on_release: Callable[[int, Floats], None] | None = None

    def _join(self, whole: "AskTell", origin: int) -> None:
        """Be a part of another's books: the same set, coins and noise; ids and rounds of its own."""
        self._configuration, self._problem, self._problem_calls = whole._configuration, whole._problem, 0
        self.horizon, self._source, self.seed, self._coins = whole.horizon, whole._source, whole.seed, whole._coins
        self._local, self._generation, self._settled = whole._local, whole._generation, whole._generation
        self._origin, self._rounds = origin, OpenRounds(origin)
        self._taught = self._home = self._on_release = None

    # ------------------------------------------------------------------ asking

    def _ask_one(self) -> Action:
        if self._settled != _fork.current:
            self._settle()
        current = self._current
        slot = current.asked
        if slot == current.stop:
            current = self._look_around()
            slot = current.asked
        action = current.ready[slot]
        current.asked = slot + 1
        return action

    def _ask_block(self, size: int) -> Actions:
        if self._settled != _fork.current:
            self._settle()
        self._check_remaining(size)
        self._close_overdue()
        return self._hand_out(size)

    def _ask_round(self, most: int | None) -> Actions:
        if self._settled != _fork.current:
            self._settle()
        self._check_remaining(1)
        self._close_overdue()
        asked = self._asked
        left = self._blocks_from(asked, asked + 1)[0].round.end - asked
        return self._hand_out(left if most is None else min(left, most))

    def _hand_out(self, size: int) -> Actions:
        """Hand out the next actions: all of them, by one assignment after everything that can fail."""
        start = self._asked
        ids = np.arange(start, start + size)
        blocks = self._blocks_from(start, start + size)
        within = [slice(max(0, start - block.first), start + size - block.first) for block in blocks]
        x = joined([block.actions[piece] for block, piece in zip(blocks, within, strict=True)])
        wants = joined([block.wants_loss[piece] for block, piece in zip(blocks, within, strict=True)])
        actions, last = Actions(ids, x, wants, self._problem.domain), blocks[-1]
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
        current.make_ready()
        current.stop = min(current.size, asked - current.first + self._rounds.due(self.patience) - self._now)
        if current is not self._current:
            current.asked = 0
            self._current = current
        return current

    def _close_overdue(self, now: int | None = None) -> None:
        """Close rounds that have been full for longer than patience lasts; `now` is what it counts, if known."""
        asked, patience, now = self._asked, self.patience, self._now if now is None else now
        self._rounds.note_full(asked, now)
        if patience is not None and self._rounds.due(patience) <= now:
            self._settled = BUSY
            self._rounds.forget_overdue(asked, patience, now)
            self._release()
            self._settled = self._generation

    def _check_remaining(self, size: int) -> None:
        remaining = self.remaining
        if remaining is not None and size > remaining:
            raise HorizonReached(
                f"size={size} actions were asked for, and {remaining} of horizon={self.horizon} are left; "
                "plan with a longer horizon, or with horizon=None if it is unknown"
            )

    # ------------------------------------------------------------------ drawing

    def _blocks_from(self, start: int, end: int) -> list[Block]:
        """Return the blocks that hold the ids from `start` to before `end`, opened if need be."""
        while self._rounds.end < end:
            self._open_block()
        return self._rounds.blocks_from(start, end)

    def _open_block(self) -> Block:
        drawn = self._epoch.newest
        if drawn is None or drawn[1] < self._rounds.end:  # else it was drawn by a call that was cut short
            if self._epoch.exhausted:
                self._epochs = self._next_epoch(self._epochs)
            self._epoch.compact = True
            drawn = self._epoch.draw_block(self._coins)
        opened = Block(*drawn, self._epoch.grid)
        self._rounds.append(opened)
        return opened

    def _next_epoch(self, so_far: Epochs | None) -> Epochs:
        asked = self._problem_calls
        previous, planned, calls, setup = (None, 0, asked, asked) if so_far is None else so_far
        length = next_length(self.horizon, planned)
        epoch = self._make_epoch(length, self._origin + planned, previous)
        finished = calls if previous is None else calls + previous.oracle_calls
        return Epochs(epoch, planned + length, finished, setup + epoch.setup_calls)

    def _make_epoch(self, length: int, first: int, previous: Epoch | None) -> Epoch:
        problem = replace(self._problem, horizon=length)
        return next_epoch(problem, self._configuration, self._source, first=first, previous=previous)

    @property
    def _epoch(self) -> Epoch:
        return self._epochs.current

    # ------------------------------------------------------------------ telling

    def _tell_one(self, one: int, loss: Any, late: str) -> None:
        if self._settled != _fork.current:
            self._settle()
        current = self._current
        slot = one - current.first
        if not 0 <= slot < current.asked or current.states[slot]:
            located = self._rounds.locate_one(one, asked=self._asked, late=late)
            if located is None:
                return  # dropped unread
            current, slot = located
        current.slots[slot] = current.quantise(loss if type(loss) is float else as_float(loss))
        left = current.outstanding - 1
        current.outstanding = left  # before the loss is in: at zero it is counted again, should this be cut short here
        if left > 0:
            current.states[slot] = TOLD  # now it is in
        else:
            self._tell_last(current, slot)

    def _tell_last(self, block: Block, slot: int) -> None:
        """Record the last loss of a block, and see to all that follows from it."""
        self._settled = BUSY
        block.states[slot] = TOLD
        block.settle()
        self._rounds.drop_finished(self._asked)
        self._release()
        self._settled = self._generation

    def _tell_block(self, ids: Any, losses: NDArray[Any], late: str) -> None:
        if self._settled != _fork.current:
            self._settle()
        self._fill(self._rounds.losses(as_ids(ids), losses, asked=self._asked, late=late), TOLD)

    def _forget(self, ids: Any) -> int:
        if self._settled != _fork.current:
            self._settle()
        fillings = self._rounds.waiting(as_ids(ids).ravel(), asked=self._asked)
        self._fill(fillings, FORGOTTEN)
        return sum(len(slots) for _, slots, _ in fillings)

    def _fill(self, fillings: list[Filling[Block]], state: int) -> None:
        """Record what a call brings, and see to all that follows from it."""
        self._settled = BUSY
        self._rounds.fill(fillings, state)
        self._rounds.drop_finished(self._asked)
        self._release()
        self._settled = self._generation

    # ------------------------------------------------------------------ releasing

    def _release(self) -> None:
        """Release complete rounds, in order; when a round closes never depends on the value of a loss."""
        while (complete := self._rounds.complete(self._asked)) is not None:
            self._life.claim()  # nothing is released that a state, taken up elsewhere, may release as well
            complete.epoch.release(complete, self._on_release)
            if complete.epoch is not self._taught:
                self._taught = best_informed([one for one in (complete.epoch, self._taught) if one is not None])
            self._rounds.close(complete)

    def _settle(self) -> None:
        """See to what is unusual: a process that has forked, or a call before this one that was cut short."""
        if self._generation != _fork.current:
            self._refuse_fork()
        if self._settled == BUSY:
            self._rounds.settle(self._asked)
            self._release()
        self._settled = self._generation

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

    # ------------------------------------------------------------------ looking

    @property
    def _best_informed(self) -> Epoch | None:
        """The epoch that has learned most: the current one, but for actions that were asked far ahead of losses."""
        return best_informed([one for one in (self._epoch, self._taught) if one is not None])

    def _recommended(self) -> Recommendation:
        if self._settled != _fork.current:
            self._settle()
        epoch = self._best_informed
        if epoch is None and self._home is not None:
            return self._home
        return self._epoch.counting(lambda: recommended(epoch, self._problem))

    def _outstanding(self, limit: int | None) -> Outstanding:
        if self._settled != _fork.current:
            self._settle()
        return self._rounds.outstanding(self._asked, self.patience, limit, self._now)

    @property
    def _now(self) -> int:
        """What patience counts: positions that were asked."""
        return self._asked

    @property
    def _asked(self) -> int:
        current = self._current
        return current.first + current.asked

    @property
    def remaining(self) -> int | None:
        """Events that are left to ask; None if the horizon is unknown."""
        return None if self.horizon is None else self.horizon - (self._asked - self._origin)

    @property
    def patience(self) -> int | None:
        """How many later positions a full round waits for its losses; None for ever."""
        return patience_for(self._configuration.patience, horizon=self.horizon, planned=self._epochs.planned)

    @property
    def round(self) -> int:
        """Rounds that are closed."""
        return self._rounds.closed
