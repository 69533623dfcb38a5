"""An optimizer's state as bytes: released values and public coins. Nothing here has ever seen a loss."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sottovoce._records import DamagedRecord, Record, pack, part, unpack
from sottovoce.domains import Domain
from sottovoce.errors import StateRefused
from sottovoce.learning.bandit.configuration import BanditConfiguration
from sottovoce.learning.bandit.policy import BanditPolicy
from sottovoce.learning.bandit.public_records import adopt, design_record
from sottovoce.learning.bandit.recommendation import Recommendation, in_names
from sottovoce.learning.bandit.set_changes import SetChange
from sottovoce.privacy import NoiseSource
from sottovoce.privacy.noise import noise_source

VERSION = 1
_HOME = ("x", "why", "rounds")  # of a recommendation
_INCARNATION_BITS = 20  # of an id: incarnations that a state may have


@dataclass(frozen=True)
class SavedState:
    """What `load` found in a state."""

    configuration: BanditConfiguration
    source: NoiseSource
    seed: int | None
    entropy: int
    name: str
    token: str | None
    streams: list[tuple[str, int, int]]  # name, events that were asked, rounds that were closed
    records: list[Record]
    changes: list[SetChange]
    home: Recommendation | None  # where the current epoch knows nothing by itself, and those before it did


def save(
    configuration: BanditConfiguration, policy: BanditPolicy, *, home: Recommendation | None = None, **facts: Any
) -> bytes:
    """Return a state as bytes."""
    record = {
        "format": "sottovoce state",
        "version": VERSION,
        **facts,
        **({} if home is None or not home.rounds else {f"home.{one}": getattr(home, one) for one in _HOME}),
        **{f"configuration.{name}": value for name, value in configuration.to_record().items()},
        **design_record(policy.first),
        "changes": [one.to_record() for one in policy.changes],
        **{f"stream{at}.{name}": value for at in policy.streams for name, value in policy.to_record(at).items()},
    }
    return pack(record)


def load(state: bytes, *, domain: Domain | None, noise: NoiseSource | None) -> SavedState:
    """Read a state; refuse one that is damaged, of another version, or of another domain."""
    try:
        record = unpack(state)
    except (DamagedRecord, TypeError) as problem:
        raise StateRefused(f"state is not what an optimizer's state() returned, or is damaged: {problem}") from problem
    if record.get("format") != "sottovoce state" or record.get("version") != VERSION:
        raise StateRefused(f"state has version {record.get('version')!r}; this sottovoce reads {VERSION}")
    with complete():
        saved = _saved(record, domain, noise)
    return saved  # noqa: RET504  # for all mypy knows, the context may pass over it


@contextmanager
def complete() -> Iterator[None]:
    """Refuse a state that lacks what is looked for."""
    try:
        yield
    except (KeyError, AttributeError) as problem:
        raise StateRefused(f"state is not what an optimizer's state() returned: it lacks {problem}") from None


def _saved(record: Record, domain: Domain | None, noise: NoiseSource | None) -> SavedState:
    configuration = BanditConfiguration.from_record(part(record, "configuration"), domain)
    records = [part(record, f"stream{at}") for at in range(len(record["streams"]))]
    adopt(configuration.domain, record)
    home = part(record, "home")
    return SavedState(
        configuration,
        source_for(noise, simulated=bool(record["simulated"])),
        record["seed"],
        record["entropy"],
        record["name"],
        record["token"],
        record["streams"],
        records,
        [SetChange.from_record(one) for one in record["changes"]],
        in_names(Recommendation(**home), configuration.domain) if home else None,
    )


def source_for(noise: NoiseSource | None, *, simulated: bool) -> NoiseSource:
    """Return the noise to go on with: a run whose noise was simulated cannot become private half-way."""
    source = noise_source(noise)
    if simulated and not source.simulated:
        raise StateRefused("its noise was simulated: pass noise=SimulatedNoise(seed) again, it is NOT PRIVATE")
    return source


def number_of_life() -> int:
    """Return the number of another incarnation; that of an optimizer that was not restored is 0."""
    return 1 + secrets.randbelow(2**_INCARNATION_BITS - 1)
