"""Exporting a study: released and public values as plain data. Nothing here reads a loss."""

import json
from collections.abc import Iterator
from typing import Any

from sottovoce._records import Record, part
from sottovoce.domains.naming import as_plain
from sottovoce.learning.policy import BanditPolicy
from sottovoce.learning.status import Status
from sottovoce.models import Posterior
from sottovoce.rounds.round import Release
from sottovoce.rounds.stores.sql.store import SqlStore
from sottovoce.studies.opening import in_words

FORMAT = "sottovoce study, exported"
VERSION = 1


def exported(study: Any, status: Status, made: Record, store: SqlStore, policy: BanditPolicy) -> dict[str, Any]:
    """Return a study as plain data that JSON can hold: what it was made with, where it stands, every closed round.

    Open rounds are left out: they hold losses that are not released. A closed round has its number, its first event
    and its size, its state ("released", "unreleased" for the last of an epoch, "dropped" after a restoration), the
    point it was played around, how many losses were missing and, if released, the numbers with their noise and the
    public weights behind them; of a study with segments, each says whose it is. `labels` are the names of a point's
    coordinates, in their order, or None.
    """
    segments = {stream: {"segment": as_plain(one)} for one, stream in policy.numbers.items() if one is not None}
    streams = [(stream, segments.get(stream, {})) for stream in policy.streams]
    return {
        "format": FORMAT,
        "version": VERSION,
        "name": study.name,
        "configuration": _configuration(made, store.settings()),
        "labels": as_plain(study.domain.labels),
        "privacy": str(study.privacy),
        "status": as_plain(status.to_dict()),
        "epochs": [
            {**whose, "epoch": number, "first_event": before, "plan": as_plain(plan.to_dict())}
            for stream, whose in streams
            for number, ((before, _), plan) in enumerate(policy.stream(stream).planned.items())
        ],
        "rounds": [
            {**whose, **_round(release, policy)} for stream, whose in streams for release in store.releases(stream, 0)
        ],
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


def _configuration(made: Record, waiting: tuple[int | None, float | None]) -> Any:
    stored = part(made, "configuration")
    plain = {name: one for name, one in stored.items() if "." not in name and name != "fingerprint"}
    if prior := part(stored, "prior"):  # a file of its own, and large: `posterior` of the study that released it
        known = Posterior.from_record(prior)
        plain |= {"prior": repr(known), "prior_promises": [one.to_dict() for one in known.promises]}
    if segments := part(stored, "segments"):
        plain["segments"] = segments
    facts = {"identity": made["identity"], "patience": in_words(waiting[0]), "deadline": waiting[1]}
    return as_plain({**plain, **facts, "simulated_noise": made["simulated"]})


def _round(release: Release, policy: BanditPolicy) -> dict[str, Any]:
    one = release.round
    planned, problem = list(policy.stream(one.stream).planned), policy.problem_of(one)
    placement = problem.placement(policy.plan_of(one).position)
    state = "dropped" if release.dropped else "unreleased" if release.numbers is None else "released"
    found = {
        "round": one.number,
        "epoch": planned.index((one.public["before"], one.public["set"])),
        "state": state,
        "first_event": one.position,
        "size": one.size,
        "point": as_plain(placement.original(one.public["point"])),
        "missing": None if release.dropped else len(release.missing),
    }
    if release.numbers is not None:
        names = ("released", "weights", "squares")[: len(release.numbers)]
        found |= dict(zip(names, release.numbers.tolist(), strict=True))
    return found
