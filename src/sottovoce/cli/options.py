"""The options that say what is decided, how private, and by which plan: one set for `run`, `plan` and `study create`.

What stands here, a command takes by a parameter `options: Options` under `@with_options()`; what each means, and its
type, is declared in `sottovoce.options`. One that is declared there is one more field here.
"""

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any, Self, TypeVar, get_type_hints

import typer

from sottovoce._checks import choice, whole
from sottovoce._parsing import guarantee_of, labelled
from sottovoce._written import read_values
from sottovoce.cli import parsing
from sottovoce.cli.making import domain_of, features_of, labels_of, prior_of
from sottovoce.domains import Domain
from sottovoce.options import OPTIONS
from sottovoce.plans import exploration_named
from sottovoce.plans.options import DecisionFacts
from sottovoce.plans.plan import PLANS
from sottovoce.privacy import Guarantee, mechanism_named

PRIVACY = ("epsilon", "delta", "rho", "local", "no_privacy", "contributions")
"""Options that say which guarantee is given; some exclude others."""
_OWN = ("plan", "exploration", "mechanism")  # besides facts of the decision
_FILES: dict[str, Callable[[Path], Any]] = {"features": features_of, "prior": prior_of}
_NUMBERS = tuple(name for name, one in OPTIONS.items() if one.kind is float)
SWITCHES = tuple(name for name, one in OPTIONS.items() if one.kind is bool)
"""Options that are on or off."""


def _said(name: str) -> Any:
    """Return an option for a command, as it is declared."""
    one, flags = OPTIONS[name], (f"--{name.replace('_', '-')}",) if OPTIONS[name].kind is bool else ()
    return typer.Option(
        *flags, help=one.help, rich_help_panel=one.group, metavar="NAME=VALUE" if one.kind is list else None
    )


Patience = Annotated[str | None, _said("patience")]
Deadline = Annotated[str | None, _said("deadline")]


@dataclass(frozen=True, kw_only=True)
class Options:
    """What was given of the options that commands share, as it was written; None is what was not given.

    Examples
    --------
    >>> given = Options(domain="simplex:4", rho=0.5, losses="linear", choose=("rate=0.1",))
    >>> given.feasible_set, given.guarantee, given.arguments
    (Simplex(4), ZCDP(rho=0.5, contributions=1), {'losses': 'linear', 'rate': 0.1})
    """

    domain: str | None = None
    domain_json: Path | None = None
    labels: str | None = None
    horizon: str | None = None
    loss_range: str | None = None
    direction: str | None = None
    losses: str | None = None
    play: str | None = None
    integral: bool | None = None
    feedback: str | None = None
    most: float | None = None
    lipschitz: float | None = None
    features: Path | None = None
    prior: Path | None = None
    accept_prior: str | None = None
    epsilon: float | None = None
    delta: float | None = None
    rho: float | None = None
    local: bool | None = None
    channel: str | None = None
    no_privacy: bool | None = None
    contributions: int | None = None
    plan: str | None = None
    exploration: str | None = None
    mechanism: str | None = None
    choose: list[str] | None = None
    patience: str | None = None
    seed: int | None = None

    def __post_init__(self) -> None:
        for name in _NUMBERS:
            if getattr(self, name) is not None:
                object.__setattr__(self, name, parsing.one_number(name, getattr(self, name)))
        for name in SWITCHES:
            if not isinstance(getattr(self, name), bool | None):
                raise TypeError(f"{name.replace('_', '-')} must be true or false, got {getattr(self, name)!r}")
        if self.contributions is not None:
            object.__setattr__(self, "contributions", parsing.count("contributions", self.contributions))
        for name in ("domain_json", *_FILES):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, Path(getattr(self, name)))
        if self.labels is not None and not isinstance(self.labels, str):  # a list, in a file of settings
            object.__setattr__(self, "labels", _joined(self.labels))
        if self.channel is not None and not self.local:
            raise ValueError("--channel is how owners privatise their losses: it needs --local")
        object.__setattr__(self, "choose", texts("choose", self.choose or (), "'batch_size=64'"))
        if self.seed is not None:
            whole("seed", self.seed, least=0)
        _ = self.guarantee, self.events, self.clipping, self.waiting, self.arguments  # each says what is wrong with it

    @property
    def feasible_set(self) -> Domain:
        """The domain that is written, or in a file."""
        found = domain_of(self.domain, self.domain_json)
        return found if self.labels is None else labelled(found, labels_of(self.labels))

    @property
    def events(self) -> int | None:
        """The horizon; None if it is unknown."""
        unknown = self.horizon is None or str(self.horizon).strip().lower() == "unknown"
        return None if unknown else parsing.count("horizon", self.horizon)

    @property
    def events_needed(self) -> int:
        """The horizon, where there must be one."""
        events = self.events
        if events is None:
            raise ValueError("horizon must be known here, such as 1000000, 1e6, 100k or 1M")
        return events

    @property
    def clipping(self) -> tuple[float, float] | None:
        """The range of losses, if one is given."""
        return None if self.loss_range is None else parsing.pair("loss-range", self.loss_range)

    @property
    def guarantee(self) -> Guarantee:
        """The promise that is asked for."""
        return guarantee_of(
            epsilon=self.epsilon,
            delta=self.delta,
            rho=self.rho,
            local=bool(self.local),
            no_privacy=bool(self.no_privacy),
            contributions=self.contributions,
        )

    @property
    def waiting(self) -> dict[str, Any]:
        """The patience, if one is given, as an argument."""
        return {} if self.patience is None else {"patience": parsing.patience(self.patience)}

    @property
    def arguments(self) -> dict[str, Any]:
        """What is given of `OptimizerOptions`, checked by name."""
        # An argument that cannot be written on a command line has no option.
        facts = {one.name: getattr(self, one.name, None) for one in fields(DecisionFacts)}
        given = {name: value for name, value in facts.items() if value is not None}
        given |= {name: read(given[name]) for name, read in _FILES.items() if name in given}
        DecisionFacts(**given)
        if self.plan is not None:
            given["plan"] = choice("plan", self.plan, PLANS)
        if self.exploration is not None:
            given["exploration"] = exploration_named(self.exploration).name
        if self.mechanism is not None:
            given["mechanism"] = mechanism_named(self.mechanism).name
        for text in self.choose or ():
            for name, value in read_values(text, f"choose {text!r}").items():
                if name in _OWN or name in facts:
                    raise ValueError(f"{name} has an option of its own: --{name}")
                if name in given:
                    raise ValueError(f"{name} is chosen twice: choose it once")
                given[name] = value
        return given

    @property
    def chosen(self) -> tuple[str, ...]:
        """Single choices as they were written."""
        return tuple(self.choose or ())

    def given(self) -> dict[str, Any]:
        """Return what was given, by name."""
        return {one.name: value for one in fields(self) if (value := getattr(self, one.name)) not in (None, ())}

    def or_else(self, **defaults: Any) -> Self:
        """Return the same with defaults for what was not given."""
        return replace(self, **{**defaults, **{name: one for name, one in self.given().items() if name in defaults}})


