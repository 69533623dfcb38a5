"""People on the way from `serve` to their evaluation; and the trial, which takes nothing that one of them decided."""

from collections.abc import Callable
from typing import Any

import numpy as np
import optuna
from optuna.trial import Trial

from sottovoce._losses import as_array
from sottovoce.errors import InvalidLoss, RefusedCall
from sottovoce.evaluations import Evaluation

_PRUNED = (
    "serve raised TrialPruned: whether a trial goes on must not depend on losses that are not released. Parameters "
    "that make no sense can be pruned in suggest=, before anybody is served"
)


def meet(serve: Callable[[Any], Any], shown: Any, evaluation: Evaluation, *, local: bool) -> None:
    """Serve people, one after the other, until an evaluation is full, and tell it what they lost.

    Parameters
    ----------
    serve
        The caller's function.
    shown
        What it is called with.
    evaluation
        Of these people.
    local
        Whether what `serve` returns are reports.
    """
    while evaluation.remaining:
        (person,) = evaluation.assign(1)
        told = _unpruned(serve, shown)
        if told is None:
            evaluation.forget(person)
        elif np.ndim(as_array(told)):  # or a person would have as many places as they please
            raise InvalidLoss("serve returned several numbers for one person; return one")
        else:
            evaluation.tell(**{"report" if local else "losses": told}, ids=person, late="drop")


def _unpruned(serve: Callable[[Any], Any], shown: Any) -> Any:
    """Call `serve`; what it says when it prunes is dropped, and so is not in the context of our error."""
    try:
        return serve(shown)
    except optuna.TrialPruned:
        pass
    raise RefusedCall(_PRUNED)


# ----------------------------------------------------------------------
# Whatever is written into a trial is stored, logged and shown to samplers without noise. So a name that is suggested
# must not depend on who is served, intermediate values would be losses in the open, and attributes could be anything.
# Parameters are chosen in `suggest`, and the trial is sealed before anybody is served: whoever comes to hold it can
# ask for what it has, and add nothing.


_PRUNING = (
    "pruning is refused in serve: an intermediate value is a loss without noise, and whether a trial is pruned would "
    "tell of it. Few events per trial do what pruning does: see sv.integrations.events_per_trial"
)
_ATTRIBUTES = (
    "serve cannot set attributes of a trial: they are stored as they are, without noise. Set them in suggest=, where "
    "nobody is served, or in a callback, from what was released"
)


def shown_of(trial: Trial, suggest: Callable[[Any], Any]) -> Any:
    """Return what `serve` is called with: what `suggest` makes of a trial, which takes nothing from then on."""
    shown = suggest(trial)
    trial.__class__ = _Sealed
    return trial.params if shown is None else shown


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
