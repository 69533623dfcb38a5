"""Verifying a study: every checksum, every invariant, and the points computed again from the released rounds."""

import json
import stat
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from typing import Any

from sottovoce._printed import Part, Printed
from sottovoce._records import DamagedRecord, Record, checksum, unpack
from sottovoce._threads import single_threaded
from sottovoce.domains import Domain
from sottovoce.domains.naming import as_name
from sottovoce.errors import ConfigurationMismatch, StudyDamaged, UnknownSegment
from sottovoce.learning.epoch import loss_grid
from sottovoce.learning.pooled_policy import shares_rounds
from sottovoce.learning.set_changes import grid_for, problems_of
from sottovoce.plans.plan import Plan
from sottovoce.plans.problem import Problem
from sottovoce.rounds.stored import book_name, refuse_kind
from sottovoce.rounds.stores.sql.database import Database, open_database
from sottovoce.rounds.stores.sql.verify import MALFORMED, BookRows, CheckedBook, read_book
from sottovoce.studies.opening import adopt_coordinates, not_found, stored_configuration
from sottovoce.studies.verifying._replay import ReplaySetting, StreamReplay, check_design

_SHOWN = 20
_IDENTITY = 32  # letters
_NOT_COMPUTED = (
    "what other segments said when a round began is not computed again: that beliefs rest on what was released is "
    "checked segment by segment, where decisions were drawn from is not"
)


@dataclass(frozen=True)
class Verification(Printed):
    """What `verify` has found.

    Attributes
    ----------
    name
        Of the study.
    rounds, released, epochs, chunks
        What was looked at; `released` are the rounds that were learned from again, `chunks` hold losses.
    point_distance, point_tolerance
        How far the stored point of any round is from the one that is computed again, and how far it may be: the
        certified error of two projections.
    faults
        What is wrong, in words; none if all is well.
    notes
        What is not wrong, but worth knowing.

    Examples
    --------
    >>> print(Verification("spring", 12, 11, 1, 0, 0.0, 1e-6, (), ()))
    Study 'spring': ok
      checked  12 rounds (11 released), 1 epoch, 0 chunks of losses
      points   follow from the released rounds (distance 0, at most 1e-06)
    """

    name: str
    rounds: int
    released: int
    epochs: int
    chunks: int
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

    def _parts(self) -> list[Part]:
        checked = (
            f"{_several(self.rounds, 'round')} ({self.released:,} released), {_several(self.epochs, 'epoch')}, "
            f"{_several(self.chunks, 'chunk')} of losses"
        )
        verdict = "ok" if self.ok else f"{_several(len(self.faults), 'fault')} found"
        rows = [("checked", checked)]
        if self.ok:
            distance = f"distance {self.point_distance:.3g}, at most {self.point_tolerance:.3g}"
            rows.append(("points", f"follow from the released rounds ({distance})"))
        rows += [("fault", one) for one in self.faults[:_SHOWN]]
        if len(self.faults) > _SHOWN:
            rows.append(("fault", f"... and {len(self.faults) - _SHOWN} more"))
        return [(f"Study {self.name!r}: {verdict}", [*rows, *(("note", one) for one in self.notes)])]


def verify_stored(url: str, name: str, *, domain: Domain | None = None) -> Verification:
    """Check a study where it lies, without opening it: it may be too damaged for that.

    Parameters
    ----------
    url, name
        As for `Study.open`.
    domain
        For studies whose domain holds functions: it is not stored.
    """
    book_name(name)
    with closing(open_database(url, create=False)) as base:
        return verify_in(base, name, domain)


def verify_in(base: Database, name: str, domain: Domain | None) -> Verification:
    """Check a study of a storage. Its rows are read in one transaction, and checked after it."""
    faults: list[str] = []
    try:
        base.check()
    except StudyDamaged as problem:
        faults.append(str(problem))
    try:
        rows = read_book(base, name)
    except StudyDamaged as problem:
        return Verification(name, 0, 0, 0, 0, 0.0, 0.0, (*faults, str(problem)), ())
    if rows is None:
        raise not_found(base, name, "")
    refuse_kind(rows.counters.kind, "study", name)
    return verify_rows(rows, name, domain, faults=faults, notes=_notes(base, rows))


