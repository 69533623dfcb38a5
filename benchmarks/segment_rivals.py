"""What segments that inform each other are compared with: one decision for all of them, and one optimizer for each."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sottovoce._arrays import Integers, Vector
from sottovoce.domains import Domain
from sottovoce.lab import SegmentedEnvironment
from sottovoce.lab.problems import DecisionProblem
from sottovoce.learning import Actions, Plan, PrivateBandit, Recommendation
from sottovoce.models import Segment, Segments
from sottovoce.privacy import Guarantee, NoPrivacy, PrivacyStatement, SimulatedNoise

_BITS = 44  # of an id, for the event; the rest says whose it is


class OneEach:
    """An optimizer for each segment, which know nothing of each other.

    An event is of one segment, so the promise of one of them is that of all.

    Parameters
    ----------
    segments : Segments
        With names.
    make : callable
        From a segment's place to its optimizer.
    horizon : int
        Events of all segments.

    Examples
    --------
    >>> import sottovoce as sv
    >>> problem = sv.lab.problems.Editions(segments=3, items=6, slots=2)
    >>> optimizer = one_each(problem, horizon=2_000, privacy=sv.NoPrivacy(), seed=1)
    >>> sv.lab.simulate(optimizer, problem.environment).events_finished
    2000
    """

    def __init__(self, segments: Segments, make: Callable[[int], PrivateBandit], horizon: int) -> None:
        self.segments, self.horizon, self._asked = segments, horizon, 0
        self._places = {name: place for place, name in enumerate(segments.names)}
        self._each = [make(place) for place in range(len(segments.names))]
        self._drawn: list[Actions | None] = [None] * len(
            self._each
        )  # a round, asked to its end, and how far it is used
        self._used = [0] * len(self._each)

    def ask_round(self, most: int | None = None, *, segment: Sequence[Any]) -> Actions:
        """Return actions for the first of these events, until one is the last of its segment's round.

        Parameters
        ----------
        most
            How many at most.
        segment
            A segment for each event that comes.
        """
        met: dict[int, int] = {}
        places = [self._places[self.segments.key(one)] for one in segment[:most]]
        index = np.array([met.setdefault(one, len(met)) for one in places], dtype=np.int64)
        order = list(met)
        left, size = {}, len(index)
        for event, number in enumerate(index.tolist()):
            if number not in left:
                left[number] = self._left(order[number]) or self._begin(order[number])
            left[number] -= 1
            if not left[number]:
                size = event + 1
                break
        ids, x = np.empty(size, dtype=np.int64), np.empty((size, self.domain.dimension))
        for number, place in enumerate(order):
            mine = np.flatnonzero(index[:size] == number)
            if len(mine):
                ids[mine], x[mine] = self._take(place, len(mine))
        self._asked += size
        return Actions(ids, x, np.ones(size, dtype=bool))

    def _left(self, place: int) -> int:
        drawn = self._drawn[place]
        return 0 if drawn is None else len(drawn.ids) - self._used[place]

    def _begin(self, place: int) -> int:
        self._drawn[place], self._used[place] = self._each[place].ask_round(), 0
        return self._left(place)

    def _take(self, place: int, count: int) -> tuple[Integers, Vector]:
        drawn, used = self._drawn[place], self._used[place]
        assert drawn is not None
        self._used[place] = used + count
        ids: Integers = (place << _BITS) + np.asarray(drawn.ids[used : used + count], dtype=np.int64)
        return ids, np.asarray(drawn.x[used : used + count])

    def tell(self, ids: Any, losses: Vector) -> None:
        """Take the losses of actions.

        Parameters
        ----------
        ids
            Of the actions.
        losses
            One for each.
        """
        ids = np.asarray(ids)
        places = ids >> _BITS
        for place in np.unique(places).tolist():
            mine = places == place
            self._each[place].tell(ids[mine] - (place << _BITS), np.asarray(losses)[mine])

    def recommend(self, *, segment: Any = None) -> Recommendation:
        """Return the decision to take home for a segment; without one, that of the largest.

        Parameters
        ----------
        segment
            Whose.
        """
        if segment is not None:
            return self._each[self._places[self.segments.key(segment)]].recommend()
        return max(self._each, key=lambda one: one.horizon or 0).recommend()

    def of(self, segment: Segment) -> PrivateBandit:
        """Return the optimizer of a segment.

        Parameters
        ----------
        segment
            Whose.
        """
        return self._each[self._places[self.segments.key(segment)]]

    @property
    def domain(self) -> Domain:
        """The feasible set."""
        return self._each[0].domain

    @property
    def remaining(self) -> int:
        """How many events are left."""
        return self.horizon - self._asked

    @property
    def round(self) -> int:
        """Rounds that are closed, of all segments."""
        return sum(one.round for one in self._each)

    @property
    def plan(self) -> Plan:
        """That of the largest segment."""
        return max(self._each, key=lambda one: one.horizon or 0).plan

    @property
    def privacy(self) -> PrivacyStatement:
        """What each of them promises: an event is of one."""
        return self._each[0].privacy

    @property
    def seed(self) -> int | None:
        """Of the public coins of the first; the others follow from it."""
        return self._each[0].seed


def _world(problem: DecisionProblem) -> SegmentedEnvironment:
    environment = problem.environment
    if not isinstance(environment, SegmentedEnvironment):
        raise ValueError(f"{problem.name} has no segments: one-for-all and one-each are for problems that have")
    return environment


def one_for_all(
    problem: DecisionProblem, *, seed: int | None = None, noise_seed: int | None = None, **options: Any
) -> PrivateBandit:
    """Return an optimizer that tells no segments apart.

    Parameters
    ----------
    problem, seed, **options
        As for `DecisionProblem.optimizer`.
    noise_seed
        Of the simulated noise; the noise is real by default.
    """
    _world(problem)
    noise = {} if noise_seed is None else {"noise": SimulatedNoise(noise_seed)}
    return problem.optimizer(seed=seed, **{**noise, **options, "segments": None})


def one_each(
    problem: DecisionProblem,
    *,
    horizon: int,
    privacy: Guarantee,
    seed: int,
    noise_seed: int | None = None,
    **options: Any,
) -> OneEach:
    """Return an optimizer for each segment, each told exactly how many events it will have: more than anybody knows.

    Parameters
    ----------
    problem, horizon, privacy, **options
        As for `DecisionProblem.optimizer`.
    seed
        Of the public coins; those of each segment follow from it.
    noise_seed
        Of the simulated noise; `seed` by default.
    """
    world = _world(problem)
    counts = world.counts(horizon)
    coins, noises = (
        np.random.SeedSequence([one, 16]).generate_state(len(counts)).tolist()
        for one in (seed, seed if noise_seed is None else noise_seed)
    )

    def make(place: int) -> PrivateBandit:
        noise = None if isinstance(privacy, NoPrivacy) else SimulatedNoise(noises[place])
        events = max(1, int(counts[place]))
        arguments = {**options, "segments": None}
        return problem.optimizer(horizon=events, privacy=privacy, seed=coins[place], noise=noise, **arguments)

    return OneEach(world.segments, make, horizon)
