"""How often a call is repeated while a service is away, and how long to wait in between."""

import random
from dataclasses import dataclass

from sottovoce._checks import number, whole

_chance = random.SystemRandom()  # not a seeded one: clients that were started together must not come back together


@dataclass(frozen=True)
class Retries:
    """How often to repeat a call, with waits that double, each cut at random.

    Parameters
    ----------
    attempts
        How often a call is made in all.
    first, longest
        Seconds: the longest first wait, and the longest of all. A service that asks for more patience (Retry-After) is
        not waited for.

    Examples
    --------
    >>> patient = Retries(attempts=10, longest=60.0)
    >>> 0 <= patient.wait(3) <= 0.8
    True
    """

    attempts: int = 6
    first: float = 0.1
    longest: float = 20.0

    def __post_init__(self) -> None:
        whole("attempts", self.attempts)
        number("first", self.first, above=0)
        number("longest", self.longest, above=0)

    def wait(self, attempt: int, told: float | None = None) -> float:
        """Return how many seconds to wait after an attempt that failed.

        Parameters
        ----------
        attempt
            Which it was, from 0.
        told
            For how long the service wants to be left alone, if it has said so.
        """
        waits = _chance.uniform(0, min(self.longest, self.first * 2.0 ** min(attempt, 60)))
        return waits if told is None else told + waits


def told_to_wait(header: str | None) -> float | None:
    """Return the seconds that a Retry-After header asks for; None if it says nothing that can be understood.

    Examples
    --------
    >>> told_to_wait("3"), told_to_wait("soon")
    (3.0, None)
    """
    return float(header[:12]) if header is not None and header.isascii() and header.isdigit() else None
