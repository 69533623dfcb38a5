"""What a decision problem is: a feasible set, losses that come from people, a best decision."""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, ClassVar, Self, Unpack

from sottovoce.domains import Domain
from sottovoce.lab.simulation.environment import Environment, plain_value
from sottovoce.learning import PrivateBandit
from sottovoce.plans.options import OptimizerOptions
from sottovoce.privacy import Guarantee, NoiseSource


class DecisionProblem(ABC):
    """A decision that is made again and again, for a person each time, with one number as the only feedback.

    A subclass sets the attributes below in its constructor, whose arguments are keywords with plain values (whole
    numbers, floats, names), so that a problem can be named on the command line: `slate:items=40,slots=5`.

    Attributes
    ----------
    name : str
        As on the command line.
    title, story : str
        A headline, and two or three sentences: who decides what, who is affected, what is seen.
    environment : Environment
        The simulated world, with its comparator.
    losses, integral
        As `PrivateBandit` takes them.
    places : mapping, optional
        Where the nodes of its network are, if it has one: east and north, for drawings.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    story: ClassVar[str]
    environment: Environment
    losses: str = "convex"
    integral: bool = False
    places: Mapping[Hashable, tuple[float, float]] | None = None
    _given: dict[str, Any]

    def __new__(cls, **given: Any) -> Self:
        """Keep the arguments as they were given: attributes of the same name may mean something else."""
        problem = super().__new__(cls)
        problem._given = given
        return problem

    def __repr__(self) -> str:
        """Return the call that makes the problem, with all settings."""
        defaults = {name: one.default for name, one in inspect.signature(type(self).__init__).parameters.items()}
        del defaults["self"]
        shown = (f"{name}={plain_value(value)}" for name, value in {**defaults, **self._given}.items())
        return f"{type(self).__name__}({', '.join(shown)})"

    @property
    def domain(self) -> Domain:
        """The feasible set."""
        return self.environment.domain

    def settings(self) -> dict[str, Any]:
        """Return what `PrivateBandit` needs to know of the problem, privacy and horizon apart."""
        return {
            "loss_range": self.environment.loss_range,
            "lipschitz": self.environment.lipschitz,
            "losses": self.losses,
            "integral": self.integral,
        }

    def optimizer(
        self,
        *,
        horizon: int,
        privacy: Guarantee,
        seed: int | None = None,
        noise: NoiseSource | None = None,
        **options: Unpack[OptimizerOptions],
    ) -> PrivateBandit:
        """Return a `PrivateBandit` for this problem; `options` go before its settings.

        Parameters
        ----------
        horizon, privacy, seed, noise
            As for `PrivateBandit`.
        **options
            As for `PrivateBandit`, in place of the problem's own.
        """
        arguments: Any = {**self.settings(), **options}
        return PrivateBandit(self.domain, horizon=horizon, privacy=privacy, seed=seed, noise=noise, **arguments)

    @classmethod
    @abstractmethod
    def examples(cls) -> list[Self]:
        """Return a few small instances, on which the shared tests of all problems run."""


def names_of(known: Sequence[str], count: int, kind: str) -> list[str]:
    """Return so many names: those that are known, and numbers beyond them.

    Examples
    --------
    >>> names_of(["tea", "milk"], 3, "drink")
    ['tea', 'milk', 'drink 3']
    """
    return [known[place] if place < len(known) else f"{kind} {place + 1}" for place in range(count)]
