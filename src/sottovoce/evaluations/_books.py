"""The books behind `PrivateEvaluations`: which ids are out, which losses are in, and what is released.

What is released: for every evaluation one noisy integer, the sum of the integer losses of its places; with
`variance=True` a second one, of their squares, which moves so little that this costs nothing (_second_moment.py).

Neighbours: one person's losses are replaced, in up to K events (`contributions`), in whichever evaluations these are.
Which event is in which evaluation is public: ids are handed out by public coins, or as the caller says, before a loss
is read; and an evaluation closes when its last place is told or forgotten, or later ids run its patience out, whatever
the losses are.

Sensitivity: every event is in exactly *one* place of *one* evaluation, and replacing its loss moves that one number by
at most `steps`, the range of a loss on its grid. A loss that is missing counts as the middle, one of the values that a
loss can have.

Proof. These are probe sums (privacy/mechanisms/probe_sums.py) with one number to a round. Given all that was released
before, whatever was chosen from it (the parameters of the next evaluation, its size, whether there is one at all), the
noise of an evaluation is fresh, so that its likelihood ratio between neighbours is that of one release moved by
m_i*steps, m_i being how many of the person's events it holds. Evaluations hold disjoint events: the sum of the m_i is
at most K, and epsilon = K*steps/scale for all evaluations together, however many there are; Gaussian noise likewise,
with mu^2 = sum of (m_i*steps/scale)^2 <= (K*steps/scale)^2. So the guarantee is charged once. Means, standard errors,
intervals and choices made by them are post-processing.

An exception may be delivered between any two lines. Handing out ids is done by one assignment, of `_turn`; what was
only begun is taken back. A call that tells is in once `_change` holds it; everything after that, up to the release, is
done again by the next call, and done twice it is the same. Locks are taken and released on one line with what they
guard.

Tests: tests/evaluations/test_privacy.py, tests/evaluations/test_interrupts.py; tests/auditing/test_evaluations.py.
"""

import threading
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sottovoce import _fork
from sottovoce._arrays import Integers
from sottovoce.errors import UNRECORDED, AlreadyTold, CopyRefused, ForkRefused, HorizonReached
from sottovoce.evaluations._positions import Positions
from sottovoce.evaluations._setting import Setting
from sottovoce.evaluations._turns import Turn, next_turn
from sottovoce.evaluations.released_mean import ReleasedMean
from sottovoce.learning.bandit.open_losses import FORGOTTEN, TOLD, UNWANTED, already_told, too_late

__all__ = ["Books"]

_BUSY = -1  # in place of the fork's number while a change is under way


class _Change(NamedTuple):
    """What a call does to one evaluation: in, once it is written down."""

    positions: Positions
    fillings: tuple[tuple[Integers, Any, int], ...]  # places, what to put there (one for each, or one for all), state
    ids: range = range(0)  # that are handed out with it
    first: int = 0  # to the place of the first of them
    turn: Turn | None = None  # after that

    def __repr__(self) -> str:
        return f"_Change({self.positions!r}, <withheld>)"


