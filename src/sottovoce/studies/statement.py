"""What is promised by a study and where it stands, for whoever signs: read where it lies, and nothing is changed.

A statement opens no study: no round is closed by it, no noise is drawn, no charge is made. So it can be made of a study
that others are using, that is at its end, or whose noise is simulated. It holds counts and public facts alone.
"""

import stat
from dataclasses import dataclass, replace

from sottovoce._records import Record, unpack
from sottovoce.domains import Domain
from sottovoce.domains.naming import label_text
from sottovoce.errors import StudyDamaged
from sottovoce.learning.describe import describe
from sottovoce.learning.set_changes import problems_of
from sottovoce.plans.choosing import make_plan
from sottovoce.plans.plan import Plan
from sottovoce.privacy import NoiseSource, PrivacyStatement, SecureNoise, SimulatedNoise
from sottovoce.rounds.stored import as_stored, book_name
from sottovoce.rounds.stores.sql._book_rows import read_counters
from sottovoce.rounds.stores.sql.books import BookCounts, StoredBook, counts_of, prepare
from sottovoce.rounds.stores.sql.database import Database, Row, open_database
from sottovoce.studies.opening import found_study, stored_configuration
from sottovoce.studies.verifying.verification import Verification, verify_in


@dataclass(frozen=True)
class StudyStatement:
    """What a study promises, and where it stands: public facts and counts only.

    Attributes
    ----------
    name, storage
        Of the study, and where it lives, without a password.
    privacy
        The statement.
    domain, labels
        The feasible set in words, and the names of its coordinates, if they have names.
    loss_range, horizon
        What losses are clipped to, and how many events there will be; None if unknown.
    mechanism
        What adds the noise, by its name.
    asked, told, forgotten
        Events that were handed out; losses that were told, and that were given up.
    rounds, released, dropped, open_rounds
        Rounds that are closed; of these released, and dropped by a restoration unreleased; and rounds that are open.
    incarnation
        1, unless the storage was said to be restored from a backup.
    erasure_pending
        Closed rounds whose losses may linger in the database's log.
    charged_as
        The entry of a ledger under which the study was charged; None if it was charged to none.
    reachable
        Whether the storage is a file that others than its owner can reach.
    verification
        What `verify` found, if it was asked for.
    """

    name: str
    storage: str
    privacy: PrivacyStatement
    domain: str
    labels: tuple[str, ...] | None
    loss_range: tuple[float, float]
    horizon: int | None
    mechanism: str
    asked: int
    told: int
    forgotten: int
    rounds: int
    released: int
    dropped: int
    open_rounds: int
    incarnation: int
    erasure_pending: int
    charged_as: str | None
    reachable: bool
    verification: Verification | None = None

    @property
    def restored(self) -> bool:
        """Whether it goes on from a backup, or a copy."""
        return self.incarnation != 1


def state_stored(url: str, name: str, *, domain: Domain | None = None, verify: bool = False) -> StudyStatement:
    """Return the statement of a study where it lies, without opening it: nothing is changed.

    Parameters
    ----------
    url, name
        As for `Study.open`.
    domain
        For studies whose domain holds functions: it is not stored.
    verify
        Whether to check everything that is stored as well; that reads all of it.

    Examples
    --------
    >>> import sottovoce as sv
    >>> import tempfile, pathlib
    >>> url = f"sqlite:///{pathlib.Path(tempfile.mkdtemp()) / 'slates.db'}"
    >>> options = {"domain": sv.domains.Simplex(5), "horizon": 1000, "loss_range": (0.0, 1.0)}
    >>> sv.Study.open(url, name="spring", privacy=sv.PureDP(1.0), **options).close()
    >>> state_stored(url, "spring").privacy.headline
    'epsilon = 1, pure differential privacy'
    """
    book_name(name)
    base = open_database(url, create=False)
    try:
        return state_in(base, name, domain, verify=verify)
    finally:
        base.close()


def state_in(base: Database, name: str, domain: Domain | None, *, verify: bool) -> StudyStatement:
    """Return the statement of a study of a storage."""
    prepare(base)

    def look() -> tuple[StoredBook, BookCounts, list[Row], list[Row], bool, Record]:
        stored = found_study(base, name)
        read_counters(base, stored.book)  # counts that fail their checksum are stated by nobody
        charges = base.run(
            "SELECT entry FROM sottovoce_ledger_tokens WHERE book = ? AND token IS NOT NULL", stored.book
        )
        newest = base.run(
            "SELECT believed FROM sottovoce_streams WHERE book = ? AND believed IS NOT NULL ORDER BY stream LIMIT 1",
            stored.book,
        )
        counted = bool(base.run("SELECT 1 FROM sottovoce_counting WHERE book = ?", stored.book))
        ((common,),) = base.run("SELECT common FROM sottovoce_books WHERE book = ?", stored.book)
        known = {} if common is None else unpack(bytes(common))
        return stored, counts_of(base, stored.book), charges, newest, counted, known

    stored, counts, charges, newest, counted, common = base.transaction(look)
    found = _stated(base, name, stored.made, domain, counts, charges, newest, counted, common)
    return replace(found, verification=verify_in(base, name, domain)) if verify else found


def _stated(
    base: Database,
    name: str,
    made: Record,
    domain: Domain | None,
    counts: BookCounts,
    charges: list[Row],
    newest: list[Row],
    counted: bool,
    common: Record,
) -> StudyStatement:
    configuration = stored_configuration(made, domain)
    problems = problems_of(configuration.problem(), common)
    problem = problems[-1]
    source: NoiseSource = SimulatedNoise(0) if made["simulated"] else SecureNoise()  # nothing is drawn from it
    if newest:
        *_, number, plain = unpack(bytes(newest[0][0]))["planned"][-1]
        problem, plan = problems[number], Plan.from_dict(plain)
    else:
        plan = make_plan(problem, plan=configuration.plan, **configuration.choices)
    privacy = describe(problem, plan, source, doubling=configuration.horizon is None, counted=counted)
    known = problems[-1].domain
    return StudyStatement(
        name=name,
        storage=base.name,
        privacy=as_stored(privacy, base),
        domain=repr(known),
        labels=None if known.labels is None else tuple(map(label_text, known.labels)),
        loss_range=configuration.loss_range,
        horizon=configuration.horizon,
        mechanism=plan.mechanism,
        asked=counts.asked,
        told=counts.told,
        forgotten=counts.forgotten,
        rounds=counts.closed,
        released=counts.released,
        dropped=counts.dropped,
        open_rounds=counts.open_rounds,
        incarnation=counts.incarnation,
        erasure_pending=counts.erasure_pending,
        charged_as=charges[0][0] if charges else None,
        reachable=_reachable(base),
    )


def _reachable(base: Database) -> bool:
    if base.path is None:
        return False
    try:
        return bool(base.path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO))
    except OSError:
        raise StudyDamaged(f"{base.name} is gone: put it back") from None
