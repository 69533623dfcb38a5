"""What a run is made of, wherever it was written: a ready run, a TOML file, options, a variant."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from sottovoce._checks import choice, number, whole
from sottovoce.cli import parsing
from sottovoce.experiments.naming import bare_name, make_problem, problem_name, read_settings
from sottovoce.privacy import ApproxDP, Guarantee, NoPrivacy, PureDP
from sottovoce.problems import PROBLEMS, DecisionProblem
from sottovoce.simulation import Environment, MovingTarget, NoisyLinear, Switching

__all__ = ["ENVIRONMENTS", "Settings", "from_file", "variant", "with_values"]

ENVIRONMENTS: dict[str, type[MovingTarget] | type[NoisyLinear] | type[Switching]] = {
    kind.name: kind for kind in (MovingTarget, NoisyLinear, Switching)
}


@dataclass(frozen=True, slots=True)
class Settings:
    """All that decides a run. Values are checked when the settings are made.

    Parameters
    ----------
    environment, domain : str
        As on the command line; or a problem such as "routing" or "slate:items=40", which has a domain of its own ("").
    horizon : int
    epsilon, delta : float
        A delta of 0 is pure differential privacy.
    no_privacy : bool
        If True, epsilon and delta are not used.
    plan, play, losses : str
    integral : bool
        As `PrivateBandit` takes them.
    seed : int
        For the environment and the optimizer's public coins.
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
    domain: str = "ball:10"
    horizon: int | str = 1_000_000
    epsilon: float = 1.0
    delta: float = 0.0
    no_privacy: bool = False
    plan: str = "auto"
    play: str = "inside"
    losses: str = "convex"
    integral: bool = False
    seed: int = 0
    simulated_noise: bool = False
    also: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.is_problem:
            problem_name(self.environment)
            if self.domain:
                raise ValueError(
                    f"domain must be left out: {self.environment} has its own. Settings change it, as in slate:items=40"
                )
        else:
            choice("environment", self.environment, tuple(ENVIRONMENTS))
        choice("plan", self.plan, ("auto", "paper"))
        choice("play", self.play, ("inside", "around"))
        choice("losses", self.losses, ("convex", "linear"))
        for name in ("no_privacy", "simulated_noise", "integral"):
            if not isinstance(getattr(self, name), bool):
                raise TypeError(f"{name} must be true or false, got {getattr(self, name)!r}")
        if isinstance(self.also, str) or not all(isinstance(text, str) for text in self.also):
            raise TypeError(f"also must be a list of texts such as 'no-privacy' or 'epsilon=0.1', got {self.also!r}")
        object.__setattr__(self, "horizon", parsing.count("horizon", self.horizon))
        object.__setattr__(self, "epsilon", number("epsilon", self.epsilon, above=0.0))
        object.__setattr__(self, "seed", whole("seed", self.seed, least=0))
        object.__setattr__(self, "also", tuple(self.also))
        if number("delta", self.delta) != 0.0:
            ApproxDP(self.epsilon, self.delta)

    @property
    def guarantee(self) -> Guarantee:
        """The promise that these settings ask for."""
        if self.no_privacy:
            return NoPrivacy()
        return ApproxDP(self.epsilon, self.delta) if self.delta else PureDP(self.epsilon)

    @property
    def is_problem(self) -> bool:
        """Whether the environment is that of a real decision problem."""
        return bare_name(self.environment) in PROBLEMS

    def make_problem(self) -> DecisionProblem | None:
        """Build the decision problem, if it is one."""
        return make_problem(self.environment, seed=self.seed) if self.is_problem else None

    def make_environment(self) -> Environment:
        """Build the environment on its domain."""
        problem = self.make_problem()
        if problem is not None:
            return problem.environment
        return ENVIRONMENTS[self.environment](parsing.domain(self.domain), seed=self.seed)


KEYS = tuple(field.name for field in fields(Settings))
_VARIANT_KEYS = ("epsilon", "delta", "no_privacy", "plan", "play", "losses", "integral", "simulated_noise")


def with_values(settings: Settings, values: Mapping[str, Any]) -> Settings:
    """Return settings with some values replaced; whoever asks for an epsilon or a delta asks for privacy."""
    values = dict(values)
    private = [name for name in ("epsilon", "delta") if name in values]
    if private and values.get("no_privacy") is True:
        raise ValueError(f"{' and '.join([*private, 'no-privacy'])} exclude each other")
    if private:
        values.setdefault("no_privacy", False)
    return replace(settings, **values)


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
        if key in ("no_privacy", "simulated_noise", "integral"):
            if value is not None:
                raise ValueError(f"{written} in variant {text!r} takes no value")
            values[key] = True
        else:
            values[key] = number(written, value or "") if key in ("epsilon", "delta") else value or ""
    return replace(with_values(settings, values), also=())


def _known(written: str, known: tuple[str, ...], where: str) -> str:
    key = written.replace("-", "_")
    if key not in known:
        names = ", ".join(name.replace("_", "-") for name in known)
        raise ValueError(f"unknown key {written!r} in {where}; known keys: {names}")
    return key
