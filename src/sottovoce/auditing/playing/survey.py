"""Find out, without noise, which events move what is released: an adversary knows the program and its public coins."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sottovoce._arrays import Floats
from sottovoce._checks import choice
from sottovoce.auditing._sources import Silence
from sottovoce.auditing.playing.schedules import play
from sottovoce.auditing.playing.transcripts import Transcript, harness_for
from sottovoce.auditing.playing.worlds import SCHEDULES, Neighbours
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
    every = range(len(rounds))
    if len(rounds) <= _MANY:
        return list(every)
    first = {number: rounds.index(number) for number in set(rounds)}
    size = {number: rounds.count(number) for number in set(rounds)}
    few = len(size) <= _MANY // 4
    return [
        event
        for event in every
        if event - first[rounds[event]]
        in ({0, 1, size[rounds[event]] // 2, size[rounds[event]] - 1} if few else {size[rounds[event]] - 1})
    ]


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
