"""An optimizer's state as bytes: released values and public coins. Nothing here has ever seen a loss."""

import secrets
from dataclasses import dataclass
from typing import Any

import numpy as np

from sottovoce._records import DamagedRecord, pack, part, unpack
from sottovoce.domains import Domain
from sottovoce.domains.design import Design, adopt_design, known_design
from sottovoce.errors import StateRefused
from sottovoce.exploration import Record
from sottovoce.learning.bandit.configuration import BanditConfiguration
from sottovoce.learning.bandit.epoch import Epoch
from sottovoce.learning.bandit.recommendation import Recommendation, in_names
from sottovoce.learning.planning.plan import Plan
from sottovoce.learning.planning.problem import Problem, forget_rounded
from sottovoce.privacy import NoiseSource
from sottovoce.privacy.noise import noise_source

__all__ = [
    "LIFE_BITS",
    "SavedState",
    "adopt",
    "coins_from_record",
    "coins_record",
    "design_record",
    "load",
    "new_life",
    "number_of_life",
    "refuse_secrets",
    "save",
    "source_for",
]

VERSION = 1
LIFE_BITS = 20
"""Of an id: lives that a state may have."""
_EVENT_BITS = 40
_DESIGN = ("vertices", "weights", "mean", "whitening", "factor")


@dataclass(frozen=True)
class SavedState:
    """What `load` found in a state."""

    configuration: BanditConfiguration
    source: NoiseSource
    seed: int | None
    coins: dict[str, Any]
    asked: int
    planned: int
    released: int
    finished_calls: int
    name: str
    token: str | None
    plan: Plan
    learned: Record
    lanes: tuple[Record, ...]  # of segments
    likeness: tuple[int, ...]
    home: Recommendation | None  # where the current epoch knows nothing by itself, and those before it did

    def epoch(self, problem: Problem, first: int) -> Epoch:
        """Return the epoch that was current, its open rounds gone."""
        epoch = Epoch(problem, self.plan, self.source, first=first)
        epoch.restore({**self.learned, "first": first})
        return epoch


def save(
    configuration: BanditConfiguration,
    epoch: Epoch,
    *,
    coins: np.random.Generator,
    home: Recommendation | None = None,
    **facts: Any,
) -> bytes:
    """Return a state as bytes."""
    refuse_secrets(epoch)
    record = {
        "format": "sottovoce state",
        "version": VERSION,
        **facts,
        **({} if home is None or not home.rounds else _home_record(home)),
        "plan": epoch.plan.to_dict(),
        **coins_record(coins),
        **design_record(epoch),
        **{f"configuration.{name}": value for name, value in configuration.to_record().items()},
        **{f"learned.{name}": value for name, value in epoch.state().items()},
    }
    return pack(record)


def _home_record(home: Recommendation) -> Record:
    return {"home.x": home.x, "home.why": home.why, "home.rounds": home.rounds}


def load(state: bytes, *, domain: Domain | None, noise: NoiseSource | None) -> SavedState:
    """Read a state; refuse one that is damaged, of another version, or of another domain."""
    try:
        record = unpack(state)
    except (DamagedRecord, TypeError) as problem:
        raise StateRefused(f"state is not what an optimizer's state() returned, or is damaged: {problem}") from problem
    if record.get("format") != "sottovoce state" or record.get("version") != VERSION:
        raise StateRefused(f"state has version {record.get('version')!r}; this sottovoce reads {VERSION}")
    try:
        return _saved(record, domain, noise)
    except (KeyError, AttributeError) as problem:
        raise StateRefused(f"state is not what an optimizer's state() returned: it lacks {problem}") from None


def _saved(record: Record, domain: Domain | None, noise: NoiseSource | None) -> SavedState:
    configuration = BanditConfiguration.from_record(part(record, "configuration"), domain)
    adopt(configuration.domain, record)
    return SavedState(
        configuration,
        source_for(noise, simulated=bool(record["simulated"])),
        record["seed"],
        coins_from_record(record),
        record["asked"],
        record["planned"],
        record["released"],
        record["finished_calls"],
        record["name"],
        record.get("token"),  # states of earlier versions have none
        Plan.from_dict(record["plan"]),
        part(record, "learned"),
        tuple(part(record, f"lane{number}") for number in range(record.get("lanes", 0))),
        tuple(record.get("likeness", ())),
        in_names(Recommendation(**home), configuration.domain) if (home := part(record, "home")) else None,
    )


def source_for(noise: NoiseSource | None, *, simulated: bool) -> NoiseSource:
    """Return the noise to go on with: a run whose noise was simulated cannot become private half-way."""
    source = noise_source(noise)
    if simulated and not source.simulated:
        raise StateRefused("its noise was simulated: pass noise=SimulatedNoise(seed) again, it is NOT PRIVATE")
    return source


def refuse_secrets(epoch: Epoch) -> None:
    """Refuse a mechanism whose open nodes or buffers hold un-noised sums of rounds that are long over."""
    if epoch.keeps_secrets:
        raise StateRefused(
            f"mechanism={epoch.plan.mechanism!r} keeps un-noised sums from one round to the next, which must not be "
            "stored: use probe sums (the default), mechanism='fresh', or LocalDP"
        )


def new_life() -> int:
    """Return the first id of a restored optimizer: none that another life handed out is at or above it for long."""
    return number_of_life() << _EVENT_BITS


def number_of_life() -> int:
    """Return the number of another life; that of an optimizer that was not restored is 0."""
    return 1 + secrets.randbelow(2**LIFE_BITS - 1)


def coins_record(coins: np.random.Generator) -> Record:
    """Return the state of the public coins."""
    state = dict(coins.bit_generator.state)
    return {
        "coins": np.array(state["state"]["state"], dtype=np.uint64),
        "coins_half": [state["bit_generator"], int(state["has_uint32"]), int(state["uinteger"])],
    }


def coins_from_record(record: Record) -> dict[str, Any]:
    """Return the state of the public coins as their generator takes it."""
    kind, has_half, half = record["coins_half"]
    state = {"state": record["coins"].astype(np.uint64)}
    return {"bit_generator": kind, "state": state, "has_uint32": has_half, "uinteger": half}


def design_record(epoch: Epoch) -> Record:
    """Return the design behind rounded coordinates, if the epoch works in them: they must not change."""
    if epoch.stage.rounded is None:
        return {}
    design = epoch.stage.rounded.design
    arrays = {f"design.{name}": getattr(design, name) for name in _DESIGN}
    return {**arrays, "design.worst_leverage": design.worst_leverage, "design.calls": design.calls}


def adopt(domain: Domain, record: Record) -> None:
    """Let a domain work in the rounded coordinates that were stored, if any were, whatever was computed before."""
    if "design.mean" not in record:
        return
    arrays: dict[str, Any] = {name: np.array(record[f"design.{name}"]) for name in _DESIGN}
    known = known_design(domain)
    if known is not None and all(np.array_equal(getattr(known, name), array) for name, array in arrays.items()):
        return
    leverage, calls = record["design.worst_leverage"], record["design.calls"]
    adopt_design(domain, Design(**arrays, worst_leverage=leverage, calls=calls))
    forget_rounded()
