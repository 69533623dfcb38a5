"""Making a study, and finding it again: what is stored of its making, and what a caller may pass when it is there."""

from dataclasses import fields, replace
from typing import Any

import numpy as np

from sottovoce._checks import number, whole
from sottovoce._records import Record, headed, part
from sottovoce.domains import Domain
from sottovoce.domains.design import Design, adopt_design, known_design
from sottovoce.errors import StateRefused, StudyNotFound
from sottovoce.learning.configuration import BanditConfiguration
from sottovoce.learning.epoch import Epoch
from sottovoce.learning.patience import check_patience
from sottovoce.learning.policy import BanditPolicy, entropy_of
from sottovoce.learning.set_changes import SetChange, problems_of
from sottovoce.plans.problem import forget_rounded
from sottovoce.privacy import NoiseSource, SimulatedNoise
from sottovoce.privacy.noise import WithheldNoise, noise_source
from sottovoce.rounds.stored import OpenedBook, Wanted, open_book, refuse_kind
from sottovoce.rounds.stores.sql._book_rows import read_counters
from sottovoce.rounds.stores.sql.books import StoredBook, find_book, names_of
from sottovoce.rounds.stores.sql.database import Database
from sottovoce.rounds.stores.sql.errors import unpacked

AUTO = -1
"""A patience of "auto", as it is stored."""

_MOST = 2**53  # more than will ever be asked, and what every database can add up
_NEEDED = ("domain", "horizon", "loss_range", "privacy")


def checked_waiting(given: dict[str, Any]) -> dict[str, Any]:
    """Return patience and deadline, of which only those that are given, as they are stored.

    Examples
    --------
    >>> checked_waiting({"patience": "auto", "deadline": 60}), checked_waiting({"patience": None})
    ({'patience': -1, 'deadline': 60.0}, {'patience': None})
    """
    stored = dict(given)
    if given.get("patience") is not None:
        patience = check_patience(given["patience"])
        stored["patience"] = AUTO if patience == "auto" else whole("patience", patience, least=0, most=_MOST)
    if given.get("deadline") is not None:
        stored["deadline"] = number("deadline", given["deadline"], above=0)
    return stored


def in_words(stored: Any) -> Any:
    """Return a patience or a deadline as a caller would pass it."""
    return "auto" if stored == AUTO else stored


def open_study(
    wanted: Wanted, given: dict[str, Any], waiting: dict[str, Any]
) -> tuple[OpenedBook, BanditConfiguration, NoiseSource]:
    """Find a study, or make it: return it with what it was made with, and where its noise comes from.

    Arguments are those of `Study.open`; in `given`, and in `waiting` (patience and deadline), only what was passed.
    """
    domain, name, noise = given.get("domain"), wanted.name, wanted.noise

    def make(base: Database) -> tuple[Record, int | None]:
        missing = [one for one in _NEEDED if one not in given]
        if missing:
            raise not_found(base, name, f"to create it, pass {', '.join(missing)}")
        configuration = BanditConfiguration(**given)
        configuration.check_prior(noise_source(noise))
        trial = BanditPolicy(configuration, configuration.problem(), SimulatedNoise(0), 0)
        _refuse_secrets(trial.first)  # before anything is written
        made = {"entropy": entropy_of(wanted.seed), "shape": list(trial.shape), **_design_of(trial.first)}
        return made | headed("configuration", configuration.to_record()), configuration.horizon

    def differences(made: Record, base: Database) -> list[str]:
        if domain is not None and not isinstance(domain, Domain):
            raise TypeError(f"domain must be a Domain such as sv.domains.Simplex(10), got {domain!r}")
        stored, passed = stored_configuration(made, domain), given
        present, (common,) = read_counters(base, found_study(base, name).book, ", common")
        if domain is not None and common is not None:
            newest = problems_of(stored.problem(), unpacked(common, "what all streams have in common"))[-1]
            if SetChange(domain, newest.features).is_in(newest):  # the one that it has changed to last
                passed = {one: value for one, value in given.items() if one not in ("domain", "features")}
        return replace(stored, **passed).differences(stored) + [
            f"{one} is {in_words(was)!r}, not {in_words(value)!r} (of a study that exists: study.change(...))"
            for one, value in checked_waiting(waiting).items()
            if (was := getattr(present, one)) != value
        ]

    patient = {"patience": AUTO, **checked_waiting(waiting)}
    opened = open_book(wanted, "study", make, differences, waiting=patient, create=bool(given))
    made = opened.stored.made
    configuration = stored_configuration(made, domain)
    adopt_coordinates(configuration.domain, made)
    looks = isinstance(noise, WithheldNoise) and not made["simulated"]
    return opened, configuration, noise_source(None if looks else noise)


def found_study(base: Database, name: str) -> StoredBook:
    """Return a study of a storage; refuse what is none."""
    stored = find_book(base, name)
    if stored is None:
        raise not_found(base, name, "")
    refuse_kind(stored.kind, "study", name)
    return stored


def not_found(base: Database, name: str, advice: str) -> StudyNotFound:
    """Return what is raised where there is no study of a name: it says which there are."""
    names = names_of(base, "study")
    known = f"it has {', '.join(map(repr, names[:10]))}" if names else "it has none yet"
    return StudyNotFound(f"name={name!r}: no such study at {base.name} ({known})", advice)


def stored_configuration(made: Record, domain: Domain | None) -> BanditConfiguration:
    """Return what a study was made with; `domain` is needed where the stored record does not hold it."""
    return BanditConfiguration.from_record(part(made, "configuration"), domain)


def _refuse_secrets(epoch: Epoch) -> None:
    """Refuse a mechanism whose open nodes or buffers hold un-noised sums of rounds that are long over."""
    if epoch.keeps_secrets:
        raise StateRefused(
            f"mechanism={epoch.plan.mechanism!r} keeps un-noised sums from one round to the next, which must not be "
            "stored: use probe sums (the default), mechanism='fresh', or LocalDP"
        )


def _design_of(epoch: Epoch) -> Record:
    """Return the design behind rounded coordinates, if the epoch works in them: they must not change."""
    if epoch.placement.rounded is None:
        return {}
    design = epoch.placement.rounded.design
    return headed("design", {one.name: getattr(design, one.name) for one in fields(design)})


def adopt_coordinates(domain: Domain, made: Record) -> None:
    """Let a domain work in the rounded coordinates that were stored, if any were, whatever was computed before."""
    design, known = part(made, "design"), known_design(domain)
    if design and not (known and all(np.array_equal(getattr(known, name), one) for name, one in design.items())):
        adopt_design(domain, Design(**design))
        forget_rounded()