class Books:
    """All evaluations of one setting.

    Parameters
    ----------
    setting
        What they have in common.
    entropy
        What the public coins come from.
    """

    def __init__(self, setting: Setting, entropy: int) -> None:
        self.setting = setting
        self._entropy = entropy
        self._sampler = setting.sampler()
        self._made = 0
        self._open: dict[int, Positions] = {}
        self._results: dict[int, ReleasedMean] = {}
        self._turn = Turn()
        self._placing: Positions | None = None  # where ids were last given places; they are out if the turn says so
        self._change: _Change | None = None
        self._heard = False  # whether a ledger knows that a loss has come
        self._generation = self._settled = _fork.generation()
        self._lock = threading.RLock()

    # ------------------------------------------------------------------ what is called

    def make(self, events: int) -> Positions:
        """Make an evaluation, which nobody is assigned to before it is open."""
        self.setting.check_events(events)
        with self._lock: return self._make(events)  # noqa: E701  # fmt: skip

    def open(self, made: Positions) -> None:
        """Open an evaluation."""
        with self._lock: self._open[made.number] = made  # noqa: E701  # fmt: skip

    def assign(self) -> tuple[Positions, int]:
        """Hand out the next id, for the evaluation whose turn it is."""
        with self._lock: return self._assign()  # noqa: E701  # fmt: skip

    def assign_to(self, one: Positions, size: int) -> range:
        """Hand out the next ids, all for one evaluation."""
        with self._lock: return self._assign_to(one, size)  # noqa: E701  # fmt: skip

    def tell(self, one: Positions, ids: Any, losses: NDArray[Any], late: str) -> None:
        """Take in losses, for ids or for the next places."""
        with self._lock: return self._tell(one, ids, losses, late)  # noqa: E701  # fmt: skip

    def forget(self, one: Positions, ids: Any) -> int:
        """Close places without their losses; return how many."""
        with self._lock: return self._forget(one, ids)  # noqa: E701  # fmt: skip

    def close(self, one: Positions) -> None:
        """Close an evaluation with what it has."""
        with self._lock: return self._close(one)  # noqa: E701  # fmt: skip

    def abandon(self, one: Positions) -> None:
        """Drop an evaluation: nothing of it is ever released."""
        with self._lock: return self._abandon(one)  # noqa: E701  # fmt: skip

    def result(self, one: Positions) -> ReleasedMean | None:
        """Return what an evaluation has released; None if it is open."""
        found = self._results.get(one.number)
        if found is None:
            with self._lock: return self._released(one)  # noqa: E701  # fmt: skip
        return found

    def results(self) -> tuple[ReleasedMean, ...]:
        """Return what was released, in the order in which it was."""
        with self._lock: return self._all_released()  # noqa: E701  # fmt: skip

    def waiting(self, one: Positions) -> Integers:
        """Return the ids of an evaluation that were handed out, and have no loss."""
        with self._lock: return self._waiting(one)  # noqa: E701  # fmt: skip

    @property
    def still_open(self) -> tuple[Positions, ...]:
        """The evaluations that are open."""
        return tuple(self._open.values())

    @property
    def assigned(self) -> int:
        """Ids that were handed out."""
        return self._turn.assigned

    # ------------------------------------------------------------------ handing out

    def _make(self, events: int) -> Positions:
        self._settle()
        number = self._made
        self._made = number + 1
        stream, squared = self.setting.stream(self._sampler), self.setting.variance
        return Positions(number, events, self.setting.grid, stream, squared=squared)

    def _assign(self) -> tuple[Positions, int]:
        self._settle()
        self._close_overdue()
        waiting = [number for number, one in self._open.items() if one.room]
        if not waiting:
            raise HorizonReached("no evaluation has a place left for another person; open one: open(events=...)")
        number, turn = next_turn(self._turn, waiting, self._entropy)
        chosen = self._open[number]
        return chosen, self._hand_out(chosen, 1, turn)[0]

    def _assign_to(self, one: Positions, size: int) -> range:
        self._settle()
        self._close_overdue()
        self._check_room(one, size)
        return self._hand_out(one, size, self._turn._replace(assigned=self._turn.assigned + size))

    def _hand_out(self, one: Positions, size: int, turn: Turn) -> range:
        ids = range(self._turn.assigned, self._turn.assigned + size)
        self._placing = one
        one.place(ids, one.assigned)
        self._turn = turn  # now they are out
        return ids

    def _close_overdue(self) -> None:
        """Close evaluations that have been full for longer than patience lasts."""
        for one in tuple(self._open.values()):
            due = one.due(self.setting.patience_of(one.size))
            if due is not None and due <= self._turn.assigned:
                self._carry_out(_Change(one, ((one.waiting(), one.grid.middle, FORGOTTEN),)))

    @staticmethod
    def _check_room(one: Positions, size: int) -> None:
        if size > one.room:
            closed = "was abandoned" if one.abandoned else "is closed" if one.released is not None else ""
            left = closed or f"has {one.room} of {one.size} places left"
            raise HorizonReached(
                f"evaluation {one.number} {left}, and {size} more {'were' if size > 1 else 'was'} wanted; "
                f"{UNRECORDED}. Losses of people who were assigned before are told by their id: tell(loss, ids=id)"
            )

    # ------------------------------------------------------------------ telling

    def _tell(self, one: Positions, ids: Any, losses: NDArray[Any], late: str) -> None:
        self._settle()
        change = self._next_places(one, losses.ravel()) if ids is None else _of_known(one, ids, losses, late)
        self._hear()
        self._carry_out(change)

    def _next_places(self, one: Positions, losses: NDArray[Any]) -> _Change:
        self._close_overdue()
        self._check_room(one, len(losses))
        integers, first, start = one.grid.quantise(losses), one.assigned, self._turn.assigned
        turn = self._turn._replace(assigned=start + len(losses))
        places = np.arange(first, first + len(losses))
        return _Change(one, ((places, integers, TOLD),), range(start, start + len(losses)), first, turn)

    def _forget(self, one: Positions, ids: Any) -> int:
        self._settle()
        places = np.unique(one.find(ids))
        places = places[one.pending(places)]
        self._carry_out(_Change(one, ((places, one.grid.middle, FORGOTTEN),)))
        return len(places)

    def _close(self, one: Positions) -> None:
        self._settle()
        if one.released is not None:
            return
        if one.abandoned or not one.assigned:
            why = "it was abandoned" if one.abandoned else "nobody was assigned to it, so it has no mean"
            raise ValueError(f"evaluation {one.number} cannot be closed: {why}")
        given_up = one.unassigned()
        self._carry_out(_Change(one, ((one.waiting(), one.grid.middle, FORGOTTEN), (given_up, 0, UNWANTED))))

    def _abandon(self, one: Positions) -> None:
        self._settle()
        if one.released is None:
            self._settled = _BUSY
            one.abandoned = True  # now it is: nothing of it is released from here on
            self._finish()

    def _hear(self) -> None:
        if not self._heard:
            self.setting.hear()  # before the first loss: from here on a ledger gives nothing back
            self._heard = True

    # ------------------------------------------------------------------ releasing

    def _carry_out(self, change: _Change) -> None:
        self._settled = _BUSY
        self._change = change  # now it is in
        self._finish()

    def _finish(self) -> None:
        """Do what is written down, and release what is complete. Done twice it is the same."""
        change = self._change
        if change is not None:
            if change.turn is not None and self._turn.assigned < change.turn.assigned:
                change.positions.place(change.ids, change.first)
                self._turn = change.turn
            for places, integers, state in change.fillings:
                waiting = change.positions.pending(places)
                values = integers[waiting] if isinstance(integers, np.ndarray) else integers
                change.positions.fill(places[waiting], values, state)
        for one in tuple(self._open.values()):
            if one.abandoned:
                one.erase()
                self._open.pop(one.number, None)
            elif one.outstanding <= 0:
                self._release(one)
        self._change = None
        self._settled = self._generation

    def _release(self, one: Positions) -> None:
        one.settle()  # counted again, should a call have been cut short
        if one.outstanding:
            return
        total = one.release()
        found = ReleasedMean(one.number, one.assigned, total, self.setting.scale, one.squares)
        self._results.setdefault(one.number, found)
        self._open.pop(one.number, None)

    def _settle(self) -> None:
        """See to what is unusual: a process that has forked, or a call before this one that was cut short."""
        if self._generation != _fork.generation():
            if self.setting.in_earnest:
                raise ForkRefused(
                    "these evaluations were created in another process: parent and child would release the same losses "
                    "under two noises. Create them after the fork, in one process only"
                )
            self._settled = _BUSY if self._settled == _BUSY else _fork.current
            self._generation = _fork.current
        if self._settled == _BUSY:
            self._finish()
        elif self._placing is not None:
            self._placing.take_back(self._turn.assigned)

    # ------------------------------------------------------------------ looking

    def _released(self, one: Positions) -> ReleasedMean | None:
        self._settle()
        return self._results.get(one.number)

    def _all_released(self) -> tuple[ReleasedMean, ...]:
        self._settle()
        return tuple(self._results.values())

    def _waiting(self, one: Positions) -> Integers:
        self._settle()
        return one.ids[one.waiting()]

    # ------------------------------------------------------------------ one copy only

    def __reduce_ex__(self, protocol: Any) -> Any:
        if self.setting.in_earnest:
            raise CopyRefused(
                "evaluations with real noise cannot be copied or pickled: two copies of one would release the same "
                "losses under two noises. Use noise=SimulatedNoise(seed) or privacy=NoPrivacy() in simulations"
            )
        return super().__reduce_ex__(protocol)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._lock = threading.RLock()
        self._generation = _fork.generation()
        self._settled = _BUSY if self._settled == _BUSY else self._generation


def _of_known(one: Positions, ids: Any, losses: NDArray[Any], late: str) -> _Change:
    """Return what telling these ids changes; refuse the whole call if anything is wrong with it."""
    places = one.find(ids)
    if losses.shape != np.shape(ids):
        raise ValueError(f"losses must have the shape of ids, {np.shape(ids)}, got {losses.shape}")
    if len(np.unique(places)) < len(places):
        raise AlreadyTold("an id stands twice in one call", UNRECORDED)
    values = losses.ravel()
    if late == "drop":
        kept = ~one.forgotten(places)
        places, values = places[kept], values[kept]
    for place in places[~one.pending(places)][:1].tolist():
        what = f"id {one.ids[place]}"
        raise too_late(what) if one.states[place] == FORGOTTEN else already_told(what)
    return _Change(one, ((places, one.grid.quantise(values), TOLD),))
