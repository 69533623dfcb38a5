"""The arguments of an optimizer, in one place: what they are called, what they are by default, what they may be.

`PrivateBandit`, `Study.open`, `sv.plan`, `sv.minimize` and problems take them as
``**options: Unpack[OptimizerOptions]``. A new one is a field of `DecisionFacts` (its default, and its check) and a
line of `OptimizerOptions` (its type, for editors and type checkers), then whatever uses it. A new choice of a plan is a
line of `PlanChoices`. Tests compare both with what is asked at run time.
"""

import difflib
import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypedDict, TypeVar, cast

from sottovoce._checks import boolean, choice, number
from sottovoce.models import Features, Posterior, Segments
from sottovoce.plans.plan import PLANS, Plan

# What people call a budget, and where it goes:
_BUDGETS = {
    "epsilon": "sv.PureDP(epsilon={})",
    "eps": "sv.PureDP(epsilon={})",
    "budget": "sv.PureDP(epsilon={})",
    "delta": "sv.ApproxDP(epsilon=..., delta={})",
    "rho": "sv.ZCDP(rho={})",
    "contributions": "sv.PureDP(epsilon=..., contributions={})",
}

CHOICES: dict[str, tuple[str, ...]] = {
    "plan": PLANS,
    "play": ("inside", "around"),
    "losses": ("convex", "linear"),
    "accept_prior": ("not private",),
    "feedback": ("decision", "items"),
    "direction": ("minimize", "maximize"),
}
"""What arguments may be that are one of a few words."""

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True, kw_only=True, eq=False)  # a record that adds to it says itself what makes it equal
class DecisionFacts:
    """What may be said of a decision besides its domain, horizon, loss range and privacy; see `PrivateBandit`.

    Examples
    --------
    >>> DecisionFacts(losses="linear").facts()["play"]
    'inside'
    >>> DecisionFacts(losses="round")
    Traceback (most recent call last):
    ValueError: losses must be one of 'convex', 'linear', got 'round'
    """

    play: str = "inside"
    losses: str = "convex"
    integral: bool = False
    lipschitz: float | None = None
    features: Any = None
    prior: Posterior | None = None
    accept_prior: str | None = None
    segments: Any = None
    feedback: str = "decision"
    most: float | None = None
    direction: str = "minimize"

    def __post_init__(self) -> None:
        for name in ("play", "losses", "feedback", "direction"):
            choice(name, getattr(self, name), CHOICES[name])
        object.__setattr__(self, "integral", boolean("integral", self.integral))
        for name in ("lipschitz", "most"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, number(name, getattr(self, name), above=0))
        if self.most is not None and self.feedback != "items":
            raise ValueError("most is what a person's items count for in all: it needs feedback='items'")
        if self.features is not None:
            object.__setattr__(self, "features", Features(self.features))
        if not isinstance(self.prior, Posterior | None):
            raise TypeError(
                "prior must be what posterior() of an earlier run or study returned, or sv.Posterior.load(file); got "
                f"{type(self.prior).__name__}"
            )
        if self.accept_prior is not None:
            choice("accept_prior", self.accept_prior, CHOICES["accept_prior"])
        if self.segments is not None:
            object.__setattr__(self, "segments", Segments.of(self.segments))
        if self.integral and self.play == "around":
            raise ValueError("integral=True needs play='inside': only points of the set are means of its vertices")

    def facts(self) -> dict[str, Any]:
        """Return these facts by name, to hand them on."""
        return {one.name: getattr(self, one.name) for one in fields(DecisionFacts)}


