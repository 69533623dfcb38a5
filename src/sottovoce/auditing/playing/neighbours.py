"""Which neighbouring worlds to try, and in which order: every place in every round, every way of telling."""

import math
from collections.abc import Iterator
from itertools import cycle

import numpy as np

from sottovoce.auditing.playing.survey import Survey
from sottovoce.auditing.playing.transcripts import events_of
from sottovoce.auditing.playing.worlds import PAIRS, Neighbours, others_of


def neighbours(found: Survey, contributions: int, most: int, *, local: bool = False) -> list[Neighbours]:
    """Return up to `most` pairs of worlds to tell apart, the likeliest to show something first.

    The person's places go round all events that move anything, and meet every way of telling in the end; the person's
    losses go round at a pace of their own, and everybody else's are drawn for each pair. Where people are counted, a
    person's places are all that they have, more than were promised.
    """
    # Reports come in the order of threads.
    schedules = [one for one in found.schedules if not local or one != "threads"]
    places = _distinct(_places(found, contributions))
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


def _distinct(places: Iterator[tuple[int, ...]]) -> list[tuple[int, ...]]:
    return list(dict.fromkeys(tuple(sorted(events)) for events in places))


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