def verify_rows(
    rows: BookRows, name: str, domain: Domain | None, *, faults: Sequence[str] = (), notes: Sequence[str] = ()
) -> Verification:
    """Check rows that were read; `faults` and `notes` are what was found before."""
    book = CheckedBook(rows)
    book.faults += faults
    replays: list[StreamReplay] = []
    with single_threaded():  # what is learned again are matrices of a few dozen rows
        setting = _setting(book, domain)
        believed = [
            None if row.believed is None else book.tried("what is believed", row.believed) for row in rows.streams
        ]
        if setting is not None:
            _look_at_plans(book, setting, next(filter(None, believed), None))
        book.check()
        if setting is not None:
            replays = [StreamReplay(book, setting, *one) for one in zip(rows.streams, believed, strict=True)]
            for one in replays:
                one.replay()
            if setting.problem.segments is not None and rows.rounds:
                notes = [*notes, _NOT_COMPUTED]
    return Verification(
        name,
        len(rows.rounds),
        sum(one.released for one in replays),
        sum(len(one.epochs) for one in replays),
        len(rows.chunks),
        max((one.distance for one in replays), default=0.0),
        max((one.tolerance for one in replays), default=0.0),
        tuple(book.faults),
        tuple(notes),
    )


def _setting(book: CheckedBook, domain: Domain | None) -> ReplaySetting | None:
    """Return what the study was made with, if it can be read; the oracle must answer as it did then."""
    made, rows, expect = book.made, book.rows, book.expect
    if made is None:
        return None
    expect(rows.counters.kind == "study" and len(str(made.get("identity"))) == _IDENTITY, "it is not a study")
    try:
        configuration = stored_configuration(made, domain)
        problems = _problems(book, configuration.problem())
        setting = ReplaySetting(configuration, problems, made["entropy"], bool(made["simulated"]))
        expect(made["seed"] in (None, setting.entropy), "the public coins do not follow from the seed")
        adopt_coordinates(setting.problem.domain, made)
    except (ConfigurationMismatch, DamagedRecord) as mismatch:
        book.faults.append(str(mismatch))
        return None
    except MALFORMED as malformed:
        book.faults.append(f"the configuration cannot be read: {type(malformed).__name__}")
        return None
    horizon, words = configuration.horizon, "the study was made with"
    expect(rows.counters.horizon == horizon, f"horizon={rows.counters.horizon}, and {words} horizon={horizon}")
    _check_streams(book, setting)
    return setting


def _problems(book: CheckedBook, first: Problem) -> list[Problem]:
    """Return the problems with each set that the study has had."""
    counters = book.rows.counters
    sealed = b"" if counters.common is None else checksum(bytes(counters.common))
    book.expect(bytes(counters.changes) == sealed, "the sets that it has changed to fail their checksum")
    return problems_of(first, {} if counters.common is None else unpack(bytes(counters.common)))


def _check_streams(book: CheckedBook, setting: ReplaySetting) -> None:
    """Check that there is one stream, or one for each segment and one that small ones share."""
    segments, rows = setting.problem.segments, book.rows.streams
    if segments is None:
        book.expect([row.name for row in rows] in ([], [""]), "segments are stored of a study that was made without")
        return
    if shares_rounds(setting.problem):
        pool, rows = rows[:1], rows[1:]
        book.expect([row.name for row in pool] == ["null"], "the rounds that segments share are not stored first")
    book.expect(len(rows) <= segments.most, f"{len(rows)} segments are stored, and there may be {segments.most}")
    for row in rows:
        try:
            segments.key(as_name(json.loads(row.name)))
        except (UnknownSegment, *MALFORMED):
            book.faults.append(f"segment {row.stream} is none of those that the study was made with")


def _look_at_plans(book: CheckedBook, setting: ReplaySetting, believed: Record | None) -> None:
    """Let losses be judged by the grid of the first plan, and coordinates by what it needs."""
    try:
        if believed is not None and book.made is not None:
            plan = Plan.from_dict(believed["planned"][0][2])
            book.valid = grid_for(loss_grid(setting.problem, plan), setting.problems).valid
            check_design(book, book.made, plan)
    except MALFORMED as malformed:
        book.faults.append(f"the plan cannot be read: {type(malformed).__name__}")


def _notes(base: Database, rows: BookRows) -> list[str]:
    notes, pending = [], sum(row.closed for row in rows.streams) - rows.counters.erased
    if pending > 0:
        notes.append(f"losses of {_several(pending, 'round')} may linger in the log: erasure is tried with every call")
    if is_reachable(base):
        notes.append(f"{base.path} can be reached by others than its owner: chmod 600")
    return notes


def is_reachable(base: Database) -> bool:
    """Whether a storage is a file that others than its owner can reach."""
    if base.path is None:
        return False
    try:
        return bool(base.path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO))
    except OSError:
        raise StudyDamaged(f"{base.name} is gone: put it back") from None


def _several(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"