class PlanChoices(TypedDict, total=False):
    """Single choices of a plan that ship; the tables of explorations and mechanisms say what applies when.

    Attributes
    ----------
    exploration
        "posterior" (decisions that may be the best), "designs" (linear losses), "frames" (any convex loss) or "sphere"
        (the paper's).
    mechanism
        What releases the sums: "probe-sums", "fresh", "tree", or "none" without privacy.
    step
        eta, the length of a step, in place of one that adapts to the released gradients. Not for posterior probes.
    delay
        How many sums the played point lags behind. Not for posterior probes.
    method
        How the point of a round is computed, as `sottovoce.projection.project` takes it. Not for posterior probes.
    radius
        zeta, how far from the point is explored (frames, sphere).
    batch_size
        Events of a round (frames, sphere).
    directions
        How many directions a round has (frames).
    position
        "plain", or "rounded", which works in coordinates in which the set is less lopsided (frames, sphere).
    padding
        Whether a tree draws noise for nodes that no sum needs, as the paper's does (sphere).
    rate
        Share of the events that explore (designs).
    probe_events
        Events of one probe (designs).
    decay
        The power of time by which the rate falls (designs).
    step_multiplier
        What the adaptive step is multiplied by (designs, frames).
    probes
        Decisions of a round, 2 at least (posterior).
    least_events
        Events that each of them gets at least (posterior).
    posterior_scale
        What the deviations of a posterior sample are multiplied by: below 1 explores less (posterior).
    """

    exploration: str | None
    mechanism: str | None
    step: float | None
    delay: int | None
    method: str | None
    radius: float | None
    batch_size: int | None
    directions: int | None
    position: str | None
    padding: bool | None
    rate: float | None
    probe_events: int | None
    decay: float | None
    step_multiplier: float | None
    probes: int | None
    least_events: int | None
    posterior_scale: float | None


class OptimizerOptions(PlanChoices, total=False):
    """What an optimizer may be told besides domain, horizon, loss range and privacy; see `PrivateBandit`."""

    plan: str | Plan
    play: str
    losses: str
    integral: bool
    lipschitz: float | None
    features: Any
    prior: Posterior | None
    accept_prior: str | None
    segments: Any
    feedback: str
    most: float | None
    direction: str


class _NotPassed:
    """The default of what need not be passed, where None means something."""

    def __repr__(self) -> str:
        return "<not passed>"


NOT_PASSED: Any = _NotPassed()


def passed(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that were passed.

    Examples
    --------
    >>> passed({"patience": None, "deadline": NOT_PASSED})
    {'patience': None}
    """
    return {name: value for name, value in given.items() if value is not NOT_PASSED}


def separate(options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return arguments (`plan` and facts of the decision), and single choices of the plan: all that is left.

    Examples
    --------
    >>> separate({"losses": "linear", "rate": 0.1})
    ({'losses': 'linear'}, {'rate': 0.1})
    """
    arguments = {name: value for name, value in options.items() if name in _ARGUMENTS}
    return arguments, {name: value for name, value in options.items() if name not in _ARGUMENTS}


def meant(name: str, others: Iterable[str] = ()) -> str:
    """Return a question after a name that nothing knows, if it looks like an argument or one of others.

    Examples
    --------
    >>> meant("loses")
    '; did you mean losses?'
    """
    close = difflib.get_close_matches(name, [*_ARGUMENTS, *others], n=1)
    return f"; did you mean {close[0]}?" if close else ""


def spelled_out(function: Function) -> Function:
    """Show every argument by name in `help`, in place of ``**options``; answer what is misspelled with the name."""
    shown = inspect.signature(function)
    before = list(shown.parameters.values())[:-1]
    types = OptimizerOptions.__annotations__
    named = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=types.get(name, Any))
        for name, default in _ARGUMENTS.items()
    ]
    choices = inspect.Parameter("choices", inspect.Parameter.VAR_KEYWORD, annotation=PlanChoices)
    own = [one.name for one in before]

    @functools.wraps(function)
    def spelled(*given: Any, **passed: Any) -> Any:
        for name, value in passed.items():
            if name not in own and name not in types:
                _point_to(name, value, own)
        return function(*given, **passed)

    shown_to_all: Any = spelled
    shown_to_all.__signature__ = shown.replace(parameters=[*before, *named, choices])
    return cast(Function, spelled)


def _point_to(name: str, value: Any, own: Sequence[str]) -> None:
    """Refuse a name that is another way to say one of the arguments that come first; single choices come later."""
    meant_by_it = difflib.get_close_matches(name, [*own, *OptimizerOptions.__annotations__], n=1, cutoff=0.75)
    if name in _BUDGETS:
        meant_by_it = own = [f"privacy={_BUDGETS[name].format(repr(value))}"]
    if meant_by_it and meant_by_it[0] in own:
        raise TypeError(f"unknown argument {name}; did you mean {meant_by_it[0]}?")


_ARGUMENTS: dict[str, Any] = {"plan": "auto", **{one.name: one.default for one in fields(DecisionFacts)}}