def texts(name: str, given: Any, such_as: str) -> tuple[str, ...]:
    """Return a list of texts as a tuple; one text alone is not meant."""
    if isinstance(given, str) or not all(isinstance(text, str) for text in given):
        raise TypeError(f"{name} must be a list of texts such as {such_as}, got {given!r}")
    return tuple(given)


def _joined(labels: Any) -> str:
    """Return a list of names as they are written on a command line."""
    if not isinstance(labels, list | tuple):
        raise TypeError(f"labels must be a list of texts such as 'tea', or a file with one a line, got {labels!r}")
    names = texts("labels", labels, "'tea'")
    if len(names) < 2 or any("," in name for name in names):
        raise ValueError("labels must be two texts at least, without commas; others stand in a file, one a line")
    return ",".join(names)


Command = TypeVar("Command", bound=Callable[..., Any])


def with_options(*, without: tuple[str, ...] = ()) -> Callable[[Command], Callable[..., Any]]:
    """Make a command of a function that takes `options: Options`: these stand in its help where that parameter stands.

    Parameters
    ----------
    without
        Options that mean nothing to the command.
    """
    hints, alone = get_type_hints(Options), inspect.Parameter.KEYWORD_ONLY
    shared = [
        inspect.Parameter(one.name, alone, default=one.default, annotation=Annotated[hints[one.name], _said(one.name)])
        for one in fields(Options)
        if one.name not in without
    ]

    def decorate(function: Command) -> Callable[..., Any]:
        shown: list[inspect.Parameter] = []
        for one in inspect.signature(function, eval_str=True).parameters.values():
            shown += shared if one.name == "options" else [one.replace(kind=inspect.Parameter.KEYWORD_ONLY)]

        @functools.wraps(function)
        def command(**given: Any) -> Any:
            options = Options(**{one.name: given.pop(one.name) for one in shared})
            return function(options=options, **given)

        spelled: Any = command
        spelled.__signature__ = inspect.Signature(shown)
        spelled.__annotations__ = {one.name: one.annotation for one in shown}
        return command

    return decorate


def displaced(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an option that is given anew takes the place of: a budget that of no privacy, a file that of a name.

    Examples
    --------
    >>> displaced({"rho": 0.5})
    {'epsilon': None, 'delta': None, 'local': None, 'channel': None, 'no_privacy': None}
    """
    others = {
        "epsilon": ("rho", "no_privacy"),
        "delta": ("rho", "local", "channel", "no_privacy"),
        "local": ("delta", "rho", "no_privacy"),
        "rho": ("epsilon", "delta", "local", "channel", "no_privacy"),
        "no_privacy": ("epsilon", "delta", "rho", "local", "channel", "contributions"),
        "contributions": ("no_privacy",),
        "domain": ("domain_json", "labels"),
        "domain_json": ("domain", "labels"),
    }
    found = [name for given, value in values.items() if value for name in others.get(given, ())]
    return dict.fromkeys(name for name in found if name not in values)
