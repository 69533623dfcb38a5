"""Counting people: so that no person gives more losses than was promised.

Of each person a keyed hash is kept, and how many losses were asked for: no name, and no link to an event. A loss is
counted when its slot is handed out, in the same step, and is never given back: so the count may be too high, where an
answer got lost or a loss never came, but never too low. Who has given all their losses is handed slots that take none.
That depends on who asks and on public coins, and on no loss.
"""

import hmac
import unicodedata
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sottovoce.errors import StateRefused
from sottovoce.rounds.round import Draw, Round

PERSON_BYTES = 16
"""Of a hash: among 10^12 people, two share one with a probability of 10^-15."""


def hashed(key: bytes, person: str) -> bytes:
    """Return all that is kept of a person's name, which is the same however it is written in Unicode.

    Examples
    --------
    >>> hashed(b"key", "ada").hex()
    '708a727d2475357eaacc4f88c80d7eec'
    """
    written = str.encode(unicodedata.normalize("NFC", person), "utf-8", "surrogatepass")  # or one person is two
    return hmac.digest(key, written, "sha256")[:PERSON_BYTES]


def check_of_key(key: bytes) -> bytes:
    """Return what tells a key from others, and nothing else about it."""
    return hmac.digest(key, b"sottovoce people", "sha256")


def people_of(person: Any) -> list[str] | None:
    """Return the people of a call, one for each event; refuse what is none, without showing it.

    Examples
    --------
    >>> people_of(np.array(["ada", "grace"])), people_of(None)
    (['ada', 'grace'], None)
    """
    if person is None:
        return None
    given = person.tolist() if hasattr(person, "tolist") else person
    if isinstance(given, list | tuple) and given and all(isinstance(one, str) for one in given):
        return list(given)
    raise TypeError("person must be a string for one action; for several, a list with a string for each")


def people_for(size: int | None, person: Any) -> list[str] | None:
    """Return the people of a call for `size` events, or for one; refuse others, without showing them.

    Examples
    --------
    >>> people_for(None, "ada"), people_for(2, ["ada", "grace"])
    (['ada'], ['ada', 'grace'])
    """
    people = [person] if size is None and isinstance(person, str) else people_of(person)
    if people is not None and len(people) != (size or 1):
        raise ValueError(f"person must be a list with one for each of {size or 1} events, got {len(people)}")
    return people


def plain_people(person: Any) -> dict[str, Any]:
    """Return whom a call is for as JSON can hold it: one `person`, or `people`, one for each event.

    Examples
    --------
    >>> plain_people("ada"), plain_people(["ada", "grace"]), plain_people(None)
    ({'person': 'ada'}, {'people': ['ada', 'grace']}, {})
    """
    if isinstance(person, str):
        return {"person": person}
    people = people_of(person)
    return {} if people is None else {"people": people}


class Askers:
    """Whom the slots of one call are for, stream by stream, in order.

    Parameters
    ----------
    people
        Hashed, of each stream.
    draw
        What slots play.
    count
        Counts a loss of each person, and says whose was none too many.
    """

    def __init__(
        self,
        people: dict[int, list[bytes]],
        draw: Callable[[Round, int, int], Draw],
        count: Callable[[Sequence[bytes]], list[bool]],
    ) -> None:
        self._people, self._draw, self._count = people, draw, count
        self._at = self._kept = dict.fromkeys(people, 0)

    def keep(self) -> None:
        """Take it that what was drawn so far is leased."""
        self._kept = dict(self._at)

    def go_back(self) -> None:
        """Begin again after what is leased: what was drawn since is undone."""
        self._at = dict(self._kept)

    def draw(self, round: Round, start: int, count: int) -> Draw:
        """Return what slots play; those of people who have given all their losses take none."""
        drawn, at = self._draw(round, start, count), self._at[round.stream]
        mine = self._people[round.stream][at : at + count]
        self._at[round.stream] = at + count
        wanted = np.ones(count, dtype=bool) if drawn.wanted is None else drawn.wanted.copy()
        wanted[wanted] = self._count([one for one, wants in zip(mine, wanted, strict=True) if wants])
        return Draw(drawn.actions, None if wanted.all() else wanted, mine)


def missing_person() -> TypeError:
    """Say that a call has to say whom it is for."""
    return TypeError("person is missing: people are counted here, so every ask says for whom, as in ask(person=...)")


def people_uncounted() -> StateRefused:
    """Say that it is too late to begin counting."""
    return StateRefused(
        "person= came too late: events were asked without it, of people whom nobody has counted. Begin another study, "
        "or optimizer, with person= in every ask"
    )


def people_erased() -> StateRefused:
    """Say that nobody can be counted any more."""
    return StateRefused("the people who were counted are erased, and nobody is asked any more: begin another study")
