"""Making a study, and finding it again: what is stored of its making, and what a caller may pass when it is there."""

from dataclasses import dataclass, replace
from typing import Any

from sottovoce._checks import number, whole
from sottovoce._records import Record, part
from sottovoce.domains import Domain
from sottovoce.errors import StudyNotFound
from sottovoce.learning.configuration import BanditConfiguration
from sottovoce.learning.patience import check_patience
from sottovoce.learning.policy import BanditPolicy, entropy_of
from sottovoce.learning.public_records import adopt, design_record, refuse_secrets
from sottovoce.learning.set_changes import SetChange, problems_of
from sottovoce.privacy import Guarantee, Ledger, NoiseSource, SimulatedNoise, guarantee_from_dict
from sottovoce.privacy.noise import WithheldNoise, noise_source
from sottovoce.rounds.stored import OpenedBook, check_made, open_book, refuse_kind
from sottovoce.rounds.stores.sql.books import StoredBook, find_book, names_of
from sottovoce.rounds.stores.sql.database import Database
from sottovoce.rounds.stores.sql.errors import unpacked

AUTO = -1
"""A patience of "auto", as it is stored."""

_MOST = 2**53  # more than will ever be asked, and what every database can add up
_NEEDED = ("domain", "horizon", "loss_range", "privacy")


@dataclass(frozen=True)
class OpenRequest:
    """What a caller of `Study.open` passed: only what was passed."""

    url: str
    name: str
    given: dict[str, Any]
    waiting: dict[str, Any]  # patience, deadline
    seed: int | None
    noise: NoiseSource | None
    ledger: Ledger | None


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


def open_study(request: OpenRequest) -> tuple[OpenedBook, BanditConfiguration, NoiseSource]:
    """Find a study, or make it: return it with what it was made with, and where its noise comes from."""
    opened = open_book(
        request.url,
        request.name,
        "study",
        make=lambda base: _made(request, base),
        check=lambda made, base: _check(request, made, base),
        guarantee=_guarantee,
        waiting={"patience": AUTO, **checked_waiting(request.waiting)},
        ledger=request.ledger,
        create=bool(request.given),
    )
    made = opened.stored.made
    configuration = stored_configuration(made, request.given.get("domain"))
    adopt(configuration.domain, made)
    return opened, configuration, _source(request, simulated=made["simulated"])


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


def _made(request: OpenRequest, base: Database) -> tuple[Record, int | None]:
    missing = [name for name in _NEEDED if name not in request.given]
    if missing:
        raise not_found(base, request.name, f"to create it, pass {', '.join(missing)}")
    configuration, source = BanditConfiguration(**request.given), noise_source(request.noise)
    configuration.check_prior(source)
    trial = BanditPolicy(configuration, configuration.problem(), SimulatedNoise(0), 0)
    refuse_secrets(trial.first)  # before anything is written
    made = {
        "simulated": bool(source.simulated),
        "seed": request.seed,
        "entropy": entropy_of(request.seed),
        "shape": list(trial.shape),
        **design_record(trial.first),
        **{f"configuration.{name}": value for name, value in configuration.to_record().items() if name != "patience"},
    }
    return made, configuration.horizon


def _check(request: OpenRequest, made: Record, base: Database) -> None:
    domain = request.given.get("domain")
    if domain is not None and not isinstance(domain, Domain):
        raise TypeError(f"domain must be a Domain such as sv.domains.Simplex(10), got {domain!r}")
    stored, given = stored_configuration(made, domain), request.given
    if domain is not None and _is_newest(base, request.name, stored, domain):
        given = {name: value for name, value in given.items() if name not in ("domain", "features")}
    different = replace(stored, **given).differences(stored)
    ((patience, deadline),) = base.run("SELECT patience, deadline FROM sottovoce_books WHERE name = ?", request.name)
    settings = {"patience": patience, "deadline": deadline}
    changeable = [
        f"{name} is {in_words(settings[name])!r}, not {in_words(value)!r} (of a study that exists: study.change(...))"
        for name, value in checked_waiting(request.waiting).items()
        if settings[name] != value
    ]
    check_made(made, f"study {request.name!r}", base, different + changeable, request.seed, request.noise)


def _is_newest(base: Database, name: str, stored: BanditConfiguration, domain: Domain) -> bool:
    """Whether a set is the one that a study has changed to last."""
    ((common,),) = base.run("SELECT common FROM sottovoce_books WHERE name = ?", name)
    if common is None:
        return False
    newest = problems_of(stored.problem(), unpacked(common, "what all streams have in common"))[-1]
    return SetChange(domain, newest.features).is_in(newest)


def stored_configuration(made: Record, domain: Domain | None) -> BanditConfiguration:
    """Return what a study was made with; `domain` is needed where the stored record does not hold it."""
    plain = {"patience": "auto", **part(made, "configuration")}
    return BanditConfiguration.from_record(plain, domain if plain["domain"] is None else None)


def _source(request: OpenRequest, *, simulated: bool) -> NoiseSource:
    looks = isinstance(request.noise, WithheldNoise) and not simulated
    return noise_source(None if looks else request.noise)


def _guarantee(made: Record) -> Guarantee:
    return guarantee_from_dict(made["configuration.privacy"])
