"""What can be compared: this library in several settings, and every algorithm of the literature that it holds."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sottovoce._written import read
from sottovoce.lab.baselines import BASELINES, Baseline
from sottovoce.lab.problems import DecisionProblem
from sottovoce.learning import Plan
from sottovoce.plans.paper import paper_draft
from sottovoce.plans.problem import Problem
from sottovoce.playing import LocalReports
from sottovoce.privacy import ZCDP, ApproxDP, Guarantee, LocalDP, NoPrivacy, PureDP, SimulatedNoise

DELTA = 1e-6
"""Of the algorithms that promise (epsilon, delta)-privacy."""


@dataclass(frozen=True, slots=True)
class Streams:
    """Seeds of the environment, the public coins, the simulated noise and simulated reports."""

    environment: int
    coins: int
    noise: int
    reports: int


def streams(seed: int) -> Streams:
    """Return seeds that share nothing but their origin; equal cell seeds meet the same environment.

    Examples
    --------
    >>> streams(0) == streams(0), len({streams(0).environment, streams(0).coins, streams(1).environment})
    (True, 3)
    """
    children = np.random.SeedSequence(seed).spawn(4)
    return Streams(*(int(child.generate_state(1)[0]) for child in children))


@dataclass(frozen=True, slots=True)
class AlgorithmSetting:
    """What an algorithm is built for."""

    problem: DecisionProblem
    epsilon: float
    horizon: int
    streams: Streams
    choices: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Algorithm:
    """An algorithm by name.

    Attributes
    ----------
    name, summary
        As on the command line, and what it is in a few words.
    private
        Whether it has an epsilon at all.
    build
        From a setting to an optimizer that `simulate` can play; raises ValueError where it does not fit.
    without_privacy
        The name of the same algorithm without privacy, where that has one of its own.

    Examples
    --------
    >>> ALGORITHMS["default"].private, ALGORITHMS["no-privacy"].private
    (True, False)
    """

    name: str
    summary: str
    private: bool
    build: Callable[[AlgorithmSetting], Any]
    without_privacy: str = ""


_Promise = Callable[[AlgorithmSetting], Guarantee]


def _ours(name: str, summary: str, promise: _Promise | None, without: str = "", *, plan: Any = "auto") -> Algorithm:
    """Return this library under a guarantee, if there is any, with a plan; a plan by name, or made for a problem."""

    def build(setting: AlgorithmSetting) -> Any:
        privacy, problem = NoPrivacy() if promise is None else promise(setting), setting.problem
        choices = {"plan": plan if isinstance(plan, str) else plan(setting, privacy), **setting.choices}
        if choices["plan"] != "auto" or isinstance(privacy, LocalDP):
            choices["segments"] = None  # by other plans, or from local reports, they cannot inform each other
        noise = SimulatedNoise(setting.streams.noise)
        made = problem.optimizer(
            horizon=setting.horizon, privacy=privacy, seed=setting.streams.coins, noise=noise, **choices
        )
        return LocalReports(made, setting.streams.reports) if isinstance(privacy, LocalDP) else made

    return Algorithm(name, summary, promise is not None, build, without)


def _pure(setting: AlgorithmSetting) -> Guarantee:
    """Return the guarantee: pure, unless a delta is among the choices."""
    delta = setting.choices.pop("delta", 0.0)
    return ApproxDP(setting.epsilon, delta) if delta else PureDP(setting.epsilon)


def _approximate(setting: AlgorithmSetting) -> Guarantee:
    return ApproxDP(setting.epsilon, setting.choices.pop("delta", DELTA))


def _with_needed_noise(setting: AlgorithmSetting, privacy: Guarantee) -> Plan:
    """Algorithm 1 with the paper's radius, step and batches; the least noise on its tree that keeps the guarantee."""
    if setting.choices:
        raise ValueError(f"the paper's parameters with the needed noise have no setting {', '.join(setting.choices)}")
    known = {**setting.problem.settings(), "segments": None}
    problem = Problem(setting.problem.domain, setting.horizon, known.pop("loss_range"), privacy, **known)
    return replace(paper_draft(problem, needed_noise=True).finish(), name="paper")


def _baseline(kind: type[Baseline]) -> Algorithm:
    def build(setting: AlgorithmSetting) -> Any:
        problem, environment = setting.problem, setting.problem.environment
        if kind.linear_only and problem.losses != "linear":
            raise ValueError(f"{kind.name} is for linear losses, and those of {problem.name} are {problem.losses}")
        given: dict[str, Any] = {"horizon": setting.horizon, "seed": setting.streams.coins}
        if kind.private:  # under zCDP rho = epsilon^2/2, which is implied by pure privacy
            privacy = _pure(setting) if PureDP in kind.promises else ZCDP(setting.epsilon**2 / 2)
            given |= {"privacy": privacy, "noise": SimulatedNoise(setting.streams.noise)}
        if setting.choices:
            raise ValueError(f"{kind.name} has no setting {', '.join(setting.choices)}")
        return kind(problem.domain, loss_range=environment.loss_range, lipschitz=environment.lipschitz, **given)

    return Algorithm(kind.name, (inspect.getdoc(kind) or kind.name).splitlines()[0], kind.private, build)


_HERE = (
    _ours("default", "this library's choice at pure epsilon-privacy", _pure, "no-privacy"),
    _ours(
        "worst-case",
        "the plan with the best bound against any losses, at pure epsilon-privacy",
        _pure,
        plan="worst-case",
    ),
    _ours("no-privacy", "this library's choice without privacy", None),
    _ours("paper-laplace", "Algorithm 1 with the paper's Laplace noise", _pure, "paper-no-noise", plan="paper"),
    _ours(
        "paper-gaussian",
        f"Algorithm 1 with the paper's Gaussian noise, delta = {DELTA:g}",
        _approximate,
        "paper-no-noise",
        plan="paper",
    ),
    _ours(
        "paper-needed-laplace",
        "Algorithm 1 with the paper's parameters and the least Laplace noise that privacy needs",
        _pure,
        "paper-no-noise",
        plan=_with_needed_noise,
    ),
    _ours(
        "paper-needed-gaussian",
        f"Algorithm 1 with the paper's parameters and the least Gaussian noise that privacy needs, delta = {DELTA:g}",
        _approximate,
        "paper-no-noise",
        plan=_with_needed_noise,
    ),
    _ours("paper-no-noise", "Algorithm 1 with the paper's parameters, without noise", None, plan="paper"),
    _ours(
        "local",
        "losses privatised by their owners, one bit each",
        lambda setting: LocalDP(setting.epsilon),
        "no-privacy",
    ),
)


ALGORITHMS = {one.name: one for one in (*_HERE, *map(_baseline, BASELINES.values()))}
"""By the name that the command line knows them by."""


def find_algorithm(text: str) -> tuple[Algorithm, dict[str, Any]]:
    """Return an algorithm and its settings, as in "default:play=around"; settings override single choices of a plan."""
    named = read(text, "algorithm")
    if named.name not in ALGORITHMS:
        raise ValueError(f"algorithm must be one of {', '.join(ALGORITHMS)}, got {named.name!r}")
    return ALGORITHMS[named.name], dict(named.settings)


def algorithm_name(text: str) -> str:
    """Return an algorithm as it is written everywhere, or say what is wrong with it."""
    find_algorithm(text)
    return str(read(text, "algorithm"))
