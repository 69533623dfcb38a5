"""What a study promises: its statement, and audits on record."""

from dataclasses import dataclass
from pathlib import Path

from sottovoce.auditing import AuditRecord, read_audit
from sottovoce.report import statement
from sottovoce.studies import Study

__all__ = ["Promise", "audits_in", "look_promise"]

_COUNTS = "Where it stands"  # changes with every call; the top of the page has it
_AUDITS = "Audits on record"
_MOST = 200  # files of a folder


@dataclass(frozen=True, slots=True)
class Promise:
    """A statement, cut into parts.

    Attributes
    ----------
    headline
        The guarantee in one line.
    private
        Whether anybody is protected.
    warnings
        What must not be overlooked.
    sections
        Titles, with names and texts, and lists.
    audits
        Dates, and what was found; empty if none is on record.
    audits_refuted
        Whether any of them refutes something.
    unreadable
        Files in the folder of audits that are none.
    """

    headline: str
    private: bool
    warnings: tuple[str, ...]
    sections: tuple[tuple[str, tuple[tuple[str, str], ...], tuple[str, ...]], ...]
    audits: tuple[tuple[str, str], ...]
    audits_refuted: bool
    unreadable: tuple[str, ...] = ()


def look_promise(study: Study, audits: tuple[AuditRecord, ...], unreadable: tuple[str, ...] = ()) -> Promise:
    """Return what a study promises."""
    found = statement(study, audits=audits)
    sections = tuple((one.title, one.rows, one.items) for one in found.sections if one.title not in (_COUNTS, _AUDITS))
    rows = next((one.rows for one in found.sections if one.title == _AUDITS), ()) if audits else ()
    return Promise(
        headline=study.privacy.headline,
        private=bool(found.private),
        warnings=found.warnings,
        sections=sections,
        audits=rows,
        audits_refuted=not all(one.passed for one in audits),
        unreadable=unreadable,
    )


def audits_in(folder: str | None) -> tuple[tuple[AuditRecord, ...], tuple[str, ...]]:
    """Return the audits of a folder, the newest first, and the names of files that are none.

    A record is a file `*.json`, or `audit.json` in a folder of its own, as `sottovoce audit --out` leaves it.
    """
    if folder is None or not Path(folder).is_dir():
        return (), ()
    place = Path(folder)
    files = sorted({*place.glob("*.json"), *place.glob("*/audit.json")})[:_MOST]
    found, unreadable = [], []
    for file in files:
        try:
            found.append(read_audit(file))
        except ValueError:
            unreadable.append(str(file.relative_to(place)))
    found.sort(key=lambda one: one.date.isoformat(), reverse=True)
    return tuple(found), tuple(unreadable)
