"""The loop that plays an optimizer in a world: of a simulation, a rehearsal, an audit, or a function to minimise."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sottovoce._arrays import Floats, Integers, Vector
from sottovoce.domains import Domain
from sottovoce.learning import Actions, PrivateBandit
from sottovoce.models import Segment, Segments
from sottovoce.privacy import PrivacyStatement, local

BLOCK = 8192  # events played at once: large enough for numpy, small enough for the cache
_FEW = 16  # events whose segments are looked up at least


class World:
    """What people lose, event by event, by decisions over a set.

    Whatever is played is played in one: a simulation, a rehearsal, an audit, a function to minimise.

    Attributes
    ----------
    domain
        The feasible set.
    segments
        Whom events may be of; None if nobody is told apart.
    """

    domain: Domain
    segments: Segments | None = None

    def losses(self, start: int, actions: Floats) -> Any:
        """Return the losses of consecutive events.

        Parameters
        ----------
        start
            The first of them, from 0.
        actions
            A row for each.
        """
        raise NotImplementedError

    def best(self, marks: Sequence[int] | Integers) -> Vector:
        """Return what the best fixed decision loses until each number of events, where that is known.

        Parameters
        ----------
        marks
            Strictly ascending; the decision is best over as many events as the last.
        """
        raise NotImplementedError

    def segments_of(self, start: int, size: int) -> list[Segment]:
        """Return the segment of each event, where there are segments.

        Parameters
        ----------
        start
            The first event, from 0.
        size
            How many.
        """
        raise NotImplementedError


def play(
    optimizer: Any,
    world: World,
    events: int,
    size: int | None = None,
    *,
    tell: Callable[[Actions, Any], None] | None = None,
) -> Iterator[tuple[Actions, Any]]:
    """Yield actions and their losses, once they are told: Python once per round, numpy for its events.

    Parameters
    ----------
    optimizer
        With `ask_round` and `tell`, as `PrivateBandit` has them.
    world
        Where it is played. No event is looked up twice.
    events
        How many.
    size
        Events to ask for at once; rounds, if left out.
    tell
        Takes actions and their losses, and tells them in its own way; by default all at once.

    Examples
    --------
    >>> import sottovoce as sv
    >>> class Slope(World):
    ...     def losses(self, start, actions):
    ...         return actions[:, 0]
    >>> optimizer = sv.PrivateBandit(sv.domains.Ball(2), horizon=50, loss_range=(-1, 1), privacy=sv.NoPrivacy(), seed=1)
    >>> sum(len(losses) for actions, losses in play(optimizer, Slope(), 50))
    50
    """
    told_apart = world.segments is not None and getattr(optimizer, "segments", None) is not None
    done, coming, ahead = 0, list[Segment](), _FEW
    while done < events:
        most = min(BLOCK, events - done)
        if told_apart:
            known, wanted = len(coming), min(ahead, most)
            coming += world.segments_of(done + known, wanted - known) if wanted > known else []
            actions = optimizer.ask_round(segment=coming[:wanted])
            used = len(actions.ids)
            coming, ahead = coming[used:], min(BLOCK, 2 * used + _FEW)  # about twice as many as were played together
        else:
            actions = optimizer.ask_round(most=most) if size is None else optimizer.ask(min(size, most))
        losses = world.losses(done, actions.x)
        if tell is None:
            optimizer.tell(actions.ids, losses)
        else:
            tell(actions, losses)
        done += len(actions.ids)
        yield actions, losses


class LocalReports:
    """An optimizer under `LocalDP` whose losses are privatised here, by simulation: NOT PRIVATE.

    Examples
    --------
    >>> import sottovoce as sv
    >>> environment = sv.lab.MovingTarget(sv.domains.Ball(2))
    >>> inner = sv.PrivateBandit(
    ...     environment.domain, horizon=500, loss_range=environment.loss_range, privacy=sv.LocalDP(1.0), seed=1
    ... )
    >>> sv.lab.simulate(LocalReports(inner, seed=2), environment).details.privacy_headline
    'epsilon = 1, local differential privacy (SIMULATED NOISE: NOT PRIVATE)'
    """

    def __init__(self, optimizer: PrivateBandit, seed: int | np.random.Generator) -> None:
        self._optimizer = optimizer
        self._generator = np.random.default_rng(seed)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._optimizer, name)

    def tell(self, ids: Any, losses: Vector) -> None:
        """Privatise the losses as their owners would, and tell the reports."""
        self._optimizer.tell(ids, report=local.simulate_reports(losses, self._optimizer.channel, self._generator))

    @property
    def privacy(self) -> PrivacyStatement:
        """The statement, which says that the reports were simulated."""
        return replace(self._optimizer.privacy, simulated=True)
