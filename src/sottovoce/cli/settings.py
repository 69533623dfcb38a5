"""What a run is made of, wherever it was written: a ready run, a TOML file, options, a variant."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from sottovoce._checks import choice
from sottovoce.cli.options import PRIVACY, SWITCHES, Options, displaced, texts
from sottovoce.experiments.naming import bare_name, make_problem, problem_name, read_settings
from sottovoce.problems import PROBLEMS, DecisionProblem
from sottovoce.simulation import Environment, MovingTarget, NoisyLinear, Switching

__all__ = ["ENVIRONMENTS", "Settings", "from_file", "variant", "with_values"]

ENVIRONMENTS: dict[str, type[MovingTarget] | type[NoisyLinear] | type[Switching]] = {
    kind.name: kind for kind in (MovingTarget, NoisyLinear, Switching)
}


@dataclass(frozen=True, kw_only=True)
class Settings(Options):
    """All that decides a run: the shared options, and what is a simulation's own. Checked when the settings are made.

    Parameters
    ----------
    environment : str
        As on the command line; or a problem such as "routing" or "slate:items=40", which has a domain of its own.
    simulated_noise : bool
        Use noise from a seed: a run can then be repeated, and is not private.
    also : tuple of str
        Variants to run beside this one, such as ``no-privacy`` or ``epsilon=0.1,plan=paper``.

    Examples
    --------
    >>> from sottovoce.cli.settings import Settings
    >>> Settings(domain="simplex:4", horizon="10k").horizon
    10000
    """

    environment: str = "moving-target"
    horizon: Any = 1_000_000
    seed: int | None = 0
    simulated_noise: bool = False
    also: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.is_problem:
            problem_name(self.environment)
            if self.domain or self.domain_json:
                raise ValueError(
                    f"domain must be left out: {self.environment} has its own. Settings change it, as in slate:items=40"
                )
        else:
            choice("environment", self.environment, tuple(ENVIRONMENTS))
            if self.domain is None and self.domain_json is None:
                object.__setattr__(self, "domain", "ball:10")
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
        return ENVIRONMENTS[self.environment](self.feasible_set, seed=self.public_seed)


KEYS = tuple(field.name for field in fields(Settings))
_SWITCHES = (*SWITCHES, "simulated_noise")
_NOT_OF_VARIANTS = ("environment", "domain", "domain_json", "horizon", "loss_range", "seed", "also")
_VARIANT_KEYS = tuple(name for name in KEYS if name not in _NOT_OF_VARIANTS)


def with_values(settings: Settings, values: Mapping[str, Any]) -> Settings:
    """Return settings with some values replaced, and whatever these contradict left out."""
    Options(**{name: values[name] for name in PRIVACY if name in values})  # must not contradict each other
    left_out = displaced(values)
    if "environment" in values:
        left_out["domain"] = None
    return replace(settings, **{**left_out, **values})


def from_file(path: Path, base: Settings) -> Settings:
    """Read settings from a TOML file, whose keys are the names of the options."""
    try:
        with path.open("rb") as file:
            stored = tomllib.load(file)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise ValueError(f"{path} is not a TOML file: {problem}") from None
    return with_values(base, {_known(key, KEYS, str(path)): value for key, value in stored.items()})


def variant(settings: Settings, text: str) -> Settings:
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
    return replace(with_values(settings, values), also=())


def _known(written: str, known: tuple[str, ...], where: str) -> str:
    key = written.replace("-", "_")
    if key not in known:
        names = ", ".join(name.replace("_", "-") for name in known)
        raise ValueError(f"unknown key {written!r} in {where}; known keys: {names}")
    return key
