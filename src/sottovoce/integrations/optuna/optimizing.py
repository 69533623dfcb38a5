"""private_optimize: Optuna's loop, with a private evaluation for each trial's value."""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import optuna
from optuna.trial import FrozenTrial, TrialState

from sottovoce._checks import choice, whole
from sottovoce.evaluations import Evaluation
from sottovoce.integrations.optuna.outcome import PrivateOutcome, estimates
from sottovoce.integrations.optuna.serving import meet, shown_of
from sottovoce.privacy import Promise
from sottovoce.stats import ReleasedMean


def private_optimize(
    study: optuna.Study,
    serve: Callable[[Any], Any],
    evaluations: Any,
    *,
    suggest: Callable[[optuna.Trial], Any],
    events_per_trial: int,
    trials: int,
    callbacks: Iterable[Callable[[optuna.Study, FrozenTrial], None]] | None = None,
    accept_prior: str | None = None,
) -> PrivateOutcome:
    """Optimise an Optuna study by people's losses, each of which stays private.

    For every trial so many people are served, and the study is told the one number that is released of what they lost.
    What the sampler does with it, the next parameters above all, is post-processing: every sampler will do. The trial's
    user attributes `private_events`, `private_standard_error`, `private_noise`, `private_interval` and
    `private_guarantee` say what its value is worth.

    An error in `serve` ends the run as one in an objective does: the trial is marked as failed, what its people lost is
    erased and never released, and the error is the caller's again. So does Ctrl-C. That there was an error is then seen
    in the study: where errors depend on people, catch them in `serve`, and return the worst loss.

    Parameters
    ----------
    study
        The study: any sampler, any storage, minimised or maximised, with one objective.
    serve
        Serves one person with what `suggest` returned, and returns what they lost. None where nothing was heard, which
        counts as the middle of the range. If the study maximises, it is what they gained.
    evaluations
        `sv.PrivateEvaluations`: the range of a loss, the guarantee, the ledger.
    events_per_trial
        How many people meet each trial; `sv.integrations.events_per_trial` knows a good number.
    trials
        How many trials.
    suggest
        Chooses the parameters, `suggest(trial)`, before anybody is served; `serve` then takes what it returns (the
        trial's `params` if that is nothing). It may prune. A parameter that `serve` suggested could depend on the first
        person's loss, and would be stored without noise.
    callbacks
        Called after each trial as `callback(study, trial)`, with what was released. `study.stop()` works.
    accept_prior
        "not private" goes on with a study that has trials whose values protect nobody: without noise, with simulated
        noise, or of unknown origin. It is refused otherwise where noise is real, since samplers choose by them.

    Examples
    --------
    >>> import optuna
    >>> import sottovoce as sv
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> evaluations = sv.PrivateEvaluations((0.0, 1.0), sv.PureDP(epsilon=1.0), noise=sv.SimulatedNoise(1))
    >>> study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
    >>> def suggest(trial):
    ...     return trial.suggest_float("price", 0.0, 1.0)
    >>> def serve(price):
    ...     return (price - 0.3) ** 2
    >>> outcome = sv.integrations.optuna.private_optimize(
    ...     study, serve, evaluations, suggest=suggest, events_per_trial=200, trials=10
    ... )
    >>> print(outcome)  # doctest: +ELLIPSIS
    10 trials of 200 events, 2,000 people served
    Take trial ..., expected 0.0... (released ...)
      price = 0.3...
    Privacy: epsilon = 1, pure differential privacy (SIMULATED NOISE: NOT PRIVATE)
    """
    if len(study.directions) > 1:
        raise ValueError(
            f"study has {len(study.directions)} objectives: a trial has one private value. Put them into one loss"
        )
    earlier = _earlier(study, evaluations, accept_prior)
    per_trial = whole("events_per_trial", events_per_trial)
    run = _Run(serve, evaluations, suggest, per_trial)
    try:
        study.optimize(run.objective, n_trials=whole("trials", trials), callbacks=callbacks)
    except Exception:
        if run.failure is None:
            raise
    if run.failure is not None:
        raise run.failure  # the caller's own, with nothing of ours around it
    served = run.completed * per_trial
    return PrivateOutcome(estimates(study), run.completed, served, per_trial, evaluations.privacy, earlier)


class _Failed(Exception):
    """Stands in for an error of the caller's, which could say something of a person, where Optuna logs errors."""


class _Run:
    """The trials of one call, in Optuna's own loop."""

    def __init__(
        self, serve: Callable[[Any], Any], evaluations: Any, suggest: Callable[[Any], Any], per_trial: int
    ) -> None:
        self._serve, self._evaluations, self._suggest, self._per_trial = serve, evaluations, suggest, per_trial
        self.completed = 0
        self.failure: BaseException | None = None

    def objective(self, trial: optuna.Trial) -> float:
        """Return the mean of what the people of a trial lost."""
        try:
            result = self._released(shown_of(trial, self._suggest))
            self.completed += 1
            _note(trial, result, self._evaluations)
            return result.mean
        except optuna.TrialPruned:  # by `suggest`
            raise
        except BaseException as error:  # Ctrl-C too
            self.failure = error
        raise _Failed("an error ended the run; what people of this trial lost is erased, and was not released")

    def _released(self, shown: Any) -> ReleasedMean:
        """Return the mean of so many people; or none, should anything break off."""
        opened: list[Evaluation] = []
        try:
            opened += [self._evaluations.open(events=self._per_trial)]  # in one line: what is open is abandoned
            meet(self._serve, shown, opened[0], local=self._evaluations.channel is not None)
        except BaseException:
            for one in opened:
                one.abandon()
            raise
        return opened[0].result


def _earlier(study: optuna.Study, evaluations: Any, accept: str | None) -> tuple[tuple[str, int], ...]:
    """Return what was promised to people of trials that the study has already, and how many trials these are."""
    if accept is not None:
        choice("accept_prior", accept, ("not private",))
    found = Counter(
        str(one.user_attrs.get("private_guarantee", Promise(None).headline))
        for one in study.get_trials(deepcopy=False)
        if one.state is TrialState.COMPLETE or (one.state is TrialState.PRUNED and one.intermediate_values)
    )
    bare = sum(count for words, count in found.items() if "NOT PRIVATE" in words)
    if bare and evaluations.privacy.private and accept is None:
        raise ValueError(
            f"study has {bare} trials with values that protect nobody, and the sampler would choose by them: take a "
            "study of its own. If it may be so, say accept_prior='not private': the outcome will say it, too"
        )
    return tuple(found.items())


# ---------------------------------------------------------------------- what is told


def _note(trial: optuna.Trial, result: ReleasedMean, evaluations: Any) -> None:
    """Say in a trial what its value is worth: public, all of it, and shown by Optuna's dashboard."""
    for name, value in {
        "private_events": result.events,
        "private_standard_error": result.standard_error,
        "private_noise": result.noise_error,
        "private_interval": [*result.interval(0.95)],
        "private_guarantee": evaluations.privacy.headline,
    }.items():
        optuna.Trial.set_user_attr(trial, name, value)  # also where others may not


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
    _note(trial, result, evaluations)
    return study.tell(trial, result.mean)
