"""Evaluations in a storage: made once under a name, resumed by it ever after."""

from functools import partial
from typing import Any

import numpy as np

from sottovoce._records import Record
from sottovoce.errors import ConfigurationMismatch, StudyNotFound
from sottovoce.evaluations._book import EvaluationBook
from sottovoce.evaluations._setting import EvaluationSetting
from sottovoce.privacy import Guarantee, Ledger, NoiseSource
from sottovoce.privacy.guarantees import guarantee_from_dict
from sottovoce.rounds.round import TextIds
from sottovoce.rounds.stored import OpenedBook, book_name, check_noise, open_book, refuse_without_ledger
from sottovoce.rounds.stores.sql.database import Database
from sottovoce.rounds.stores.sql.schema import DROPPED, RELEASED
from sottovoce.rounds.stores.sql.store import SqlStore

__all__ = ["open_stored", "verify_stored"]


def open_stored(
    url: str,
    name: str,
    given: dict[str, Any],
    *,
    seed: int | None,
    noise: NoiseSource | None,
    ledger: Ledger | None,
    repeat: str,
    restored: bool,
) -> tuple[EvaluationBook, OpenedBook]:
    """Return the book of evaluations in a storage, created or resumed; arguments are those of `PrivateEvaluations`."""

    def make(base: Database) -> tuple[Record, None]:
        missing = [one for one in ("loss_range", "privacy") if one not in given]
        if missing:
            advice = f"to create them, pass {', '.join(missing)}"
            raise StudyNotFound(f"name={name!r}: no such evaluations at {base.name}", advice)
        setting = EvaluationSetting(**given, noise=noise)
        entropy: Any = np.random.SeedSequence().entropy if seed is None else seed
        made = {"simulated": bool(setting.source.simulated), "shape": list(setting.shape), "seed": seed}
        ends = {"loss_range": list(setting.scale.loss_range), "privacy": setting.privacy.to_dict()}
        return {**made, "entropy": f"{entropy:x}", **setting.arguments, **ends}, None

    def check(made: Record, base: Database) -> None:
        stored = _made_with(made)
        wished = EvaluationSetting(**{**stored, **given}).arguments  # which refuses what can be passed to none
        different = [f"{one} is {stored[one]!r}, not {wished[one]!r}" for one in given if wished[one] != stored[one]]
        if seed is not None and seed != made["seed"]:
            different.append(f"seed is {made['seed']!r}, not {seed!r}")
        different += [] if different else check_noise(made, noise, f"evaluations {name!r}")
        if different:
            raise ConfigurationMismatch(
                f"evaluations {name!r} at {base.name} were created otherwise: {'; '.join(different)}. "
                "Leave these out to resume them, or choose another name"
            )

    options: dict[str, Any] = {"guarantee": _guarantee, "ledger": ledger, "create": bool(given)}
    opened = open_book(url, book_name(name), "evaluations", make=make, check=check, **options)
    try:
        made = opened.stored.made
        setting = EvaluationSetting(**_made_with(made), noise=noise)
        store = SqlStore(opened.base, opened.stored.book, setting.shape)
        if opened.ledger_token is not None:
            store.present = partial(opened.ledger_token.present_within, opened.base, opened.stored.book)
        if restored:
            refuse_without_ledger(opened, name)
            store.restore()
        ids, entropy = TextIds(opened.stored.secret), int(made["entropy"], 16)
        return EvaluationBook(store, setting, entropy, ids=ids, repeat=repeat), opened
    except BaseException:
        opened.base.close()
        raise


def _guarantee(made: Record) -> Guarantee:
    return guarantee_from_dict(made["privacy"])


def _made_with(made: Record) -> dict[str, Any]:
    """Return the arguments that evaluations were made with."""
    plain = {one: made[one] for one in ("patience", "variance")}
    return {"loss_range": tuple(made["loss_range"]), "privacy": _guarantee(made), **plain}


def verify_stored(opened: OpenedBook, name: str, setting: EvaluationSetting) -> tuple[int, int, int, tuple[str, ...]]:
    """Return how many evaluations are released, abandoned and open by their rows, and what is wrong with these."""
    from sottovoce.rounds.stores.sql.verify import CheckedBook, read_book  # for those who look

    rows = read_book(opened.base, name)
    if rows is None:
        return 0, 0, 0, ("the evaluations are gone",)
    book = CheckedBook(rows)
    book.valid = setting.grid.valid
    book.check()
    states = [row.state for row in rows.releases]
    counts = states.count(RELEASED), states.count(DROPPED), sum(row.open for row in rows.rounds)
    return *counts, tuple(book.faults)
