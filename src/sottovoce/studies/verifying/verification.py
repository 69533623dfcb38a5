"""Verifying a study: every checksum, every invariant, and the point computed again from the released rounds."""

import stat
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sottovoce._records import part
from sottovoce.domains import Domain
from sottovoce.errors import ConfigurationMismatch, SottovoceError, StudyDamaged
from sottovoce.exploration import Explorer
from sottovoce.learning.bandit.configuration import BanditConfiguration
from sottovoce.learning.planning.problem import Problem
from sottovoce.studies.database.kinds import STUDY
from sottovoce.studies.database.snapshot import Snapshot, take_snapshot, tried
from sottovoce.studies.database.storage import Storage
from sottovoce.studies.opening.names import study_name
from sottovoce.studies.verifying._examiner import MALFORMED, Examiner
from sottovoce.studies.verifying._lanes import check_lanes
from sottovoce.studies.verifying._replay import Replay

__all__ = ["Verification", "verify_in", "verify_rows", "verify_stored"]

_SHOWN = 20
_IDENTITY = 32  # letters


@dataclass(frozen=True)
class Verification:
    """What `verify` has found.

    Attributes
    ----------
    name
        Of the study.
    rounds, released, epochs, blocks, cells
        Rows that were looked at; `released` are the rounds that were learned from again.
    point_distance, point_tolerance
        How far the stored point of any round is from the one that is computed again, and how far it may be: the
        certified error of two projections.
    faults
        What is wrong, in words; none if all is well.
    notes
        What is not wrong, but worth knowing.

    Examples
    --------
    >>> print(Verification("spring", 12, 11, 1, 0, 0, 0.0, 1e-6, (), ()))
    Study 'spring': ok
      checked  12 rounds (11 released), 1 epoch, 0 stretches of actions, 0 stretches of losses
      points   follow from the released rounds (distance 0, at most 1e-06)
    """

    name: str
    rounds: int
    released: int
    epochs: int
    blocks: int
    cells: int
    point_distance: float
    point_tolerance: float
    faults: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.faults

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that JSON can hold."""
        return {"ok": self.ok, **asdict(self), "faults": list(self.faults), "notes": list(self.notes)}

    def __str__(self) -> str:
        checked = (
            f"{_several(self.rounds, 'round')} ({self.released:,} released), {_several(self.epochs, 'epoch')}, "
            f"{_several(self.blocks, 'stretch', 'es')} of actions, {_several(self.cells, 'stretch', 'es')} of losses"
        )
        verdict = "ok" if self.ok else f"{_several(len(self.faults), 'fault')} found"
        lines = [f"Study {self.name!r}: {verdict}", f"  checked  {checked}"]
        if self.ok:
            distance = f"distance {self.point_distance:.3g}, at most {self.point_tolerance:.3g}"
            lines.append(f"  points   follow from the released rounds ({distance})")
        lines += [f"  fault    {one}" for one in self.faults[:_SHOWN]]
        if len(self.faults) > _SHOWN:
            lines.append(f"  fault    ... and {len(self.faults) - _SHOWN} more")
        lines += [f"  note     {one}" for one in self.notes]
        return "\n".join(lines)


def verify_stored(url: str, name: str, *, domain: Domain | None = None) -> Verification:
    """Check a study where it lies, without opening it: it may be too damaged for that.

    Parameters
    ----------
    url, name
        As for `Study.open`.
    domain
        For studies whose domain holds functions: it is not stored.
    """
    study_name(name)
    storage = Storage(url, create=False)
    try:
        return verify_in(storage, name, domain)
    finally:
        storage.close()


def verify_in(storage: Storage, name: str, domain: Domain | None) -> Verification:
    """Check a study of a storage. Its rows are read in one transaction, and checked after it."""
    faults: list[str] = []
    try:
        storage.check()
    except StudyDamaged as problem:
        faults.append(str(problem))
    try:
        with storage.unwinding(), storage.transaction() as connection:
            snapshot = take_snapshot(connection, name)
    except StudyDamaged as problem:
        return Verification(name, 0, 0, 0, 0, 0, 0.0, 0.0, (*faults, str(problem)), ())
    return verify_rows(snapshot, name, domain, faults=faults, notes=_notes(storage, snapshot))


def verify_rows(
    snapshot: Snapshot, name: str, domain: Domain | None, *, faults: Sequence[str] = (), notes: Sequence[str] = ()
) -> Verification:
    """Check rows that were read; `faults` and `notes` are what was found before."""
    examiner = Examiner(snapshot)
    examiner.faults += faults
    examiner.examine()
    problem, horizon = _configuration(examiner, domain)
    replays = [_replayed(examiner, problem, horizon)]
    if snapshot.lanes or (problem is not None and problem.segments is not None):
        found = check_lanes(snapshot, problem, horizon, examiner.faults)
        replays += [_replayed(one, problem, horizon, found.like) for one in found.examiners]
        examiner.faults += found.faults()
        notes = [*notes, *found.notes]
    return Verification(
        name,
        sum(len(one.rounds) for one in snapshot.all),
        sum(one.released for one in replays if one),
        sum(len(one.epochs) for one in snapshot.all),
        sum(len(one.blocks) for one in snapshot.all),
        sum(len(one.cells) for one in snapshot.all),
        max(one.distance if one else 0.0 for one in replays),
        max(one.tolerance if one else 0.0 for one in replays),
        tuple(examiner.faults),
        tuple(notes),
    )


def _configuration(examiner: Examiner, domain: Domain | None) -> tuple[Problem | None, int | None]:
    """Return what the study is about, if it can be read, and its horizon; the oracle must answer as it did then."""
    record = tried("the configuration", examiner.rows.study.configuration, examiner.faults)
    if record is None:
        return None, None
    examiner.expect(examiner.key_matches(record), "the key of ids is not the one that the study was made with")
    known = record.get("format") == STUDY and len(str(record.get("identity"))) == _IDENTITY
    examiner.expect(known, "the configuration is not that of a study")
    try:
        configuration = BanditConfiguration.from_record(part(record, "configuration"), domain)
        problem, examiner.simulated = configuration.problem(), bool(record["simulated"])
    except ConfigurationMismatch as mismatch:
        examiner.faults.append(str(mismatch))
        return None, None
    except MALFORMED as malformed:
        examiner.faults.append(f"the configuration cannot be read: {type(malformed).__name__}")
        return None, None
    horizon, asked = configuration.horizon, examiner.rows.study.asked
    examiner.expect(horizon is None or asked <= horizon, f"{asked} events are asked, and horizon={horizon}")
    return problem, horizon


def _replayed(
    examiner: Examiner, problem: Problem | None, horizon: int | None, like: dict[str, Explorer] | None = None
) -> Replay | None:
    """Learn again; nothing can be learned from rows that are damaged or out of order."""
    if problem is None or examiner.faults:
        return None
    replay = Replay(examiner, problem, horizon, like)
    try:
        replay.replay()
    except (SottovoceError, *MALFORMED) as reason:
        examiner.faults.append(f"the released rounds cannot be learned from again: {type(reason).__name__}")
    return replay


def _notes(storage: Storage, snapshot: Snapshot) -> list[str]:
    notes = []
    pending = sum(one.study.closed - one.study.erased for one in snapshot.all)
    if pending > 0:
        notes.append(f"losses of {_several(pending, 'round')} may linger in the log: erasure is tried with every call")
    if storage.path is not None and storage.path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        notes.append(f"{storage.path} can be reached by others than its owner: chmod 600")
    return notes


def _several(count: int, word: str, many: str = "s", one: str = "") -> str:
    return f"{count:,} {word}{one if count == 1 else many}"
