"""Making evaluations, and finding them again: in memory, or under a name in a storage."""

import uuid
from typing import TYPE_CHECKING, Any, NamedTuple

from sottovoce._records import Record, headed, part
from sottovoce.errors import StudyNotFound
from sottovoce.evaluations._setting import EvaluationSetting
from sottovoce.learning.policy import entropy_of
from sottovoce.privacy import Ledger, NoiseSource, guarantee_from_dict
from sottovoce.rounds.store import Store
from sottovoce.rounds.stores.memory import MemoryStore

if TYPE_CHECKING:  # drivers are imported where they are used
    from sottovoce.rounds.stored import OpenedBook
    from sottovoce.rounds.stores.sql.database import Database


class OpenedEvaluations(NamedTuple):
    """Evaluations that were found, or made; `entropy` is what the public coins come from, `stored` None in memory."""

    name: str
    seed: int | None
    entropy: int
    setting: EvaluationSetting
    stored: "OpenedBook | None"
    store: Store


def open_in_memory(
    name: str | None, given: dict[str, Any], seed: int | None, noise: NoiseSource | None, ledger: Ledger | None
) -> OpenedEvaluations:
    """Return evaluations in the memory of this process; arguments are those of `PrivateEvaluations`."""
    if missing := _missing(given):
        raise TypeError(f"evaluations need {' and '.join(missing)}")
    setting, name = EvaluationSetting(**given, noise=noise), name or f"private-evaluations-{uuid.uuid4().hex}"
    store = MemoryStore(setting.shape, forks=not setting.in_earnest)
    if ledger is not None:  # last of all: what cannot be built is not charged
        ledger.charge(name, setting.privacy, simulated=setting.source.simulated, resume=False)
    return OpenedEvaluations(name, seed, entropy_of(seed), setting, None, store)


def open_stored(
    url: str,
    name: str,
    given: dict[str, Any],
    seed: int | None,
    noise: NoiseSource | None,
    ledger: Ledger | None,
    *,
    restored: bool,
) -> OpenedEvaluations:
    """Return evaluations in a storage, created or resumed; arguments are those of `PrivateEvaluations`."""
    from sottovoce.rounds.stored import Wanted, open_book

    def make(base: "Database") -> tuple[Record, None]:
        if missing := _missing(given):
            advice = f"to create them, pass {', '.join(missing)}"
            raise StudyNotFound(f"name={name!r}: no such evaluations at {base.name}", advice)
        setting = EvaluationSetting(**given, noise=noise)
        made = {"entropy": entropy_of(seed), "shape": list(setting.shape)}
        ends = {"loss_range": list(setting.scale.loss_range), "privacy": setting.privacy.to_dict()}
        return made | headed("configuration", {**setting.arguments, **ends}), None

    def differences(made: Record, base: "Database") -> list[str]:
        stored = _made_with(made)
        wished = EvaluationSetting(**{**stored, **given}).arguments  # which refuses what can be passed to none
        return [f"{one} is {stored[one]!r}, not {wished[one]!r}" for one in given if wished[one] != stored[one]]

    wanted = Wanted(url, name, seed, noise, ledger)
    opened = open_book(wanted, "evaluations", make, differences, create=bool(given))
    try:
        made = opened.stored.made
        setting = EvaluationSetting(**_made_with(made), noise=noise)
        store = opened.store(setting.shape, restored=restored)
        return OpenedEvaluations(name, made["seed"], made["entropy"], setting, opened, store)
    except BaseException:
        opened.base.close()
        raise


def _missing(given: dict[str, Any]) -> list[str]:
    return [one for one in ("loss_range", "privacy") if one not in given]


def _made_with(made: Record) -> dict[str, Any]:
    """Return the arguments that evaluations were made with."""
    plain = part(made, "configuration")
    return plain | {"loss_range": tuple(plain["loss_range"]), "privacy": guarantee_from_dict(plain["privacy"])}
