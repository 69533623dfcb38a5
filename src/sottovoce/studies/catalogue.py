"""What studies a storage holds: public facts of each, read without opening any of them."""

from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import select

from sottovoce._records import part
from sottovoce.privacy.guarantees import guarantee_from_dict
from sottovoce.studies.database.migrations import migrate, one_at_a_time
from sottovoce.studies.database.rows import read
from sottovoce.studies.database.storage import Storage
from sottovoce.studies.database.tables import heads

__all__ = ["StudyEntry", "list_studies"]


@dataclass(frozen=True)
class StudyEntry:
    """One study of a storage.

    Attributes
    ----------
    name, domain
        Of the study, and its feasible set as it prints itself.
    horizon
        Events in all; None if that is unknown.
    asked
        Events that were handed out, or are in some process's hand.
    rounds
        Rounds that are closed.
    privacy
        The guarantee, in words.
    simulated
        Whether its noise comes from a seed: then it is NOT PRIVATE.
    """

    name: str
    domain: str
    horizon: int | None
    asked: int
    rounds: int
    privacy: str
    simulated: bool

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that JSON can hold."""
        return asdict(self)

    def __str__(self) -> str:
        of = f"{self.asked:,} events" if self.horizon is None else f"{self.asked:,} of {self.horizon:,} events"
        rounds = f"{self.rounds:,} {'round' if self.rounds == 1 else 'rounds'}"
        noise = " (simulated noise: NOT PRIVATE)" if self.simulated else ""
        return f"{self.name}: {of}, {rounds} closed; {self.domain}; {self.privacy}{noise}"


def list_studies(url: str) -> tuple[StudyEntry, ...]:
    """Return what studies a storage holds, by name.

    Parameters
    ----------
    url
        As for `Study.open`.
    """
    storage = Storage(url, create=False)
    try:
        storage.check()
        with storage.transaction() as connection:
            one_at_a_time(connection)
            migrate(connection)
            rows = connection.execute(select(heads).order_by(heads.c.name)).all()
    finally:
        storage.close()
    return tuple(_entry(row) for row in rows)


def _entry(row: Any) -> StudyEntry:
    record = read(f"the configuration of {row.name!r}", row.configuration)
    made, simulated = part(record, "configuration"), bool(record["simulated"])
    return StudyEntry(
        name=row.name,
        domain=made["domain_name"],
        horizon=made["horizon"],
        asked=row.asked - row.returned,
        rounds=row.closed,
        privacy=str(guarantee_from_dict(made["privacy"])),
        simulated=simulated,
    )
