"""What a run is made of, wherever it was written: a ready run, a TOML file, options, a variant."""

import inspect
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from sottovoce._checks import choice
from sottovoce._written import bare_name, read, read_settings
from sottovoce.cli.options import PRIVACY, SWITCHES, Options, displaced, texts
from sottovoce.lab.problems import PROBLEMS, DecisionProblem
from sottovoce.lab.problems.naming import make_problem, problem_name
from sottovoce.lab.simulation import Environment, MovingTarget, NoisyLinear, Switching

ENVIRONMENTS: dict[str, type[MovingTarget] | type[NoisyLinear] | type[Switching]] = {
    kind.name: kind for kind in (MovingTarget, NoisyLinear, Switching)
}


@dataclass(frozen=True, kw_only=True)
class RunSettings(Options):
    """All that decides a run: the shared options, and what is a simulation's own. Checked when the settings are made.

    Parameters
    ----------
    environment : str
        As on the command line, with settings after a colon, as in "switching:every=5000"; or a problem such as
        "routing" or "slate:items=40", which has a domain of its own.
    simulated_noise : bool
        Use noise from a seed: a run can then be repeated, and is not private.
    also : tuple of str
        Variants to run beside this one, such as ``no-privacy`` or ``epsilon=0.1,plan=paper``.
    beside : str
        Another environment on the same domain, in which all of it is run, too; both are drawn in one figure.

    Examples
    --------
    >>> from sottovoce.cli.settings import RunSettings
    >>> RunSettings(domain="simplex:4", horizon="10k").horizon
    10000
    """

    environment: str = "moving-target"
    horizon: Any = 1_000_000
    seed: int | None = 0
    simulated_noise: bool = False
    also: tuple[str, ...] = ()
    beside: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.is_problem:
            problem_name(self.environment)
            if self.domain or self.domain_json or self.labels:
                raise ValueError(
                    f"domain and labels must be left out: {self.environment} has its own. Settings change it, as in "
                    "slate:items=40"
                )
        else:
            _checked_environment("environment", self.environment)
            if self.domain is None and self.domain_json is None:
                object.__setattr__(self, "domain", "ball:10")
        if self.beside is not None:
            if self.is_problem:
                raise ValueError(f"beside must be left out: {self.environment} has a world of its own")
            _checked_environment("beside", self.beside)
        if not isinstance(self.simulated_noise, bool):
            raise TypeError(f"simulated-noise must be true or false, got {self.simulated_noise!r}")
        object.__setattr__(self, "also", texts("also", self.also, "'no-privacy' or 'epsilon=0.1'"))
        object.__setattr__(self, "horizon", self.events_needed)

    @property
    def is_problem(self) -> bool:
        """Whether the environment is that of a real decision problem."""
        return bare_name(self.environment) in PROBLEMS

    def make_problem(self) -> DecisionProblem | None:
        """Build the decision problem, if it is one."""
        return make_problem(self.environment, seed=self.public_seed) if self.is_problem else None

    @property
    def public_seed(self) -> int:
        """The seed, which a simulation always has."""
        return self.seed or 0

    def make_environment(self) -> Environment:
        """Build the environment on its domain."""
        problem = self.make_problem()
        if problem is not None:
            return problem.environment
        named = read(self.environment, "environment")
        try:
            return ENVIRONMENTS[named.name](self.feasible_set, **{"seed": self.public_seed, **dict(named.settings)})
        except (TypeError, ValueError) as problem:
            raise ValueError(f"environment {self.environment!r}: {problem}") from problem

    def in_other_world(self) -> "RunSettings | None":
        """Return the same settings in the environment that stands beside; None if there is none."""
        return None if self.beside is None else replace(self, environment=self.beside, beside=None)


def _checked_environment(name: str, text: str) -> None:
    """Refuse an environment that there is not, or a setting that it does not have."""
    named = read(text, name)
    choice(name, named.name, tuple(ENVIRONMENTS))
    known = [one for one in inspect.signature(ENVIRONMENTS[named.name]).parameters if one != "domain"]
    for key, _ in named.settings:
        if key not in known:
            raise ValueError(f"{name} {named.name} has no setting {key!r}; it has {', '.join(known)}")


KEYS = tuple(field.name for field in fields(RunSettings))
_SWITCHES = (*SWITCHES, "simulated_noise")
_NOT_OF_VARIANTS = ("environment", "domain", "domain_json", "labels", "horizon", "loss_range", "seed", "also", "beside")
_VARIANT_KEYS = tuple(name for name in KEYS if name not in _NOT_OF_VARIANTS)


def with_values(settings: RunSettings, values: Mapping[str, Any]) -> RunSettings:
    """Return settings with some values replaced, and whatever these contradict left out."""
    Options(**{name: values[name] for name in PRIVACY if name in values})  # must not contradict each other
    left_out = displaced(values)
    if "environment" in values:
        left_out |= {"domain": None, "labels": None, "beside": None}
    return replace(settings, **{**left_out, **values})


def from_file(path: Path, base: RunSettings) -> RunSettings:
    """Read settings from a TOML file, whose keys are the names of the options."""
    try:
        with path.open("rb") as file:
            stored = tomllib.load(file)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise ValueError(f"{path} is not a TOML file: {problem}") from None
    return with_values(base, {_known(key, KEYS, str(path)): value for key, value in stored.items()})


def variant(settings: RunSettings, text: str) -> RunSettings:
    """Return settings changed as a variant says, such as ``epsilon=0.1,plan=paper`` or ``no-privacy``."""
    values: dict[str, Any] = {}
    for written, value in read_settings(text, f"variant {text!r}").items():
        key = _known(written, _VARIANT_KEYS, f"variant {text!r}")
        if key in _SWITCHES:
            if value is not None:
                raise ValueError(f"{written} in variant {text!r} takes no value")
            values[key] = True
        else:
            values[key] = (value or "",) if key == "choose" else value or ""
    return replace(with_values(settings, values), also=(), beside=None)


def _known(written: str, known: tuple[str, ...], where: str) -> str:
    key = written.replace("-", "_")
    if key not in known:
        names = ", ".join(name.replace("_", "-") for name in known)
        raise ValueError(f"unknown key {written!r} in {where}; known keys: {names}")
    return key
