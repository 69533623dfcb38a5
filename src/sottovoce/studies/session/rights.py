"""A study's right to go on under its charge: a token of the ledger, kept in the storage, usable once.

Whoever opens a study with its ledger presents the token, and stores its successor. Processes that share a storage share
the right, since they share what is stored; a copy of the storage holds a token that is used up as soon as the original,
or another copy, has presented it, and is charged as a life of its own (privacy/ledger.py says why).

The successor is written down before the ledger hears of it, so that a process killed in between loses nothing: what
comes next finds that the ledger knows the successor already.

Tests: tests/studies/test_rights.py.
"""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, insert, select

from sottovoce.errors import LedgerConflict
from sottovoce.privacy import Guarantee, Ledger
from sottovoce.privacy.ledger import new_token
from sottovoce.studies.database.storage import Storage
from sottovoce.studies.database.tables import heads, rights

__all__ = ["LedgerRight", "keep", "refuse_without_ledger"]


@dataclass(frozen=True)
class LedgerRight:
    """What a process that was given a ledger says to it on behalf of a study."""

    ledger: Ledger
    entry: str
    guarantee: Guarantee
    simulated: bool

    def charge(self) -> str:
        """Charge a study that is about to exist; return its token. Used at once: any process may tell it losses."""
        token = new_token()
        self.ledger.charge(self.entry, self.guarantee, simulated=self.simulated, resume=False, token=token)
        self.ledger.mark_used(self.entry)
        return token

    def present(self, storage: Storage, study: int) -> None:
        """Go on as the life that the storage holds the token of, or be charged as another, or be refused."""
        while True:
            with storage.transaction() as connection:
                if self._row(connection, study).successor is None:
                    _update(connection, study, successor=new_token())
            with storage.transaction() as connection:
                row = self._row(connection, study)
                if row.successor is None:
                    return  # another process of this storage was quicker
                if not self.ledger.is_held_by(row.entry, row.successor):
                    entry = self._carry_on(row, row.successor)
                    _update(connection, study, entry=entry, token=row.successor, successor=None)
                    return
                # Killed after the ledger had taken it, and before it was stored.
                _update(connection, study, token=row.successor, successor=None)

    def present_within(self, connection: Connection, study: int) -> None:
        """Do the same for a life that begins within a transaction; killed in between, the next life is charged."""
        successor = new_token()
        entry = self._carry_on(self._row(connection, study), successor)
        _update(connection, study, entry=entry, token=successor, successor=None)

    def _carry_on(self, row: Any, successor: str) -> str:
        return self.ledger.carry_on(row.entry, self.guarantee, row.token, successor, simulated=self.simulated)

    def _row(self, connection: Connection, study: int) -> Any:
        """Return what is stored, holding its lock; for a study that was never charged, or before tokens, no token."""
        connection.execute(select(heads.c.id).where(heads.c.id == study).with_for_update())
        found = select(rights).where(rights.c.study == study)
        if connection.execute(found).one_or_none() is None:
            keep(connection, study, self.entry, None)
        return connection.execute(found).one()


def keep(connection: Connection, study: int, entry: str, token: str | None) -> None:
    """Store the right of a study that was charged."""
    connection.execute(insert(rights).values(study=study, entry=entry, token=token, successor=None))


def refuse_without_ledger(storage: Storage, study: int, name: str) -> None:
    """Refuse to begin a new life of a study that was charged where its ledger does not hear of it."""
    with storage.transaction() as connection:
        row = connection.execute(select(rights.c.entry).where(rights.c.study == study)).one_or_none()
    if row is not None:
        raise LedgerConflict(
            f"study {name!r} was charged to a ledger, and a restored life has to be, too: pass ledger="
        )


def _update(connection: Connection, study: int, **values: str | None) -> None:
    connection.execute(rights.update().where(rights.c.study == study).values(**values))
