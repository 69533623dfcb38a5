"""The options that say what is decided, how private, and by which plan: one set for `plan` and `study create`.

What each means, and its type, is declared in `sottovoce.options`: a command takes all of them by a parameter
`options: Options` under `@with_options()`.
"""

import functools
import inspect
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from sottovoce._checks import choice
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


def _parameter(name: str) -> inspect.Parameter:
    """Return an option as a parameter of a command, as it is declared."""
    one, many = OPTIONS[name], OPTIONS[name].kind is list
    flags = (f"--{name.replace('_', '-')}",) if one.kind is bool else ()
    option = typer.Option(*flags, help=one.help, rich_help_panel=one.group, metavar="NAME=VALUE" if many else None)
    kind: Any = (list[str] if many else one.kind) | None
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind, option])


class Options:
    """What was given of the options that commands share, as it was written; each is an attribute, None if not given.

    Parameters
    ----------
    given
        By name, as `sottovoce.options` declares them.

    Examples
    --------
    >>> given = Options(domain="simplex:4", rho=0.5, losses="linear", choose=["rate=0.1"])
    >>> given.feasible_set, given.guarantee, given.arguments
    (Simplex(4), ZCDP(rho=0.5, contributions=1), {'losses': 'linear', 'rate': 0.1})
    """

    def __init__(self, **given: Any) -> None:
        self._given = {name: value for name, value in given.items() if value is not None and value != []}
        _ = self.guarantee, self.events, self.clipping, self.waiting, self.arguments  # each says what is wrong with it

    def __getattr__(self, name: str) -> Any:
        if name not in OPTIONS:
            raise AttributeError(name)
        return self._given.get(name)

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
    def clipping(self) -> tuple[float, float]:
        """The range of losses, if one is given."""
        return (0.0, 1.0) if self.loss_range is None else parsing.pair("loss-range", self.loss_range)

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
        """How long rounds wait, as far as that was said."""
        read: dict[str, Any] = {"patience": parsing.patience, "deadline": parsing.deadline}
        return {name: read[name](given) for name, given in self._given.items() if name in read}

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


Command = TypeVar("Command", bound=Callable[..., Any])


def with_options(*, without: tuple[str, ...] = ()) -> Callable[[Command], Callable[..., Any]]:
    """Make a command of a function that takes `options: Options`: these stand in its help where that parameter stands.

    Parameters
    ----------
    without
        Options that mean nothing to the command.
    """
    shared = [_parameter(name) for name in OPTIONS if name not in without]

    def decorate(function: Command) -> Callable[..., Any]:
        shown: list[inspect.Parameter] = []
        for one in inspect.signature(function, eval_str=True).parameters.values():
            shown += shared if one.name == "options" else [one.replace(kind=inspect.Parameter.KEYWORD_ONLY)]

        @functools.wraps(function)
        def command(**given: Any) -> Any:
            options = Options(**{one.name: given.pop(one.name) for one in shared})
            return function(options=options, **given)

        return spelled(command, shown)

    return decorate


def spelled(command: Callable[..., Any], parameters: list[inspect.Parameter]) -> Callable[..., Any]:
    """Give a command the parameters that its help is to show.

    Parameters
    ----------
    command
        A function that takes all of them as keywords.
    parameters
        In the order of the help.
    """
    known: Any = command
    known.__signature__ = inspect.Signature(parameters)
    known.__annotations__ = {one.name: one.annotation for one in parameters}
    return command
