"""Whom to watch: which events move what is released, found without noise, and the neighbouring worlds to try."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import cycle
from typing import Any

import numpy as np

from sottovoce._arrays import Floats
from sottovoce._checks import choice
from sottovoce.auditing._sources import Silence
from sottovoce.auditing.playing.schedules import play
from sottovoce.auditing.playing.transcripts import Transcript, events_of, harness_for
from sottovoce.auditing.playing.worlds import PAIRS, SCHEDULES, Neighbours, others_of
from sottovoce.errors import SottovoceError

_MANY = 40  # events; of more, those at both ends of their rounds and a few between, or one of each, are looked at


@dataclass(frozen=True)
class Survey:
    """What a loss does.

    Attributes
    ----------
    rounds
        The round of every event, from 0.
    moves
        For every event that moves anything, by how much its loss, raised from the lowest to the highest, moves each
        released number.
    schedules
        The ways in which losses can arrive here.
    people
        How many people come often, where they are counted; else 0, and anybody may have any events.
    """

    rounds: tuple[int, ...]
    moves: dict[int, Floats] = field(repr=False)
    schedules: tuple[str, ...]
    people: int = 0


def survey(
    make: Callable[[int, Any], Any], seed: int, *, local: bool, schedules: Sequence[str] | None = None
) -> Survey:
    """Play runs without noise: one in which all losses are the lowest, and one for every event that is raised."""
    schedules = getattr(make, "schedules", None) if schedules is None else schedules
    still = _played(make, seed, ())
    rounds = tuple(still.rounds)
    events = [event for event in _worth_a_look(rounds) if still.wanted[event]]
    if local:  # every report is released by itself, and one says as much as another
        moves = {event: np.ones(1) for event in events}
    else:
        raised = {event: _difference(_played(make, seed, (event,)), still) for event in events}
        moves = {event: moved for event, moved in raised.items() if moved.any()}
    possible = (
        _possible(make, seed)
        if schedules is None
        else [choice("schedules", one, tuple(SCHEDULES)) for one in schedules]
    )
    return Survey(rounds, moves, tuple(possible), getattr(make, "people", 0))


def _played(make: Callable[[int, Any], Any], seed: int, events: tuple[int, ...], schedule: str = "block") -> Transcript:
    silence = Silence()
    raised = Neighbours(events, (), "lowest, far above", schedule=schedule)
    return play(harness_for(make(seed, silence)), raised, 1)


def _worth_a_look(rounds: tuple[int, ...]) -> list[int]:
    """Return events at both ends and in the middle of their rounds; the last of each, where there are many rounds."""
    if len(rounds) <= _MANY:
        return list(range(len(rounds)))
    found = set()
    for number in set(rounds):
        first, size = rounds.index(number), rounds.count(number)
        few = len(set(rounds)) <= _MANY // 4
        found |= {first + place for place in ({0, 1, size // 2, size - 1} if few else {size - 1})}
    return sorted(found)


def _difference(one: Transcript, other: Transcript) -> Floats:
    """What was released in one run beyond the other; a number that one of them lacks counts as 0."""
    shape = max(len(one.released), len(other.released)), max(map(len, one.released + other.released), default=0)
    both = np.zeros((2, *shape))
    for i, run in enumerate((one, other)):
        for number, released in enumerate(run.released):
            both[i, number, : len(released)] = released
    return np.asarray(both[0] - both[1])


def _possible(make: Callable[[int, Any], Any], seed: int) -> list[str]:
    """Which ways of telling are possible: some mechanisms have no state to take up, and rounds may not wait so long."""
    found = ["block"]
    for schedule in SCHEDULES:
        try:
            _played(make, seed, (), schedule)
        except (SottovoceError, NotImplementedError):
            continue
        found.append(schedule)
    return list(dict.fromkeys(found))


def neighbours(found: Survey, contributions: int, most: int, *, local: bool = False) -> list[Neighbours]:
    """Return up to `most` pairs of worlds to tell apart, the likeliest to show something first.

    The person's places go round all events that move anything, and meet every way of telling in the end; the person's
    losses go round at a pace of their own, and everybody else's are drawn for each pair. Where people are counted, a
    person's places are all that they have, more than were promised.
    """
    # Reports come in the order of threads.
    schedules = [one for one in found.schedules if not local or one != "threads"]
    places = list(dict.fromkeys(tuple(sorted(events)) for events in _places(found, contributions)))
    # A report that never comes is not hidden among reports: who takes part is no secret that owners' noise could keep.
    pairs = cycle(pair for pair in PAIRS if not local or "forgotten" not in pair)
    together = math.lcm(len(places), len(schedules))
    chosen = []
    for number in range(min(most, len(places) * len(schedules))):
        events = places[number % len(places)]
        # After one round through both, out of step.
        schedule = schedules[(number + number // together) % len(schedules)]
        rounds = tuple(sorted({found.rounds[event] for event in events}))
        chosen.append(Neighbours(events, rounds, next(pairs), others_of(number), schedule))
    return chosen


def _places(found: Survey, count: int) -> Iterator[tuple[int, ...]]:
    moving = sorted(found.moves)
    if not moving:
        raise ValueError("nothing is ever released in this run: use a longer horizon, or a smaller batch_size")
    if found.people:
        yield from (events_of(one, found.people, len(found.rounds)) for one in range(found.people))
        return
    strongest = sorted(moving, key=lambda event: -float(np.abs(found.moves[event]).sum()))
    if count == 1:
        last = {found.rounds[event]: event for event in moving}  # of each round
        first = {found.rounds[event]: event for event in reversed(moving)}
        ends = [(places[number],) for number in _outside_in(sorted(last)) for places in (last, first)]
        yield (strongest[0],)
        yield from ends
        yield from ((event,) for event in moving)
        return
    together = [_alike(found, lead, count) for lead in strongest]
    fitting = [events for events in together if events is not None]
    if not fitting:
        raise ValueError(f"contributions={count} events of one person do not fit into one round; use a longer one")
    yield fitting[0]
    yield _over_rounds(found, moving, count)
    yield _over_numbers(found, moving, count)
    yield fitting[-1]
    yield tuple(moving[-count:])
    yield tuple(moving[:count])
    yield from fitting


def _outside_in(rounds: list[int]) -> list[int]:
    """First, last, second, last but one, ..."""
    return [number for both in zip(rounds, reversed(rounds), strict=True) for number in both]


def _alike(found: Survey, lead: int, count: int) -> tuple[int, ...] | None:
    """The events of one round that move what is released as this one does: all in one number, in one direction."""
    own = found.moves[lead]
    alike = {
        event: float((moved * own).sum())
        for event, moved in found.moves.items()
        if found.rounds[event] == found.rounds[lead] and float((moved * own).sum()) > 0
    }
    if len(alike) < count:
        return None
    return tuple(sorted(alike, key=lambda event: -alike[event])[:count])


def _over_rounds(found: Survey, moving: list[int], count: int) -> tuple[int, ...]:
    """One event in each round, as far as rounds go."""
    by_round = {found.rounds[event]: event for event in moving}
    rest = [event for event in moving if event not in by_round.values()]
    return tuple([*by_round.values(), *rest][:count])


def _over_numbers(found: Survey, moving: list[int], count: int) -> tuple[int, ...]:
    """Events of one round that move different numbers, as far as there are some."""
    first = [event for event in moving if found.rounds[event] == found.rounds[moving[0]]]
    by_number = {int(np.abs(found.moves[event]).argmax()): event for event in reversed(first)}
    rest = [event for event in moving if event not in by_number.values()]
    return tuple([*by_number.values(), *rest][:count])


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
