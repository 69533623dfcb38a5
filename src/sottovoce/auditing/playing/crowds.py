"""Several people in one run, each in one of two worlds of its own: as many trials of the guarantee as there are people.

The guarantee holds for each of them, whatever the others' losses are. They are chosen so that no two of them move the
same released number, or they would hide each other: of running sums, which hold everybody before, one is watched.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sottovoce.auditing.playing.survey import Survey
from sottovoce.auditing.playing.worlds import Neighbours


@dataclass(frozen=True)
class Crowd(Neighbours):
    """People whose events are told in one way, among others who are the same; a world is one bit for each of them.

    Examples
    --------
    >>> first, second = Neighbours((0,), (0,), "lowest, far above"), Neighbours((3,), (1,), "far below, highest")
    >>> both = Crowd((0, 3), (0, 1), people=(first, second))
    >>> world = both.world([False, True])
    >>> [both.loss(world, event, (0.0, 1.0)) for event in range(4)]
    [0.0, 0.0, 0.0, 1.0]
    """

    people: tuple[Neighbours, ...] = ()

    def __len__(self) -> int:
        return len(self.people)

    def __getitem__(self, number: int) -> Neighbours:
        return self.people[number]

    def world(self, bits: Sequence[Any]) -> int:
        """The number of the world in which these people are in their second one."""
        return sum(1 << number for number, bit in enumerate(bits) if bit)

    def loss(self, world: int, event: int, loss_range: tuple[float, float]) -> float | None:
        """What an event loses in this world; None if its loss is forgotten."""
        for number, person in enumerate(self.people):
            if event in person.events:
                return person.loss(world >> number & 1, event, loss_range)
        return super().loss(0, event, loss_range)


def crowds(found: Survey, pairs: Sequence[Neighbours], most: int, *, local: bool = False) -> list[Crowd]:
    """Return crowds of as many people as do not hide each other; each is led by, and told as, another of the pairs.

    Parameters
    ----------
    found
        What each event moves.
    pairs
        Single people, the likeliest to show something first.
    most
        People in all crowds together, about; every way of telling has a crowd, however few these are.
    local
        Whether every report is released by itself.
    """
    made: list[Crowd] = []
    for lead, first in enumerate(pairs):
        people = [first]
        taken = _moved(found, first, local)
        for other in [*pairs[lead + 1 :], *pairs[:lead]]:
            places = _moved(found, other, local)
            if not taken & places:
                people.append(replace(other, others=first.others, schedule=first.schedule))
                taken |= places
        events = tuple(event for person in people for event in person.events)
        rounds = tuple(sorted({number for person in people for number in person.rounds}))
        made.append(Crowd(events, rounds, first.pair, first.others, first.schedule, tuple(people)))
        if len(made) >= max(len(found.schedules), most // len(people)):
            break
    return made


def _moved(found: Survey, person: Neighbours, local: bool) -> set[tuple[int, ...]]:
    """The released numbers that the person's losses move."""
    if local:
        return {(event,) for event in person.events}
    moving = [found.moves[event] for event in person.events if event in found.moves]  # not those that are not wanted
    return {tuple(place) for moved in moving for place in np.argwhere(moved).tolist()}
