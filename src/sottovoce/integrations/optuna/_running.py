"""A trial while people meet it: from the parameters to the mean that Optuna is told, or to none."""

from collections.abc import Callable
from typing import Any

import optuna
from optuna.trial import BaseTrial, FrozenTrial, TrialState

from sottovoce.integrations.optuna._feedback import Audience
from sottovoce.integrations.optuna._served_trial import ServedTrial, seal
from sottovoce.integrations.optuna.telling import tell

__all__ = ["LOGGER", "RunningTrial", "shown_of"]

LOGGER = optuna.logging.get_logger("optuna.sottovoce")  # obeys optuna.logging.set_verbosity


def shown_of(trial: BaseTrial, suggest: Callable[[Any], Any] | None) -> Any:
    """Return what `serve` is called with: a trial that suggests, or what `suggest` makes of it."""
    if suggest is None:
        return ServedTrial(trial)
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

    def begin(self, suggest: Callable[[Any], Any] | None, events: int) -> None:
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
