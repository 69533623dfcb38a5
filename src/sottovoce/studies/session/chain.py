"""A checksum over all that the rounds of an epoch have released, in order: whoever changes one of them breaks it."""

from dataclasses import dataclass
from typing import Self

from sottovoce._records import checksum
from sottovoce.exploration import Record

__all__ = ["Chain"]


@dataclass(frozen=True)
class Chain:
    """Stored with what an epoch has learned; `verify` adds it up again.

    Parameters
    ----------
    since
        The first round that is in it; None if there is none yet. Studies of old have rounds before it.
    digest
        Of all rounds in it.

    Examples
    --------
    >>> one = Chain().add(0, b"round 0").add(1, b"round 1")
    >>> other = Chain().add(0, b"round 1").add(1, b"round 0")
    >>> one.since, one == other, one == Chain.of(one.record())
    (0, False, True)
    """

    since: int | None = None
    digest: str = ""

    def add(self, number: int, released: bytes) -> Self:
        """Return the chain with one more round: its number, and the bytes that are stored of its release."""
        digest = checksum(bytes.fromhex(self.digest), str(number).encode(), released).hex()
        return type(self)(number if self.since is None else self.since, digest)

    def record(self) -> Record:
        """Return the chain for a record."""
        return {"chain": self.digest, "chain_since": self.since}

    @classmethod
    def of(cls, record: Record) -> Self:
        """Return the chain of a record; studies of old have none."""
        return cls(record.get("chain_since"), record.get("chain", ""))
