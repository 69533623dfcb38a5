"""Everything that an optimizer was made with, as plain data: to keep it, to make it again, to see what differs."""

import math
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
from sottovoce.plans.problem import Problem
from sottovoce.privacy import Guarantee, LocalDP, NoiseSource, guarantee_from_dict

_LEFT_OUT = ("features", "prior", "accept_prior", "segments")  # of a record, unless they are given


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
        plain = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "domain"}
        plan = self.plan.to_dict() if isinstance(self.plan, Plan) else self.plan
        choices = {name: _plain_choice(name, value) for name, value in self.choices.items()}
        return {
            **{name: one for name, one in plain.items() if name not in _LEFT_OUT},
            **({} if self.accept_prior is None else {"accept_prior": self.accept_prior}),
            **({} if self.features is None else {"features": self.features.rows}),
            **({} if self.segments is None else headed("segments", self.segments.to_record())),
            **({} if self.prior is None else headed("prior", self.prior.to_record())),
            "loss_range": [float(end) for end in self.loss_range],
            "privacy": self.privacy.to_dict(),
            "plan": plan,
            "choices": choices,
            "domain": (specified := specify(self.domain)),
            **({} if specified is not None else {"labels": plain_labels(self.domain.labels)}),
            "domain_name": repr(self.domain),
            "fingerprint": fingerprint(self.domain),
        }

    @classmethod
    def from_record(cls, record: Record, domain: Domain | None = None) -> Self:
        """Return the configuration of a record; a domain that could not be written down has to be passed again."""
        given = {one.name: record[one.name] for one in fields(cls) if one.name in record or one.name not in _LEFT_OUT}
        if prior := part(record, "prior"):
            given["prior"] = Posterior.from_record(prior)
        own = record["domain"] is None  # of functions that are the caller's
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
            domain = _in_names(labels_from(record.get("labels")), domain)
        if segments := part(record, "segments"):
            given["segments"] = Segments.from_record(segments)
        plan = given["plan"] if isinstance(given["plan"], str) else Plan.from_dict(given["plan"])
        return cls(
            **{
                **given,
                "domain": domain,
                "loss_range": tuple(given["loss_range"]),
                "privacy": guarantee_from_dict(given["privacy"]),
                "plan": plan,
                "choices": {name: math.inf if value == "inf" else value for name, value in given["choices"].items()},
            }
        )

    def differences(self, stored: "BanditConfiguration") -> list[str]:
        """Return, in words, where this configuration is not the stored one."""
        found = []
        if not same_answers(fingerprint(self.domain), fingerprint(stored.domain)):
            found.append(f"domain is {stored.domain!r}, not {self.domain!r}")
        elif other := other_names(stored.domain.labels, self.domain.labels):
            found.append(f"domain is the same set under other names: {other}")
        for one in fields(self):
            mine, theirs = getattr(self, one.name), getattr(stored, one.name)
            if one.name != "domain" and mine != theirs and not _same_range(one.name, mine, theirs):
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
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return "inf" if math.isinf(value) else value
    raise TypeError(f"{name} must be a number, a text or None to be stored, got {value!r}")


def _same_range(name: str, mine: Any, theirs: Any) -> bool:
    return name == "loss_range" and tuple(map(float, mine)) == tuple(map(float, theirs))
