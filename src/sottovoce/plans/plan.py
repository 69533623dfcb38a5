"""A plan: the parameters of a run, with what they should cost."""

import math
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from typing import Any, ClassVar, Self

from sottovoce._checks import choice
from sottovoce._printed import Part, Printed
from sottovoce.plans.forecast import NO_FORECAST, NOT_REHEARSED, Forecast
from sottovoce.privacy import DirectionGrid, LossGrid, Noise

PLANS = ("auto", "worst-case", "paper")
"""Plans that have a name."""

_BOUNDS = ("bound", "bound_without_privacy")

UNKNOWN_LIPSCHITZ = "lipschitz was not given"
"""How the note begins of a plan whose bound rests on a Lipschitz constant that nobody vouches for."""


@dataclass(frozen=True)
class Options:
    """What is a way of exploring's own in a plan: each has a record of its own kind, named after it."""

    exploration: ClassVar[str]
    order_only: ClassVar[bool] = True
    """Whether the bound of such a plan, if it has any, is an order of magnitude, not a guarantee."""

    steps: ClassVar[bool] = True
    """Whether such a plan takes steps along gradients, and projects."""

    _kinds: ClassVar[dict[str, type["Options"]]] = {}

    def __init_subclass__(cls, exploration: str) -> None:
        cls.exploration = exploration
        Options._kinds[exploration] = cls

    @staticmethod
    def from_dict(exploration: str, data: dict[str, Any]) -> "Options":
        """Return the options of a way of exploring."""
        return Options._kinds[choice("exploration", exploration, tuple(Options._kinds))](**data)

    @property
    def begins_with(self) -> tuple[str, ...]:
        """Which of `features` and `prior` such a plan can make use of."""
        return ()

    @property
    def rests_on(self) -> str:
        """What has to be true for such a plan to do well, for people."""
        return "what nobody has said: it promises nothing"

    def words(self) -> str:
        """How such a plan explores, for people."""
        raise NotImplementedError

    def pace(self, horizon: int, batch_size: int) -> str:
        """How long rounds are, for people."""
        return f"{math.ceil(horizon / batch_size):,} of {batch_size:,} events ({horizon:,} in all)"


@dataclass(frozen=True)
class Alternative:
    """A plan that was considered: what it is, and its bound on the regret per event."""

    what: str
    bound: float
    bound_without_privacy: float


