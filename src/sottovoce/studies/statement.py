"""What is promised by a study and where it stands, for whoever signs: read where it lies, and nothing is changed.

A statement opens no study: no round is closed by it, no noise is drawn, no charge is made. So it can be made of a study
that others are using, that is at its end, or whose noise is simulated. It holds counts and public facts alone.
"""

from contextlib import closing
from dataclasses import dataclass
from typing import Any

from sottovoce.domains import Domain
from sottovoce.domains.naming import label_text
from sottovoce.learning.describe import describe
from sottovoce.learning.set_changes import plan_for, problems_of
from sottovoce.plans.plan import Plan
from sottovoce.privacy import PrivacyStatement
from sottovoce.rounds.stored import as_stored, book_name
from sottovoce.rounds.stores.sql._book_rows import read_counters
from sottovoce.rounds.stores.sql.books import BookCounts, StoredBook, counts_of, prepare
from sottovoce.rounds.stores.sql.database import Database, open_database
from sottovoce.rounds.stores.sql.errors import unpacked
from sottovoce.studies.opening import found_study, stored_configuration
from sottovoce.studies.verifying.verification import Verification, is_reachable, verify_in

_FACTS = """,
    (SELECT entry FROM sottovoce_ledger_tokens t WHERE t.book = b.book AND token IS NOT NULL),
    (SELECT believed FROM sottovoce_streams s WHERE s.book = b.book AND believed IS NOT NULL ORDER BY stream LIMIT 1),
    (SELECT count(*) FROM sottovoce_counting c WHERE c.book = b.book),
    common"""
"""The entry of a ledger, what is believed, whether people are counted, and what sets there were."""


@dataclass(frozen=True, kw_only=True)
class StudyStatement(BookCounts):
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
    with closing(open_database(url, create=False)) as base:
        return state_in(base, name, domain, verify=verify)


def state_in(base: Database, name: str, domain: Domain | None, *, verify: bool) -> StudyStatement:
    """Return the statement of a study of a storage."""
    prepare(base)
    stored, counts, (charged_as, believed, counted, common) = base.transaction(lambda: _read(base, name))
    configuration = stored_configuration(stored.made, domain)
    sets = {} if common is None else unpacked(common, "what all streams have in common")
    problems = problems_of(configuration.problem(), sets)
    problem, known = problems[-1], problems[-1].domain
    if believed is not None:
        *_, number, plain = unpacked(believed, "what is believed")["planned"][-1]
        problem, plan = problems[number], Plan.from_dict(plain)
    else:
        plan = plan_for(problem, configuration)
    doubling, simulated = configuration.horizon is None, bool(stored.made["simulated"])
    privacy = describe(problem, plan, simulated=simulated, doubling=doubling, counted=bool(counted))
    return StudyStatement(
        **vars(counts),
        name=name,
        storage=base.name,
        privacy=as_stored(privacy, base),
        domain=repr(known),
        labels=None if known.labels is None else tuple(map(label_text, known.labels)),
        loss_range=configuration.loss_range,
        horizon=configuration.horizon,
        mechanism=plan.mechanism,
        charged_as=charged_as,
        reachable=is_reachable(base),
        verification=verify_in(base, name, domain) if verify else None,
    )


def _read(base: Database, name: str) -> tuple[StoredBook, BookCounts, list[Any]]:
    """Return what is stored of a study: of its making, its counts, and `_FACTS`."""
    stored = found_study(base, name)
    _, facts = read_counters(base, stored.book, _FACTS)  # counts that fail their checksum are stated by nobody
    return stored, counts_of(base, stored.book), facts
