"""An audit on record: what `sottovoce audit` leaves in audit.json, and what a statement reads from it.

An audit is a fact with a date: of this version of the library, with these runs. A statement shows those it is given,
and invents none.
"""

import json
import math
import os
import platform
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from sottovoce.auditing.results import Findings, summary

_LARGEST = 64_000_000  # bytes: more is no record of an audit


def findings_record(found: Findings, *, sottovoce: str, moment: datetime | None = None) -> dict[str, Any]:
    """Return findings as plain data, for JSON, with when they were made and by which versions.

    Parameters
    ----------
    found
        What `audit_all` returned.
    sottovoce
        The version of this library.
    moment
        When; by default now.
    """
    return {
        "sottovoce": sottovoce,
        "date": (moment or datetime.now(UTC)).astimezone(UTC).isoformat(timespec="seconds"),
        "versions": {"python": platform.python_version(), "opendp": version("opendp")},
        "passed": found.passed,
        "complete": found.complete,
        "confidence": found.confidence,
        "words": summary(found),
        "checks": [one.to_dict() for one in found.checks],
        "audits": [one.to_dict() for one in found.audits],
    }


class AuditedClaim(NamedTuple):
    """A claim that was attacked by runs.

    Attributes
    ----------
    label, kind
        What was attacked, "study of posterior, probe-sums", and what it is, "study".
    runs
        How many there were.
    least_seen
        The smallest epsilon that this attack would have told from its claim; infinity if none.
    """

    label: str
    kind: str
    runs: int
    least_seen: float


@dataclass(frozen=True)
class AuditRecord:
    """What a file says of an audit.

    Attributes
    ----------
    file
        Its name.
    date
        When the audit was made.
    sottovoce
        The version that was audited.
    passed, complete
        Whether nothing was refuted, and whether everything was done.
    refuted
        What was refuted, by its label.
    confidence
        1 - confidence is the probability that a right program fails anywhere.
    attacks, checks
        The claims that were attacked by runs, and how many checks there were.
    simulated
        Whether any noise came from a seed: then the arithmetic was audited, and no release.
    """

    file: str
    date: datetime
    sottovoce: str
    passed: bool
    complete: bool
    refuted: tuple[str, ...]
    confidence: float
    attacks: tuple[AuditedClaim, ...]
    checks: int
    simulated: bool


def read_audit(path: str | os.PathLike[str]) -> AuditRecord:
    """Read what `sottovoce audit` has written.

    Parameters
    ----------
    path
        Of audit.json, or the folder that holds it.
    """
    file = Path(path)
    file = file / "audit.json" if file.is_dir() else file
    try:
        if file.stat().st_size > _LARGEST:
            raise ValueError("too large")
        return _record(file.name, json.loads(file.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise ValueError(f"there is no audit at {file}") from None
    except OSError as problem:
        raise ValueError(f"the audit at {file} cannot be read: {problem.strerror}") from None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise ValueError(f"{file} is not what `sottovoce audit` writes (audit.json), or is damaged") from None


def _record(name: str, plain: dict[str, Any]) -> AuditRecord:
    audits, checks = list(plain["audits"]), list(plain["checks"])
    refuted = tuple(str(one["label"]) for one in [*audits, *checks] if not one["passed"])
    confidence = float(plain["confidence"])
    if not 0 < confidence < 1 or not all(math.isfinite(one["epsilon_claimed"]) for one in audits):
        raise ValueError("no audit has such figures")
    return AuditRecord(
        file=name,
        date=datetime.fromisoformat(plain["date"]),
        sottovoce=str(plain["sottovoce"]),
        passed=bool(plain["passed"]) and not refuted,  # whatever the file says of itself
        complete=bool(plain["complete"]),
        refuted=refuted,
        confidence=confidence,
        attacks=tuple(
            AuditedClaim(
                str(one["label"]), str(one["kind"]), int(one["runs"]), float(one["smallest_epsilon_seen"] or math.inf)
            )
            for one in audits
        ),
        checks=len(checks),
        simulated=any(bool(one["simulated_noise"]) for one in audits),
    )
