"""Creating and resuming: the configuration is stored once, and compared ever after."""

import secrets
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import select

from sottovoce._records import checksum, pack, part
from sottovoce.domains import Domain
from sottovoce.errors import ConfigurationMismatch, StateRefused, StudyNotFound
from sottovoce.exploration import Record
from sottovoce.learning.bandit.configuration import BanditConfiguration
from sottovoce.learning.bandit.epoch import next_epoch, public_coins
from sottovoce.learning.bandit.saved_state import coins_record, refuse_secrets, source_for
from sottovoce.learning.planning.plan import Plan
from sottovoce.privacy import Guarantee, Ledger, NoiseSource, SimulatedNoise
from sottovoce.privacy.noise import noise_source
from sottovoce.studies.calls.waiting import checked_waiting, in_words
from sottovoce.studies.database.kinds import STUDY, refuse_other_kind
from sottovoce.studies.database.migrations import migrate, one_at_a_time
from sottovoce.studies.database.rows import read
from sottovoce.studies.database.storage import Storage
from sottovoce.studies.database.tables import heads, lanes
from sottovoce.studies.opening.withheld import WithheldNoise
from sottovoce.studies.session.counters import AUTO, Counters, insert_head
from sottovoce.studies.session.rights import LedgerRight, keep

__all__ = ["Found", "Wish", "create_or_resume", "stored_configuration"]

_NEEDED = ("domain", "horizon", "loss_range", "privacy")
_CHANGE = "; patience and deadline of a study that exists are changed with study.change(...)"


@dataclass(frozen=True)
class Wish:
    """What a caller of `Study.open` passed: only what was passed."""

    name: str
    given: dict[str, Any]
    waiting: dict[str, Any]  # patience, deadline
    seed: int | None
    noise: NoiseSource | None
    ledger: Ledger | None


@dataclass(frozen=True)
class Found:
    """What the storage holds of a study's making."""

    study: int
    key: bytes
    identity: str
    configuration: BanditConfiguration
    source: NoiseSource
    right: LedgerRight | None  # if a ledger was passed
    plan: Plan | None = None  # if it was just made
    seed: int | None = None  # of the public coins


def create_or_resume(storage: Storage, wish: Wish) -> Found:
    """Return a study's making, from the storage or put there."""
    with storage.transaction() as connection:
        one_at_a_time(connection)
        migrate(connection)
        row = connection.execute(select(heads).where(heads.c.name == wish.name)).one_or_none()
    if row is not None:
        return _resumed(storage, row, wish)
    found = _create(storage, wish)
    return create_or_resume(storage, wish) if found is None else found  # None: another process was quicker


def _create(storage: Storage, wish: Wish) -> Found | None:
    missing = [name for name in _NEEDED if name not in wish.given]
    if missing:
        with storage.transaction() as connection:
            own = heads.c.id.not_in(select(lanes.c.study))
            names = connection.execute(select(heads.c.name).where(own).order_by(heads.c.name)).scalars().all()
        known = f"it has {', '.join(map(repr, names[:10]))}" if names else "it has none yet"
        raise StudyNotFound(
            f"name={wish.name!r}: no such study at {storage.name} ({known})", f"to create it, pass {', '.join(missing)}"
        )
    configuration = BanditConfiguration(**wish.given)
    source = noise_source(wish.noise)
    configuration.check_prior(source)
    waiting = {"patience": AUTO, **checked_waiting(wish.waiting)}
    trial = next_epoch(configuration.problem(), configuration, SimulatedNoise(0), first=0, previous=None)
    refuse_secrets(trial)  # before anything is written
    identity = secrets.token_hex(16)
    key = secrets.token_bytes(16)
    record = {
        "format": STUDY,
        "identity": identity,
        "key_check": checksum(key).hex(),  # `verify` sees whether the key is still this one
        "simulated": bool(source.simulated),
        "seed": wish.seed,
        **{
            f"configuration.{name}": value
            for name, value in configuration.to_record().items()
            if name != "patience"  # it can change, and is in the counters
        },
    }
    counters = Counters(0, coins=pack(coins_record(public_coins(wish.seed))), **waiting)
    with storage.transaction() as connection:
        one_at_a_time(connection)
        if connection.execute(select(heads.c.id).where(heads.c.name == wish.name)).one_or_none() is not None:
            return None
        # Charged before the study exists, and not any earlier, or several that create it at the same moment would each
        # be charged.
        right = _right(wish, identity, configuration.privacy, source)
        token = None if right is None else right.charge()
        study = insert_head(connection, wish.name, pack(record), key, counters)
        if right is not None:
            keep(connection, study, right.entry, token)
    return Found(study, key, identity, configuration, source, right, trial.plan, wish.seed)


def _resumed(storage: Storage, row: Any, wish: Wish) -> Found:
    record = read(f"the configuration of {wish.name!r}", row.configuration)
    refuse_other_kind(record, STUDY, wish.name)
    domain = wish.given.get("domain")
    if domain is not None and not isinstance(domain, Domain):
        raise TypeError(f"domain must be a Domain such as sv.domains.Simplex(10), got {domain!r}")
    stored = stored_configuration(record, domain)
    different = replace(stored, **wish.given).differences(stored)
    waiting = checked_waiting(wish.waiting)
    changeable = [
        f"{name} is {in_words(getattr(row, name))!r}, not {in_words(value)!r}"
        for name, value in waiting.items()
        if getattr(row, name) != value
    ]
    different += changeable
    if wish.seed is not None and wish.seed != record["seed"]:
        different.append(f"seed is {record['seed']!r}, not {wish.seed!r}")
    only_looks = isinstance(wish.noise, WithheldNoise)
    if noise_source(wish.noise).simulated and not record["simulated"] and not only_looks:
        different.append(f"noise is real, not {wish.noise!r}")
    if different:
        raise ConfigurationMismatch(
            f"study {wish.name!r} at {storage.name} was created otherwise: {'; '.join(different)}. "
            f"Leave these out to resume it, or choose another name{_CHANGE if changeable else ''}"
        )
    if domain is not None and stored.domain.labels is None:
        stored = replace(stored, domain=domain)  # the study was created without names: this process may have its own
    if record["simulated"] and not noise_source(wish.noise).simulated:
        raise StateRefused(
            f"the noise of study {wish.name!r} is simulated, and its seed is not stored: to ask or tell, open it in "
            "Python with noise=sv.SimulatedNoise(seed); it is NOT PRIVATE. From the command line it can be looked at: "
            "study status, outstanding, recommend, export and verify"
        )
    real = only_looks and not record["simulated"]
    source = source_for(None if real else wish.noise, simulated=record["simulated"])
    right = _right(wish, record["identity"], stored.privacy, source)
    if right is not None:
        right.present(storage, row.id)
    return Found(row.id, bytes(row.key), record["identity"], stored, source, right, seed=record["seed"])


def stored_configuration(record: Record, domain: Domain | None) -> BanditConfiguration:
    """Return what a study was made with; `domain` is needed where the stored record does not hold it."""
    plain = part(record, "configuration")
    if domain is None or plain["domain"] is None:
        return BanditConfiguration.from_record(plain, domain)
    return BanditConfiguration.from_record(plain)  # the domain that was passed is compared with it by the caller


def _right(wish: Wish, identity: str, privacy: Guarantee, source: NoiseSource) -> LedgerRight | None:
    if wish.ledger is None:
        return None
    return LedgerRight(wish.ledger, f"study {wish.name} {identity}", privacy, source.simulated)
