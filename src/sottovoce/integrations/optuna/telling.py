"""Telling a study what was released of a trial, with what it is worth."""

from typing import Any

import optuna
from optuna.trial import FrozenTrial

from sottovoce.evaluations import Evaluation
from sottovoce.stats import ReleasedMean


def attributes(result: ReleasedMean, guarantee: str) -> dict[str, Any]:
    """Return what a trial says of its value: public, all of it, and shown by Optuna's dashboard."""
    return {
        "private_events": result.events,
        "private_standard_error": result.standard_error,
        "private_noise": result.noise_error,
        "private_interval": [*result.interval(0.95)],
        "private_guarantee": guarantee,
    }


def tell(study: optuna.Study, trial: optuna.Trial, evaluation: Evaluation, evaluations: Any) -> FrozenTrial:
    """Tell a study the mean that an evaluation has released, for loops of your own; return the finished trial.

    The trial gets the user attributes that `private_optimize` gives: how many events, standard error, noise of privacy,
    interval, and the guarantee in words. An evaluation that is not closed is an error, and nothing changes.

    Parameters
    ----------
    study
        The study.
    trial
        What `study.ask()` returned.
    evaluation
        Of the people who met its parameters.
    evaluations
        That it is one of.

    Examples
    --------
    >>> import optuna
    >>> import sottovoce as sv
    >>> study = optuna.create_study()
    >>> evaluations = sv.PrivateEvaluations((0.0, 1.0), sv.PureDP(epsilon=1.0))
    >>> trial, evaluation = study.ask(), evaluations.open(events=100)
    >>> price = trial.suggest_float("price", 1.0, 5.0)
    >>> evaluation.tell([0.25, 0.75] * 50)
    >>> told = sv.integrations.optuna.tell(study, trial, evaluation, evaluations)
    >>> told.value == evaluation.mean, told.user_attrs["private_guarantee"]
    (True, 'epsilon = 1, pure differential privacy')
    """
    result = evaluation.result
    for name, value in attributes(result, evaluations.privacy.headline).items():
        optuna.Trial.set_user_attr(trial, name, value)  # also where others may not
    return study.tell(trial, result.mean)
