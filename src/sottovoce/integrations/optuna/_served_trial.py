"""The trial that `serve` gets to see: it suggests parameters, and takes nothing back that a person may have decided.

Whatever is written into a trial is stored, logged and shown to samplers without noise. So a name that is suggested must
not depend on who is served, intermediate values would be losses in the open, and attributes could be anything. Where
noise is real, parameters are chosen in `suggest`, and the trial is sealed before anybody is served: whoever comes to
hold it can ask for what it has, and add nothing. In rehearsals without `suggest`, names are fixed once the first person
was served.
"""

import datetime
from collections.abc import Callable, Sequence
from typing import Any

from optuna.distributions import BaseDistribution
from optuna.trial import BaseTrial, Trial

from sottovoce.errors import RefusedCall

__all__ = ["ServedTrial", "seal"]

_PRUNING = (
    "pruning is refused in serve: an intermediate value is a loss without noise, and whether a trial is pruned would "
    "tell of it. Few events per trial do what pruning does: see sv.integrations.events_per_trial"
)


_ATTRIBUTES = (
    "serve cannot set attributes of a trial: they are stored as they are, without noise. Set them in suggest=, where "
    "nobody is served, or in a callback, from what was released"
)


def _again(method: Callable[..., Any]) -> Callable[..., Any]:
    def suggest(self: Trial, name: str, *given: Any, **options: Any) -> Any:
        if name not in self.params:
            raise RefusedCall(
                f"parameter {name!r} was suggested while people are served: the parameters of a trial are fixed before "
                "its first loss, or what is stored of them would tell of somebody. Suggest all of them in suggest="
            )
        return method(self, name, *given, **options)

    return suggest


def _refused(words: str) -> Callable[..., Any]:
    def refuse(self: Trial, *given: Any, **options: Any) -> Any:
        raise RefusedCall(words)

    return refuse


_Sealed: Any = type(  # a trial of Optuna's whose parameters and attributes are what they are
    "_Sealed",
    (Trial,),
    {
        **{name: _again(getattr(Trial, name)) for name in dir(Trial) if name.startswith("suggest_")},
        **dict.fromkeys(("report", "should_prune"), _refused(_PRUNING)),
        **dict.fromkeys(("set_user_attr", "set_system_attr", "set_constraint"), _refused(_ATTRIBUTES)),
    },
)


def seal(trial: Any) -> None:
    """Let a trial take nothing from here on, whoever holds it; one that is not stored can take what it likes."""
    if type(trial) is Trial:
        trial.__class__ = _Sealed


class ServedTrial:
    """A trial of Optuna's as far as people may see it.

    Parameters
    ----------
    trial
        The trial itself.
    """

    def __init__(self, trial: BaseTrial) -> None:
        self._trial = trial
        self._known: dict[str, tuple[Any, Any]] = {}  # how it was asked for, and what it is: asked of storage once
        self._fixed = False

    def fix(self) -> None:
        """Take no new names from here on."""
        self._fixed = True

    # ------------------------------------------------------------------ suggesting

    def suggest_float(
        self, name: str, low: float, high: float, *, step: float | None = None, log: bool = False
    ) -> float:
        """Return a real number in [low, high]: as `optuna.Trial.suggest_float` does."""
        return float(self._suggest("suggest_float", name, low, high, step=step, log=log))

    def suggest_int(self, name: str, low: int, high: int, *, step: int = 1, log: bool = False) -> int:
        """Return a whole number in [low, high]: as `optuna.Trial.suggest_int` does."""
        return int(self._suggest("suggest_int", name, low, high, step=step, log=log))

    def suggest_categorical(self, name: str, choices: Sequence[Any]) -> Any:
        """Return one of the choices: as `optuna.Trial.suggest_categorical` does."""
        return self._suggest("suggest_categorical", name, tuple(choices))

    def suggest_uniform(self, name: str, low: float, high: float) -> float:
        """Return a real number: Optuna's old name for it."""
        return self.suggest_float(name, low, high)

    def suggest_loguniform(self, name: str, low: float, high: float) -> float:
        """Return a real number, on a logarithmic scale: Optuna's old name for it."""
        return self.suggest_float(name, low, high, log=True)

    def suggest_discrete_uniform(self, name: str, low: float, high: float, q: float) -> float:
        """Return a multiple of q: Optuna's old name for it."""
        return self.suggest_float(name, low, high, step=q)

    def _suggest(self, method: str, name: str, *arguments: Any, **options: Any) -> Any:
        asked = (method, arguments, tuple(options.items()))
        if name in self._known:
            before, value = self._known[name]
            if before != asked:
                raise RefusedCall(
                    f"parameter {name!r} was suggested twice in one trial, in two ways: parameters must be the same "
                    "for all people of a trial, or what is stored of them would tell of somebody"
                )
            return value
        if self._fixed and name not in self._trial.params:
            raise RefusedCall(
                f"parameter {name!r} was suggested after people had been served without it: which parameters a trial "
                "has must not depend on who is served. Suggest them all for everybody, or pass suggest=, a function of "
                "the trial alone, and let serve take what it returns"
            )
        value = getattr(self._trial, method)(name, *arguments, **options)
        self._known[name] = (asked, value)
        return value

    # ------------------------------------------------------------------ refused

    def report(self, value: float, step: int) -> None:
        """Refuse an intermediate value."""
        raise RefusedCall(_PRUNING)

    def should_prune(self) -> bool:
        """Refuse pruning."""
        raise RefusedCall(_PRUNING)

    def set_user_attr(self, key: str, value: Any) -> None:
        """Refuse an attribute: it would be stored without noise."""
        raise RefusedCall(_ATTRIBUTES)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"serve sees of a trial what it suggests, its params, distributions, number and user_attrs, and no {name!r}"
        )

    # ------------------------------------------------------------------ looking

    @property
    def params(self) -> dict[str, Any]:
        """The parameters that were suggested."""
        return self._trial.params

    @property
    def distributions(self) -> dict[str, BaseDistribution]:
        """Where they were suggested from."""
        return self._trial.distributions

    @property
    def user_attrs(self) -> dict[str, Any]:
        """Attributes that were set before people were served."""
        return self._trial.user_attrs

    @property
    def datetime_start(self) -> datetime.datetime | None:
        """When the trial began."""
        return self._trial.datetime_start

    @property
    def number(self) -> int:
        """The trial's number in its study."""
        return self._trial.number

    def __repr__(self) -> str:
        return f"ServedTrial({self.number}, params={self.params})"
