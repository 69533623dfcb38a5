"""The best trials once more, before other people: means that nothing was picked by."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import optuna
from optuna.trial import FixedTrial, create_trial

from sottovoce.integrations.optuna._feedback import Audience, Feedback, in_turns
from sottovoce.integrations.optuna._running import LOGGER, shown_of
from sottovoce.integrations.optuna._showing import Display
from sottovoce.integrations.optuna.outcome import CONFIRMS, Estimate
from sottovoce.integrations.optuna.telling import attributes

__all__ = ["confirm"]


def confirm(
    study: optuna.Study,
    best: Sequence[Estimate],
    evaluations: Any,
    suggest: Callable[[Any], Any] | None,
    events: int,
    feedback: Feedback,
    coins: np.random.Generator,
    display: Display,
) -> None:
    """Evaluate trials again, all at once, and add what is released to the study, each as a trial of its own."""
    audiences: list[Audience] = []
    try:
        for one in best:
            shown = shown_of(FixedTrial(one.params, number=one.number), suggest)
            audiences.append(Audience(shown))
            audiences[-1].open(evaluations, events)
        in_turns(audiences, feedback, coins, display)
    except BaseException:  # Ctrl-C too
        for audience in audiences:
            audience.abandon()
        raise
    for one, audience in zip(best, audiences, strict=True):
        result = audience.evaluation.result
        first = next(trial for trial in study.get_trials(deepcopy=False) if trial.number == one.number)
        words = {**attributes(result, evaluations.privacy.headline), CONFIRMS: one.number}
        study.add_trial(
            create_trial(params=first.params, distributions=first.distributions, value=result.mean, user_attrs=words)
        )
        LOGGER.info(f"Trial {one.number} confirmed: {result}")
