"""What is promised by a study and where it stands, for whoever signs: read where it lies, and nothing is changed.

A statement opens no study: no round is closed by it, no noise is drawn, no charge is made. So it can be made of a study
that others are using, that is at its end, or whose noise is simulated. It holds counts and public facts alone.
"""

import stat
from dataclasses import dataclass, replace

from sottovoce.domains import Domain
from sottovoce.domains.naming import label_text
from sottovoce.errors import StudyDamaged
from sottovoce.learning.bandit.configuration import BanditConfiguration
from sottovoce.learning.bandit.describe import describe
from sottovoce.learning.planning.choosing import make_plan
from sottovoce.learning.planning.plan import Plan
from sottovoce.learning.planning.problem import Problem
from sottovoce.privacy import NoiseSource, PrivacyStatement, SecureNoise, SimulatedNoise
from sottovoce.studies.database.rows import read
from sottovoce.studies.database.snapshot import Snapshot, take_snapshot
from sottovoce.studies.database.storage import Storage
from sottovoce.studies.database.tables import DROPPED, OPEN, RELEASED
from sottovoce.studies.opening.creating import stored_configuration
from sottovoce.studies.opening.names import study_name
from sottovoce.studies.session.counters import counters_of
from sottovoce.studies.verifying.verification import Verification, verify_in

__all__ = ["StudyStatement", "privacy_of", "state_in", "state_stored"]

_DATABASE = (
    "the database while rounds are open, and its backups and copies: they hold the losses of open rounds",
    "a database that was put back or copied, and goes on without `restored=True`",
)
_SERVER = ("the server's own log, archives and replicas: they hold every loss that was told",)


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
    asked, told, forgotten
        Events that were handed out; losses of closed rounds that were told, and that were given up.
    rounds, released, dropped, open_rounds
        Rounds that are closed; of these released, and dropped by a restoration unreleased; and rounds that are open.
    generation
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
    asked: int
    told: int
    forgotten: int
    rounds: int
    released: int
    dropped: int
    open_rounds: int
    generation: int
    erasure_pending: int
    charged_as: str | None
    reachable: bool
    verification: Verification | None = None

    @property
    def restored(self) -> bool:
        """Whether it goes on from a backup, or a copy."""
        return self.generation != 1


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
    study_name(name)
    storage = Storage(url, create=False)
    try:
        return state_in(storage, name, domain, verify=verify)
    finally:
        storage.close()


def state_in(storage: Storage, name: str, domain: Domain | None, *, verify: bool) -> StudyStatement:
    """Return the statement of a study of a storage."""
    with storage.unwinding(), storage.transaction() as connection:
        snapshot = take_snapshot(connection, name, losses=False, numbers_and_states=True)
    found = _stated(storage, name, snapshot, domain)
    return replace(found, verification=verify_in(storage, name, domain)) if verify else found


def _stated(storage: Storage, name: str, snapshot: Snapshot, domain: Domain | None) -> StudyStatement:
    head = counters_of(snapshot.study)  # counts that fail their checksum are stated by nobody
    counts = [counters_of(one.study) for one in snapshot.all]  # of segments, too
    record = read(f"the configuration of {name!r}", snapshot.study.configuration)
    configuration = stored_configuration(record, domain)
    problem = configuration.problem()
    source: NoiseSource = SimulatedNoise(0) if record["simulated"] else SecureNoise()  # nothing is drawn from it
    states = [row.state for one in snapshot.all for row in one.rounds]
    known = configuration.domain
    return StudyStatement(
        name=name,
        storage=storage.name,
        privacy=privacy_of(
            problem, _plan(snapshot, configuration, problem), source, storage, doubling=configuration.horizon is None
        ),
        domain=repr(known),
        labels=None if known.labels is None else tuple(map(label_text, known.labels)),
        loss_range=configuration.loss_range,
        horizon=configuration.horizon,
        asked=sum(one.asked - one.returned for one in counts),
        told=sum(one.told for one in counts),
        forgotten=sum(one.forgotten for one in counts),
        rounds=sum(one.closed for one in counts),
        released=states.count(RELEASED),
        dropped=states.count(DROPPED),
        open_rounds=states.count(OPEN),
        generation=head.generation,
        erasure_pending=sum(max(0, one.closed - one.erased) for one in counts),
        charged_as=snapshot.charged_as,
        reachable=_reachable(storage),
    )


def _plan(snapshot: Snapshot, configuration: BanditConfiguration, problem: Problem) -> Plan:
    """Return the plan in force; before the first event, the one that will be."""
    newest = [one.epochs[-1] for one in snapshot.all if one.epochs]
    if newest:
        return Plan.from_dict(read("the plan", newest[0].made)["plan"])
    return make_plan(problem, plan=configuration.plan, **configuration.choices)


def privacy_of(
    problem: Problem, plan: Plan, source: NoiseSource, storage: Storage, *, doubling: bool
) -> PrivacyStatement:
    """Return what a study promises, and what it does not cover, its database among that."""
    return as_stored(describe(problem, plan, source, doubling=doubling), storage)


def as_stored(statement: PrivacyStatement, storage: Storage) -> PrivacyStatement:
    """Return a statement with what it does not cover of the database that losses lie in."""
    more = _DATABASE + (() if storage.is_sqlite else _SERVER)
    return replace(statement, also_not_covered=statement.also_not_covered + more)


def _reachable(storage: Storage) -> bool:
    if storage.path is None:
        return False
    try:
        return bool(storage.path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO))
    except OSError:
        raise StudyDamaged(f"{storage.name} is gone: put it back") from None
