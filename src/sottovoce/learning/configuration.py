"""Everything that an optimizer was made with, as plain data: to keep it, to make it again, to see what differs."""

from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field, fields
from typing import Any, Self

import numpy as np

from sottovoce._checks import whole
from sottovoce._records import headed, part
from sottovoce.domains import Domain
from sottovoce.domains.naming import other_names
from sottovoce.domains.specification import (
    as_stored,
    build,
    fingerprint,
    labels_from,
    plain_labels,
    same_answers,
    specify,
)
from sottovoce.errors import ConfigurationMismatch
from sottovoce.learning.epoch import FIRST_EPOCH
from sottovoce.learning.patience import check_patience
from sottovoce.models import Posterior, Segments
from sottovoce.plans.explorer import Record
from sottovoce.plans.options import DecisionFacts
from sottovoce.plans.plan import Plan
from sottovoce.plans.problem import Problem, loss_grid_of
from sottovoce.privacy import Guarantee, LocalDP, NoiseSource, guarantee_from_dict

_WITHIN: dict[str, Any] = {"prior": Posterior, "segments": Segments}  # records within the record, if there are any


@dataclass(frozen=True)
class BanditConfiguration(DecisionFacts):
    """What `PrivateBandit` takes, apart from seeds, noise and ledgers.

    Examples
    --------
    >>> import sottovoce as sv
    >>> one = BanditConfiguration(sv.domains.Simplex(3), 1000, (0.0, 1.0), sv.PureDP(1.0))
    >>> other = BanditConfiguration(sv.domains.Simplex(3), 2000, (0.0, 1.0), sv.PureDP(1.0))
    >>> other.differences(one)
    ['horizon is 1000, not 2000']
    """

    domain: Domain
    horizon: int | None
    loss_range: tuple[float, float]
    privacy: Guarantee
    _: KW_ONLY
    plan: str | Plan = "auto"
    choices: dict[str, Any] = field(default_factory=dict)
    patience: int | str | None = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        grid = loss_grid_of(self.loss_range)
        object.__setattr__(self, "loss_range", (grid.low, grid.high))
        # A choice of None is no choice.
        object.__setattr__(self, "choices", {name: one for name, one in self.choices.items() if one is not None})
        object.__setattr__(self, "patience", check_patience(self.patience))

    def problem(self) -> Problem:
        """Return the public facts that plans start from, checked."""
        length = FIRST_EPOCH if self.horizon is None else whole("horizon", self.horizon)
        return Problem(self.domain, length, self.loss_range, self.privacy, **self.facts())

    def check_prior(self, source: NoiseSource) -> None:
        """Refuse a prior with people whom nothing protects, in a run that is private, unless the caller accepts it."""
        if self.prior is None:
            if self.accept_prior is not None:
                raise ValueError("accept_prior is about a prior, and there is none: leave it out, or pass prior=")
            return
        local = isinstance(self.privacy, LocalDP)  # whose noise is the owners'
        earnest = self.privacy.private and (local or not source.simulated)
        if earnest and not self.prior.private and self.accept_prior is None:
            bare = next(one for one in self.prior.promises if not one.private)
            raise ValueError(
                f"prior holds losses of people whom nothing protects ({bare}), and decisions of this run would show "
                "them: take it from runs that were private. If it may be so, say accept_prior='not private': the "
                "statement will say it, too"
            )

    def to_record(self) -> Record:
        """Return plain data, with the answers of the domain's oracle to tell it from another."""
        specified = specify(self.domain)
        record = {one.name: getattr(self, one.name) for one in fields(self)} | {
            "domain": specified,
            "domain_name": repr(self.domain),
            "fingerprint": fingerprint(self.domain),
            "labels": None if specified is not None else plain_labels(self.domain.labels),
            "loss_range": list(self.loss_range),
            "privacy": self.privacy.to_dict(),
            "plan": self.plan.to_dict() if isinstance(self.plan, Plan) else self.plan,
            "choices": {name: _plain_choice(name, value) for name, value in self.choices.items()},
            "features": None if self.features is None else self.features.rows,
        }
        for name in _WITHIN:
            held = record.pop(name)
            record |= {} if held is None else headed(name, held.to_record())
        return record

    @classmethod
    def from_record(cls, record: Record, domain: Domain | None = None) -> Self:
        """Return the configuration of a record; a domain that could not be written down has to be passed again."""
        given = {one.name: record[one.name] for one in fields(cls) if one.name not in _WITHIN}
        for name, kind in _WITHIN.items():
            if held := part(record, name):
                given[name] = kind.from_record(held)
        own, names = record["domain"] is None, labels_from(record["labels"])  # of functions that are the caller's
        if own and domain is None:
            raise ConfigurationMismatch(
                f"domain must be passed again: {record['domain_name']} holds functions, which are not stored"
            )
        domain = domain if own and domain is not None else build(record["domain"])
        if not same_answers(record["fingerprint"], fingerprint(domain)):
            raise ConfigurationMismatch(
                f"domain: the oracle of {domain!r} answers otherwise than that of the stored one; pass the same set"
            )
        if own:
            domain = _in_names(names, domain)
        plan = given["plan"] if isinstance(given["plan"], str) else Plan.from_dict(given["plan"])
        return cls(**{**given, "domain": domain, "privacy": guarantee_from_dict(given["privacy"]), "plan": plan})

    def differences(self, stored: "BanditConfiguration") -> list[str]:
        """Return, in words, where this configuration is not the stored one."""
        found = []
        if not same_answers(fingerprint(self.domain), fingerprint(stored.domain)):
            found.append(f"domain is {stored.domain!r}, not {self.domain!r}")
        elif other := other_names(stored.domain.labels, self.domain.labels):
            found.append(f"domain is the same set under other names: {other}")
        for one in fields(self):
            mine, theirs = getattr(self, one.name), getattr(stored, one.name)
            if one.name != "domain" and mine != theirs:
                found.append(f"{one.name} is {theirs!r}, not {mine!r}")
        return found


def _in_names(stored: tuple[Any, ...] | None, domain: Domain) -> Domain:
    """Return a domain that was passed, under the names that were stored; refuse one that has others."""
    if other := other_names(stored, as_stored(domain.labels)):
        raise ConfigurationMismatch(
            f"domain is the same set under other names: {other}; pass the stored names, in their order, or none"
        )
    if stored is not None and domain.labels is None:
        with suppress(TypeError):  # of a product, whose parts have the names: it is said in numbers then
            return domain.labelled(stored)
    return domain


def _plain_choice(name: str, value: Any) -> Any:
    plain = value.item() if isinstance(value, np.generic) else value
    if plain is None or isinstance(plain, bool | int | str | float):
        return plain
    raise TypeError(f"{name} must be a number, a text or None to be stored, got {plain!r}")
