"""Exporting a study: released and public values as plain data. Nothing here reads a loss."""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from sottovoce._records import part
from sottovoce.domains.naming import as_plain
from sottovoce.errors import StudyDamaged
from sottovoce.exploration import Record
from sottovoce.exploration.posterior import Posterior
from sottovoce.learning.bandit.saved_state import adopt
from sottovoce.learning.planning.plan import Plan
from sottovoce.learning.planning.problem import Problem
from sottovoce.privacy import PrivacyStatement
from sottovoce.studies.calls.waiting import in_words
from sottovoce.studies.database.rows import read
from sottovoce.studies.database.snapshot import Snapshot
from sottovoce.studies.database.tables import OPEN
from sottovoce.studies.status import Status

__all__ = ["FORMAT", "export_lines", "exported"]

FORMAT = "sottovoce study, exported"
VERSION = 1


def exported(
    snapshot: Snapshot, problem: Problem, *, name: str, privacy: PrivacyStatement, status: Status
) -> dict[str, Any]:
    """Return a study as plain data that JSON can hold: what it was made with, where it stands, every closed round.

    Open rounds are left out: they hold losses that are not released. A closed round has its number, its first event
    and its size, its state ("released", "unreleased" for the last of an epoch, "dropped" after a restoration), the
    point it was played around, how many losses were missing and, if released, the numbers with their noise and the
    public weights behind them; of a study with segments, each says whose it is. `labels` are the names of a point's
    coordinates, in their order, or None.
    """
    return {
        "format": FORMAT,
        "version": VERSION,
        "name": name,
        "configuration": _configuration(snapshot),
        "labels": None if problem.domain.labels is None else as_plain(problem.domain.labels),
        "privacy": str(privacy),
        "status": _plain(status.to_dict()),
        "epochs": [{**_segment(one), **_epoch(row)} for one in snapshot.all for row in one.epochs],
        "rounds": [{**_segment(one), **row} for one in snapshot.all for row in _rounds(one, problem)],
    }


def export_lines(exported: dict[str, Any]) -> Iterator[str]:
    """Return an export as lines of JSON: first everything but the rounds, then one line for each round.

    Parameters
    ----------
    exported
        What `Study.export` returned.

    Examples
    --------
    >>> list(export_lines({"name": "spring", "rounds": [{"round": 0}, {"round": 1}]}))
    ['{"name": "spring"}', '{"round": 0}', '{"round": 1}']
    """
    yield json.dumps({key: value for key, value in exported.items() if key != "rounds"}, allow_nan=False)
    for one in exported["rounds"]:
        yield json.dumps(one, allow_nan=False)


def _configuration(snapshot: Snapshot) -> dict[str, Any]:
    record = read("the configuration", snapshot.study.configuration)
    made = part(record, "configuration")
    made.pop("fingerprint", None)
    if prior := part(made, "prior"):  # a file of its own, and large: `posterior` of the study that released it
        made = {name: one for name, one in made.items() if not name.startswith("prior.")}
        known = Posterior.from_record(prior)
        made |= {"prior": repr(known), "prior_promises": [one.to_dict() for one in known.promises]}
    if segments := part(made, "segments"):
        made = {name: one for name, one in made.items() if not name.startswith("segments.")}
        made["segments"] = segments
    waiting = {name: in_words(getattr(snapshot.study, name)) for name in ("patience", "deadline")}
    facts = {"identity": record["identity"], **waiting, "simulated_noise": record["simulated"]}
    return _mapping({**made, **facts})


def _segment(snapshot: Snapshot) -> dict[str, Any]:
    """Return whose rounds and epochs these are, if they are a segment's."""
    record = read("the making of a segment", snapshot.study.configuration)
    return {"segment": _plain(record["segment"])} if "segment" in record else {}


def _epoch(row: Any) -> dict[str, Any]:
    made = read(f"epoch {row.number}", row.made)
    return {"epoch": row.number, "first_event": made["first"], "plan": _plain(made["plan"])}


def _rounds(snapshot: Snapshot, problem: Problem) -> Iterator[dict[str, Any]]:
    originals: dict[int, Any] = {}  # from an epoch's coordinates to the domain's own
    for row in snapshot.epochs:
        made = read(f"epoch {row.number}", row.made)
        adopt(problem.domain, made)
        originals[row.number] = problem.stage(Plan.from_dict(made["plan"]).position).original
    for row in snapshot.rounds:
        if row.state == OPEN:
            continue
        public, closed = read(f"round {row.number}", row.public), read(f"round {row.number}", row.released)
        if public["number"] != row.number or closed["number"] != row.number:
            raise StudyDamaged(f"round {row.number} is stored in another's place")
        yield _round(row.state, public, closed, originals[public["epoch"]])


def _round(state: str, public: Record, closed: Record, original: Any) -> dict[str, Any]:
    found = {
        "round": public["number"],
        "epoch": public["epoch"],
        "state": state,
        "first_event": public["first"],
        "size": public["size"],
        "point": original(public["point"]).tolist(),
        "missing": len(closed["missing"]) if "missing" in closed else None,
    }
    if "numbers" in closed:
        found |= {"released": closed["numbers"].tolist(), "weights": closed["weights"].tolist()}
    return found


def _mapping(values: dict[str, Any]) -> dict[str, Any]:
    return {str(key): _plain(one) for key, one in values.items()}


def _plain(value: Any) -> Any:
    """Return what JSON can hold: infinity as a text."""
    if isinstance(value, dict):
        return _mapping(value)
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    return value
