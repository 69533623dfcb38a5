"""A trial while people meet it: from the parameters to the mean that Optuna is told, or to none."""

from collections.abc import Callable
from typing import Any

import optuna
from optuna.trial import BaseTrial, FrozenTrial, Trial, TrialState

from sottovoce.errors import RefusedCall
from sottovoce.integrations.optuna._feedback import Audience
from sottovoce.integrations.optuna.telling import tell

LOGGER = optuna.logging.get_logger("optuna.sottovoce")  # obeys optuna.logging.set_verbosity


def shown_of(trial: BaseTrial, suggest: Callable[[Any], Any]) -> Any:
    """Return what `serve` is called with: what `suggest` makes of a trial, which takes nothing from then on."""
    shown = suggest(trial)
    seal(trial)
    return trial.params if shown is None else shown


class RunningTrial:
    """One trial, with the people who meet it.

    Parameters
    ----------
    study
        The study.
    evaluations
        What evaluations are opened with.
    """

    def __init__(self, study: optuna.Study, evaluations: Any) -> None:
        self._study, self._evaluations = study, evaluations
        self._trial: optuna.Trial | None = None
        self._pruned = False
        self.audience: Audience | None = None

    def begin(self, suggest: Callable[[Any], Any], events: int) -> None:
        """Ask for a trial, choose its parameters, and open an evaluation, unless `suggest` prunes."""
        self._trial = self._study.ask()
        try:
            shown = shown_of(self._trial, suggest)
        except optuna.TrialPruned:
            self._pruned = True
            return
        self.audience = Audience(shown)
        self.audience.open(self._evaluations, events)

    def finish(self) -> FrozenTrial:
        """Tell Optuna what was released, or that the trial was pruned."""
        assert self._trial is not None
        if self.audience is None:
            told = self._study.tell(self._trial, state=TrialState.PRUNED)
            LOGGER.info(f"Trial {told.number} pruned, before anybody was served")
        else:
            told = tell(self._study, self._trial, self.audience.evaluation, self._evaluations)
            LOGGER.info(f"Trial {told.number}: {self.audience.evaluation.result}, parameters {told.params}")
        return told

    def give_up(self) -> None:
        """Leave the study in order after an error: what was released is told, all else has failed, and is erased."""
        if self._trial is None:
            return
        number = self._trial.number
        try:
            if self._is_finished(number):
                return
            if self._pruned or (self.audience is not None and self.audience.released):
                self.finish()
                return
            if self.audience is not None:
                self.audience.abandon()
            self._study.tell(self._trial, state=TrialState.FAIL)
            LOGGER.warning(f"Trial {number} failed; what its people lost is erased, and was not released")
        except Exception as error:  # the first error is the one to be seen
            LOGGER.warning(f"Trial {number} could not be ended in the study: {type(error).__name__}")

    def _is_finished(self, number: int) -> bool:
        return any(one.number == number and one.state.is_finished() for one in self._study.get_trials(deepcopy=False))


# ----------------------------------------------------------------------
# The trial that `serve` gets to see takes nothing that a person may have decided.
#
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
