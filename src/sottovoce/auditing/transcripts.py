"""Play the real optimizer in one of two worlds, and write down what an adversary sees.

The one file of this package that knows the optimizer's insides: where its released values pass, and which number an
event is summed into.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.learning import PrivateBandit
from sottovoce.privacy import LocalDP, local

__all__ = ["Transcript", "play", "rounds_of"]

Floats = NDArray[np.float64]


class Transcript:
    """What the adversary sees of one run: released values round by round, and the first action of every round."""

    def __init__(self) -> None:
        self.released: list[Floats] = []
        self.actions: list[Floats] = []


class _Recorder:
    """Stands in front of a release mechanism and writes down what comes out of it; what goes in is passed on unseen."""

    def __init__(self, release: Any, transcript: Transcript) -> None:
        self._release, self._transcript = release, transcript

    def __getattr__(self, name: str) -> Any:
        return getattr(self._release, name)

    def release(self, sums: Any) -> Any:
        return self._noted(self._release.release(sums))

    def add(self, vector: Any) -> Any:
        return self._noted(self._release.add(vector))

    def _noted(self, released: Any) -> Any:
        self._transcript.released.append(np.array(released, dtype=np.float64))
        return released


def play(optimizer: PrivateBandit, person: int | None, contributions: int) -> Transcript:
    """Play all rounds. Every loss is the lowest there is, but in round `person` (from 0) one person's are the highest.

    The person's events are those that move the round's released numbers furthest, all in one direction: public coins
    decide which they are, so an adversary may pick them. None: nobody differs.
    """
    transcript = Transcript()
    on_owners_side = isinstance(optimizer.privacy.guarantee, LocalDP)
    if not on_owners_side:
        _tap(optimizer, transcript)
    low, high = optimizer._problem.loss_range
    played = 0
    while optimizer.remaining:
        actions = optimizer.ask_round()
        losses = np.full(len(actions), low)
        if played == person:
            losses[_telling_events(optimizer, len(actions), contributions)] = high
        if on_owners_side:
            reports = [local.privatise(loss, optimizer.channel) for loss in losses]
            transcript.released.append(np.array(reports, dtype=np.float64))
            optimizer.tell(actions.ids, report=reports)
        else:
            optimizer.tell(actions.ids, losses)
        transcript.actions.append(actions.x[0])
        played += 1
    return transcript


def rounds_of(optimizer: PrivateBandit) -> int:
    """Play a run through, and return in how many of its rounds a loss can matter to an adversary."""
    return len(play(optimizer, None, 1).released)


def _tap(optimizer: PrivateBandit, transcript: Transcript) -> None:
    learner = optimizer._epoch.learner
    part: Any = learner.gradient if hasattr(learner.gradient, "_release") else learner.total
    part._release = _Recorder(part._release, transcript)


def _telling_events(optimizer: PrivateBandit, size: int, count: int) -> NDArray[np.int64]:
    """The events of the round just asked whose losses, raised together, move what is released furthest."""
    weights = optimizer._current.weights
    if weights is None or optimizer._current.size != size:
        raise ValueError("a round of an audit must be asked whole and be short; use a shorter horizon or batch_size")
    moves = np.array([weights.sum(event) for event in np.eye(size, dtype=np.int64)], dtype=np.float64)
    lead = moves[np.abs(moves).sum(axis=1).argmax()]
    together = moves @ lead
    if (together > 0).sum() < count:
        raise ValueError(f"contributions={count} events of one person do not fit into one round; use a longer one")
    return np.argsort(-together, kind="stable")[:count]
