"""Posterior probes: every event plays a decision that may be the best; each decision's losses are one number.

A round draws m decisions from what is believed and deals its events out among them, in passes over all decisions, each
in an order of its own: who plays what is decided by public coins. The round's released numbers change what is believed.
One event is in one number. The length of a round follows from released numbers and positions alone.

Tests: tests/exploration/test_posterior_probes.py.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from sottovoce._arrays import Floats, Integers
from sottovoce.exploration.decisions import Decisions, Menu
from sottovoce.exploration.explorer import Draw, Exploration, Explorer, Probed, Record, Weighted
from sottovoce.exploration.posterior.belief import Belief, Pace, Settings
from sottovoce.exploration.posterior.hearsay import Prior
from sottovoce.exploration.posterior.history import Numbers, from_sparse_record, sparse_record
from sottovoce.exploration.stage import Stage

__all__ = ["PosteriorExploration", "PosteriorProbes"]

_MANY = 600  # coordinates from which decisions are kept without their zeros, and once for all events


class PosteriorProbes(Explorer):
    """Rounds whose decisions are drawn from what is believed.

    Parameters
    ----------
    stage
        Where the play takes place.
    belief
        What is believed.
    """

    def __init__(self, stage: Stage, belief: Belief) -> None:
        self.stage, self.belief = stage, belief
        # What other segments say, if this is one of several, and what holds for it among them:
        self.ask_others: Callable[[], tuple[Prior, Settings]] | None = None
        self._reach: float | None = None  # what others had a say in, in a round of old

    def sibling(self) -> "PosteriorProbes":
        """Return the same for another segment, knowing nothing."""
        return PosteriorProbes(self.stage, self.belief.sibling())

    def prepare(self) -> None:
        """Let other segments say what they know, before a round begins."""
        if self.ask_others is not None:
            self._reach = None
            self.belief.lean_on(*self.ask_others())

    def stand_alone(self, reach: float | None = None, **settings: Any) -> None:
        """Believe what was released of this segment, and nothing that others say, until they are asked again.

        Parameters
        ----------
        reach
            How many events back a round remembers, where others had a say in that; None for as many as it would alone.
        settings
            What holds for the segment among others, of `Settings`.
        """
        alone: Belief = self.belief.sibling()
        alone.go_back(self.belief.knowledge())
        alone.settings = replace(alone.settings, **settings)
        self.belief, self._reach = alone, reach

    @property
    def _pace(self) -> Pace:
        pace = self.belief.pace
        return pace if self._reach is None else replace(pace, reach=self._reach)

    def round_size(self, passed: int) -> int:
        """Events of a probe, times the probes."""
        settings, pace = self.belief.settings, self._pace
        return pace.events(settings, passed) * pace.probes(settings, passed)

    def begin(self, point: Floats, passed: int, size: int, coins: np.random.Generator) -> "PosteriorExploration":
        """Draw the round's decisions."""
        probes = self.belief.draw(self.count(passed, size), passed, passed // max(1, size), coins)
        return PosteriorExploration(self, probes, passed + size)

    def count(self, passed: int, size: int) -> int:
        """Decisions of a round of `size` events that begins after `passed` others: fewer if it is a short last one."""
        settings, pace = self.belief.settings, self._pace
        return min(pace.probes(settings, passed), max(1, size // pace.events(settings, passed)))

    def resume(self, point: Floats, record: Record) -> "PosteriorExploration":
        """Return the round that `record` was taken of."""
        probes = np.array(record["probes"]) if "probes" in record else from_sparse_record(record).toarray()
        exploration = PosteriorExploration(self, probes, int(record["end"]))
        exploration.progress = np.asarray(record["waiting"], dtype=np.int64).ravel()
        return exploration

    def follow(self, earlier: Explorer, events: int) -> None:
        """Begin with what was believed at the end of an epoch of `events` events, if it believed the same way."""
        if isinstance(earlier, PosteriorProbes) and type(earlier.belief) is type(self.belief):
            self.belief.carry_over(earlier.belief, events)

    def is_as_good(self, point: Floats) -> bool:
        """Whether a point of the set is believed to be as good as the best."""
        return self.stage.domain.contains(point, 1e-6) and self.belief.is_as_good(point)

    def memory(self) -> Record:
        """Return what was learned."""
        return self.belief.memory()

    def remember(self, memory: Record) -> None:
        """Take over what `memory` returned."""
        self.belief.remember(memory)

    def knowledge(self) -> Any:
        """Return what was learned, as one value."""
        return self.belief.knowledge()

    def go_back(self, knowledge: Any) -> None:
        """Know no more than what `knowledge` returned."""
        self.belief.go_back(knowledge)


class PosteriorExploration(Exploration):
    """One round: a few decisions, and who plays which.

    Parameters
    ----------
    explorer
        What began it.
    probes
        The decisions of the round, in rows.
    end
        Events that have passed when it is over.
    """

    def __init__(self, explorer: PosteriorProbes, probes: Floats, end: int) -> None:
        self._explorer, self._end = explorer, end
        self.numbers, self.compact = len(probes), probes.shape[1] > _MANY
        self._menu = Menu.of(probes) if self.compact else Menu(probes, (), (), probes.shape[1])
        self.progress: Any = np.empty(0, dtype=np.int64)  # decisions of the events that come next

    def draw(self, coins: np.random.Generator, size: int) -> Draw:
        """Return the next events: passes over the decisions, each in an order of its own."""
        waiting = self.progress
        if size > len(waiting):
            passes = -(-(size - len(waiting)) // self.numbers)
            order = coins.permuted(np.tile(np.arange(self.numbers), (passes, 1)), axis=1).ravel()
            waiting = np.concatenate([waiting, order])
        index = waiting[:size]
        self.progress = waiting[size:]
        actions: Any = Decisions(self._menu, index) if self.compact else self._probes[index]
        return Draw(actions, None, Probed(self.numbers, index, np.ones(size, dtype=np.int64)))

    @property
    def _probes(self) -> Floats:
        return self._menu.written()

    def actions_of(self, weights: Weighted | Probed) -> Any:
        """Return the decisions that the events play: each event is in the number of its own."""
        if not isinstance(weights, Probed):
            return None
        return Decisions(self._menu, weights.index) if self.compact else self._probes[weights.index]

    def learn(self, sums: Floats, weights: Floats) -> None:
        """Let the belief know what was released.

        Parameters
        ----------
        sums
            What was released.
        weights
            Events behind each.
        """
        played = weights > 0
        counts = weights[played]
        self._explorer.belief.learn(Numbers(self._probes[played], sums[played] / counts, counts, self._end))

    def estimate(self, sums: Floats, weights: Floats) -> Floats:
        """There is no gradient here: what is released goes into the belief."""
        raise TypeError("posterior probes estimate no gradient; use `learn`")

    def record(self) -> Record:
        """Return the decisions, and those of events that come next."""
        probes = sparse_record(self._probes) if self._menu.rows is None else {"probes": self._probes}
        return {**probes, "end": self._end, "waiting": self.progress}

    def is_possible(self) -> bool:
        """Whether the decisions are of the set."""
        domain = self._explorer.stage.domain
        known = {row.tobytes(): row for row in self._menu.written()}
        return self.numbers <= self._explorer.belief.settings.probes and all(
            domain.contains(row, 1e-6) for row in known.values()
        )

    def can_begin(self, passed: int, size: int) -> bool:
        """Whether it has as many decisions as it should, and ends where it does."""
        return self._end == passed + size and self.numbers == self._explorer.count(passed, size)

    def can_go_on(self, opened: int) -> bool:
        """Whether what is left is the rest of a pass over the decisions."""
        left = self.progress
        inside = bool(((left >= 0) & (left < self.numbers)).all()) and len(np.unique(left)) == len(left)
        return inside and len(left) == -opened % self.numbers

    def can_draw(self, draw: Draw, first: int) -> bool:
        """Whether they play the round's decisions, as often as passes do, each counted for its own."""
        weights = draw.weights
        if not isinstance(weights, Probed) or weights.numbers != self.numbers or draw.wants_loss is not None:
            return False
        if not (weights.sign == 1).all() or not np.array_equal(draw.actions, self._probes[weights.index]):
            return False
        start = -first % self.numbers
        index = weights.index[start : start + (len(weights.index) - start) // self.numbers * self.numbers]
        passes = np.sort(index.reshape(-1, self.numbers), axis=1)
        return bool((passes == np.arange(self.numbers)).all())

    def can_weigh(self, weights: Integers, size: int) -> bool:
        """Whether every event counts, and decisions as often as each other, but for the last pass."""
        return int(weights.sum()) == size and int(weights.max() - weights.min()) <= 1

    def counts(self, weights: Integers, size: int) -> tuple[Integers, Integers]:
        """All losses count with a plus, and the weights say how many there are."""
        return np.zeros(self.numbers, dtype=np.int64), weights
