"""Creating and resuming stored evaluations: the configuration is stored once, and compared ever after."""

import secrets
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import select

from sottovoce._records import checksum, pack, part
from sottovoce.errors import ConfigurationMismatch, StateRefused, StudyNotFound
from sottovoce.evaluations._setting import Setting
from sottovoce.evaluations.stored._state import first_coins
from sottovoce.learning.bandit.saved_state import source_for
from sottovoce.privacy import Guarantee, Ledger, NoiseSource
from sottovoce.privacy.guarantees import guarantee_from_dict
from sottovoce.privacy.noise import noise_source
from sottovoce.studies.database.kinds import EVALUATIONS, refuse_other_kind
from sottovoce.studies.database.migrations import migrate, one_at_a_time
from sottovoce.studies.database.rows import read
from sottovoce.studies.database.storage import Storage
from sottovoce.studies.database.tables import heads
from sottovoce.studies.session.counters import Counters, insert_head
from sottovoce.studies.session.rights import LedgerRight, keep

__all__ = ["Found", "Wish", "create_or_resume"]

_NEEDED = ("loss_range", "privacy")
_DEFAULTS = {"channel": "one-bit", "patience": "auto"}


@dataclass(frozen=True)
class Wish:
    """What a caller of `open_evaluations` has passed; `given` holds only what was passed."""

    name: str
    given: dict[str, Any]
    seed: int | None
    noise: NoiseSource | None
    ledger: Ledger | None


@dataclass(frozen=True)
class Found:
    """What the storage holds of the evaluations' making."""

    study: int
    key: bytes
    setting: Setting
    right: LedgerRight | None  # if a ledger was passed
    seed: int | None
    created: bool


def create_or_resume(storage: Storage, wish: Wish) -> Found:
    """Return the evaluations' making, from the storage or put there."""
    with storage.transaction() as connection:
        one_at_a_time(connection)
        migrate(connection)
        row = connection.execute(select(heads).where(heads.c.name == wish.name)).one_or_none()
    if row is not None:
        return _resumed(storage, row, wish)
    found = _create(storage, wish)
    return create_or_resume(storage, wish) if found is None else found  # None: another process was quicker


def _setting(made: dict[str, Any], noise: NoiseSource | None) -> Setting:
    facts = {name: made[name] for name in ("loss_range", "privacy", "channel", "patience")}
    return Setting(**facts, noise=noise, ledger=None, name=None)  # a ledger is charged by a right that is stored


def _create(storage: Storage, wish: Wish) -> Found | None:
    missing = [name for name in _NEEDED if name not in wish.given]
    if missing:
        raise StudyNotFound(
            f"name={wish.name!r}: no such evaluations at {storage.name}", f"to create them, pass {', '.join(missing)}"
        )
    setting = _setting({**_DEFAULTS, **wish.given}, wish.noise)
    source = noise_source(wish.noise)
    identity, key = secrets.token_hex(16), secrets.token_bytes(16)
    entropy: Any = np.random.SeedSequence().entropy if wish.seed is None else wish.seed
    record = {
        "format": EVALUATIONS,
        "identity": identity,
        "key_check": checksum(key).hex(),
        "simulated": bool(source.simulated),
        "seed": wish.seed,
        "configuration.loss_range": list(setting.scale.loss_range),
        "configuration.privacy": setting.privacy.to_dict(),
        "configuration.channel": {**_DEFAULTS, **wish.given}["channel"],
        "configuration.patience": setting.patience,
    }
    counters = Counters(0, coins=first_coins(entropy))
    with storage.transaction() as connection:
        one_at_a_time(connection)
        if connection.execute(select(heads.c.id).where(heads.c.name == wish.name)).one_or_none() is not None:
            return None
        # Charged before they exist, and not any earlier, or several that create them at the same moment would each be.
        right = _right(wish, identity, setting.privacy, source)
        token = None if right is None else right.charge()
        study = insert_head(connection, wish.name, pack(record), key, counters)
        if right is not None:
            keep(connection, study, right.entry, token)
    return Found(study, key, setting, right, wish.seed, created=True)


def _resumed(storage: Storage, row: Any, wish: Wish) -> Found:
    record = read(f"the configuration of {wish.name!r}", row.configuration)
    refuse_other_kind(record, EVALUATIONS, wish.name)
    made = part(record, "configuration")
    made["privacy"], made["loss_range"] = guarantee_from_dict(made["privacy"]), tuple(made["loss_range"])
    different = _differences(made, record, wish)
    if different:
        raise ConfigurationMismatch(
            f"evaluations {wish.name!r} at {storage.name} were created otherwise: {'; '.join(different)}. "
            "Leave these out to resume them, or choose another name"
        )
    if record["simulated"] and not noise_source(wish.noise).simulated:
        raise StateRefused(
            f"the noise of evaluations {wish.name!r} is simulated, and its seed is not stored: open them with "
            "noise=sv.SimulatedNoise(seed); they are NOT PRIVATE"
        )
    source = source_for(wish.noise, simulated=record["simulated"])
    right = _right(wish, record["identity"], made["privacy"], source)
    if right is not None:
        right.present(storage, row.id)
    return Found(row.id, bytes(row.key), _setting(made, source), right, record["seed"], created=False)


def _differences(made: dict[str, Any], record: dict[str, Any], wish: Wish) -> list[str]:
    """Say in words what was passed otherwise than it is stored."""
    given = dict(wish.given)
    if given:
        wished = _setting({**made, **given}, None)  # checks them
        if "loss_range" in given:
            given["loss_range"] = wished.scale.loss_range
    found = [f"{name} is {made[name]!r}, not {value!r}" for name, value in given.items() if value != made[name]]
    if wish.seed is not None and wish.seed != record["seed"]:
        found.append(f"seed is {record['seed']!r}, not {wish.seed!r}")
    if noise_source(wish.noise).simulated and not record["simulated"]:
        found.append(f"noise is real, not {wish.noise!r}")
    return found


def _right(wish: Wish, identity: str, privacy: Guarantee, source: NoiseSource) -> LedgerRight | None:
    if wish.ledger is None:
        return None
    return LedgerRight(wish.ledger, f"evaluations {wish.name} {identity}", privacy, source.simulated)