@dataclass(frozen=True)
class Plan(Printed):
    """The parameters of a run; `print` it to see what was chosen and what it should cost.

    Attributes
    ----------
    name
        "auto", "worst-case" or "paper".
    mechanism
        What releases the sums: "probe-sums", "fresh", "tree"; "local" if losses come in privatised; "none"
        without privacy.
    position
        "plain", or "rounded" for lopsided sets.
    horizon, batch_size
        T, and the events of a round (T_batch); of the first one, where rounds grow.
    options
        What is the exploration's own: radius, directions, rate, ... Each can be read off the plan, as `plan.radius`.
    step, step_multiplier
        eta; None adapts it to the released gradients, times the multiplier.
    delay
        How many sums the played point lags behind.
    method, gap, max_calls
        How the point of a round is computed, and the Frank-Wolfe gap at which it stops.
    baseline
        A constant that is subtracted from every loss; it leaves the estimate unbiased.
    bits
        Of the integer grids of losses and directions.
    noise
        The noise of one released number on the integer grid; None if none is added here.
    noise_in_loss_units
        Its scale in units of loss (for spheres: of loss times direction).
    bound, bound_without_privacy
        Predicted upper bound on the regret of the whole run, and of the same plan without noise; infinite if none is
        known.
    no_learning
        What never learning can cost at most.
    alternatives, notes
        What else was considered; what a user should know.
    reach_from_start
        R, how far the set reaches from where an epoch starts, if that is not the centre: the adaptive step needs it.
    forecast
        What rehearsals say that it will do, with its spread; None for plans that were not rehearsed (`sv.plan` does).
    """

    name: str
    mechanism: str
    position: str
    horizon: int
    batch_size: int
    step: float | None
    delay: int
    method: str
    gap: float
    max_calls: int
    baseline: float
    bits: int
    noise: Noise | None
    noise_in_loss_units: float
    no_learning: float
    options: Options
    bound: float = math.inf
    bound_without_privacy: float = math.inf
    step_multiplier: float = 1.0
    alternatives: tuple[Alternative, ...] = ()
    notes: tuple[str, ...] = ()
    reach_from_start: float | None = None
    forecast: Forecast | None = field(default=None, compare=False)  # known or not, the plan is the same

    @property
    def exploration(self) -> str:
        """The way of exploring: "posterior", "frames" (any convex loss), "designs" (linear), "sphere" (the paper's)."""
        return self.options.exploration

    def __getattr__(self, name: str) -> Any:
        """Read an option of the exploration in use off the plan itself."""
        options = self.__dict__.get("options")  # absent while a copy is being made
        known = [one.name for one in fields(options)] if options is not None else []
        if name in known:
            return getattr(options, name)
        raise AttributeError(f"a plan that explores by {options and options.exploration} has no {name!r}")

    @property
    def rounds(self) -> int:
        """N = ceil(T/k); the last round may be short. Where rounds grow there are fewer."""
        return math.ceil(self.horizon / self.batch_size)

    @property
    def vacuous(self) -> bool:
        """Whether the bound is above what never learning can cost."""
        return self.bound >= self.no_learning

    @property
    def price_of_privacy(self) -> float:
        """What privacy multiplies the regret by: as forecast, or in the bounds; NaN where there is neither."""
        if self.forecast is not None and self.forecast.price is not None:
            return self.forecast.price.central
        return self.bound / self.bound_without_privacy

    @property
    def what(self) -> str:
        """Exploration, mechanism and position in a few words."""
        position = ", rounded position" if self.position == "rounded" else ""
        return f"{self.exploration} with {self.mechanism}{position}"

    def grids(self, loss_range: tuple[float, float]) -> tuple[LossGrid, DirectionGrid]:
        """The integer grids of losses and directions.

        Parameters
        ----------
        loss_range
            As for `PrivateBandit`.
        """
        return LossGrid(*loss_range, bits=self.bits), DirectionGrid(bits=self.bits)

    def noise_deviation(self, loss_range: tuple[float, float]) -> float:
        """Standard deviation of the noise of one number, in units of loss; 0 without noise.

        Parameters
        ----------
        loss_range
            As for `PrivateBandit`.
        """
        return 0.0 if self.noise is None else self.noise.standard_deviation * self.grids(loss_range)[0].step

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain data that JSON can hold."""
        return dict(self._plain)

    @cached_property
    def _plain(self) -> dict[str, Any]:
        plain = {**asdict(self), "exploration": self.exploration}
        plain |= {name: None for name in _BOUNDS if plain[name] == math.inf}
        return {**plain, "forecast": None if self.forecast is None else self.forecast.to_dict()}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Return the plan that `to_dict` wrote down.

        Parameters
        ----------
        data
            Plain data, as for JSON.
        """
        plain = {**data, **{name: math.inf for name in _BOUNDS if data[name] is None}}
        options = Options.from_dict(plain.pop("exploration"), plain.pop("options"))
        return cls(
            **{
                **plain,
                "options": options,
                "noise": None if plain["noise"] is None else Noise(**plain["noise"]),
                "alternatives": tuple(Alternative(**other) for other in plain["alternatives"]),
                "notes": tuple(plain["notes"]),
                "forecast": None if plain["forecast"] is None else Forecast.from_dict(plain["forecast"]),
            }
        )

    @property
    def order_only(self) -> bool:
        """Whether the bound is an order of magnitude, not a guarantee: by its kind, or for want of `lipschitz`."""
        return self.options.order_only or any(note.startswith(UNKNOWN_LIPSCHITZ) for note in self.notes)

    @property
    def rows(self) -> tuple[tuple[str, str], ...]:
        """What it says: names and texts, without the alternatives."""
        return (
            ("method", self.what),
            ("rounds", self.options.pace(self.horizon, self.batch_size)),
            ("explore", self.options.words()),
            *((("step", self._stepping()),) if self.options.steps else ()),
            ("noise", self._noising()),
            *((("point", f"{self.method}, to a gap of {self.gap:.3g}"),) if self.options.steps else ()),
            ("rests on", self.options.rests_on),
            ("bound", self._costing()),
            *(("note", note) for note in self.notes),
        )

    def _parts(self) -> list[Part]:
        return [*self._expected(), (f"Plan: {self.name}", self.rows), *self._considered()]

    def _expected(self) -> list[Part]:
        if self.forecast is not None:
            return self.forecast._parts()
        if self.name not in PLANS:  # baselines are not for sv.plan
            return []
        tried = any(note.startswith(NOT_REHEARSED) for note in self.notes)
        return [("Forecast: none; the note below says why" if tried else f"Forecast: {NO_FORECAST}", ())]

    def _stepping(self) -> str:
        law = "adapted to what is released" if self.step is None else f"{self.step:.4g}"
        times = f", times {self.step_multiplier:g}" if self.step_multiplier != 1 else ""
        return f"{law}{times}, delay {self.delay}"

    def _noising(self) -> str:
        if self.noise is None:
            return "none" if self.mechanism != "local" else "added by the losses' owners"
        padded = ", padded" if getattr(self.options, "padding", False) else ""
        return f"{self.noise.family}, scale {self.noise_in_loss_units:.4g} in units of loss{padded}"

    def _costing(self) -> str:
        never = f"never learning costs at most {self.no_learning / self.horizon:.4g}"
        if self.bound == math.inf:
            return f"none; {never} per event"
        if self.vacuous:
            return f"none that says anything at this horizon; {never} per event"
        here = f"{self.bound / self.horizon:.4g} per event"
        if self.options.order_only:
            return f"none against every sequence of losses; the order of magnitude where worlds stay is {here}; {never}"
        ratio = self.bound / self.bound_without_privacy
        price = f", {ratio:.2f} times the bound without privacy" if self.noise is not None else ""
        word = "regret is of the order of" if self.order_only else "regret is at most"
        return f"{word} {here} whatever the losses{price}; {never}"

    def _considered(self) -> list[Part]:
        if not self.alternatives:
            return []
        width = max(len(other.what) for other in self.alternatives)
        rows = [
            ("", f"{other.what:<{width}}  {self.shown(other.bound):>10}  {self.shown(other.bound_without_privacy):>10}")
            for other in self.alternatives
        ]
        return [("Considered (bounds per event: in private; without privacy)", rows)]

    def shown(self, bound: float) -> str:
        """A bound per event as it is printed: one above what never learning can cost says nothing.

        Parameters
        ----------
        bound
            Per event.
        """
        never = self.no_learning / self.horizon
        return f"{bound:.4g}" if bound < never else f"over {never:.3g}"
