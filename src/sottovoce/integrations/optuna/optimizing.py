"""private_optimize: Optuna's loop, with a private evaluation for each trial's value."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import optuna
from optuna.trial import FixedTrial, FrozenTrial, TrialState, create_trial

from sottovoce._checks import choice, whole
from sottovoce.evaluations import Evaluation
from sottovoce.integrations.optuna.outcome import CONFIRMS, Estimate, PrivateOutcome, estimates
from sottovoce.integrations.optuna.serving import Audience, shown_of
from sottovoce.integrations.splitting import events_per_trial as split
from sottovoce.privacy import Promise
from sottovoce.stats import ReleasedMean

_FINAL = 2  # events of a finalist, in trials' worth


def private_optimize(
    study: optuna.Study,
    serve: Callable[..., Any],
    evaluations: Any,
    *,
    suggest: Callable[[optuna.Trial], Any],
    events_per_trial: int | None = None,
    trials: int | None = None,
    events: int | None = None,
    block: int | None = None,
    finalists: int = 0,
    callbacks: Iterable[Callable[[optuna.Study, FrozenTrial], None]] | None = None,
    show_progress_bar: bool = False,
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
        How many people meet each trial.
    trials
        How many trials. With `events_per_trial` this is the budget; with `events` it shares them out evenly.
    events
        How many people at most, over all trials and finalists: the run stops where they would be exceeded. Alone, it is
        split by `sv.integrations.events_per_trial`.
    suggest
        Chooses the parameters, `suggest(trial)`, before anybody is served; `serve` then takes what it returns (the
        trial's `params` if that is nothing). It may prune. A parameter that `serve` suggested could depend on the first
        person's loss, and would be stored without noise.
    block
        Serve up to so many people by one call: `serve(shown, size)` returns an array or a list of `size` losses, each
        of one person only.
    finalists
        How many of the best trials are evaluated again at the end, by twice as many other people, in turns. The one to
        take is chosen among them, and its value was not picked for being lucky.
    callbacks
        Called after each trial as `callback(study, trial)`, with what was released. `study.stop()` works.
    show_progress_bar
        As Optuna's.
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
    _check(study, serve, evaluations, suggest)
    earlier = _earlier(study, evaluations, accept_prior)
    again = whole("finalists", finalists, least=0)
    count, per_trial = _budget(evaluations, events_per_trial, trials, events, again)
    audience = Audience(serve, None if block is None else whole("block", block), evaluations.channel is not None)
    run = _Run(study, evaluations, suggest, audience, per_trial)
    try:
        study.optimize(run.objective, n_trials=count, callbacks=callbacks, show_progress_bar=show_progress_bar)
    except Exception:
        if run.failure is None:
            raise
    if run.failure is not None:
        raise run.failure  # the caller's own, with nothing of ours around it
    confirmed = run.confirm(estimates(study)[:again])
    found = sorted(estimates(study), key=lambda one: one.number not in confirmed)
    return PrivateOutcome(tuple(found), run.completed, run.served, per_trial, evaluations.privacy, earlier)


class _Failed(Exception):
    """Stands in for an error of the caller's, which could say something of a person, where Optuna logs errors."""


class _Run:
    """One call: trials in Optuna's own loop, then finalists."""

    def __init__(
        self,
        study: optuna.Study,
        evaluations: Any,
        suggest: Callable[[Any], Any],
        audience: Audience,
        per_trial: int,
    ) -> None:
        self._study, self._evaluations, self._suggest = study, evaluations, suggest
        self._audience, self._per_trial = audience, per_trial
        self.completed = self.served = 0
        self.failure: BaseException | None = None

    def objective(self, trial: optuna.Trial) -> float:
        """Return the mean of what the people of a trial lost."""
        try:
            shown = shown_of(trial, self._suggest)
            (result,) = self._released([shown], self._per_trial)
            self.completed += 1
            _note(trial, result, self._evaluations)
            return result.mean
        except optuna.TrialPruned:  # by `suggest`
            raise
        except BaseException as error:  # Ctrl-C too
            self.failure = error
        raise _Failed("an error ended the run; what people of this trial lost is erased, and was not released")

    def _released(self, shown: Sequence[Any], events: int) -> list[ReleasedMean]:
        """Return the mean of so many people for each of what they are shown; or of none, should anything break off."""
        opened: list[Evaluation] = []
        try:
            for _ in shown:
                opened += [self._evaluations.open(events=events)]  # in one line: nothing is open that is not abandoned
            self._audience.meet(shown, opened)
        except BaseException:
            for one in opened:
                one.abandon()
            raise
        self.served += len(shown) * events
        return [one.result for one in opened]

    def confirm(self, best: Sequence[Estimate]) -> set[int]:
        """Evaluate the best again, before other people; add what is released as trials; return their numbers."""
        shown = [shown_of(FixedTrial(one.params, number=one.number), self._suggest) for one in best]
        results = self._released(shown, _FINAL * self._per_trial)
        trials = {trial.number: trial for trial in self._study.get_trials(deepcopy=False)}
        for one, result in zip(best, results, strict=True):
            first, words = trials[one.number], {**attributes(result, self._evaluations), CONFIRMS: one.number}
            again = create_trial(
                params=first.params, distributions=first.distributions, value=result.mean, user_attrs=words
            )
            self._study.add_trial(again)
        return {one.number for one in best}


# ---------------------------------------------------------------------- what is passed


def _check(study: Any, serve: Any, evaluations: Any, suggest: Any) -> None:
    if not isinstance(study, optuna.Study):
        raise TypeError(f"study must be a study of Optuna's, such as optuna.create_study(), got {type(study).__name__}")
    if len(study.directions) > 1:
        raise ValueError(
            f"study has {len(study.directions)} objectives: a trial has one private value. Put them into one loss"
        )
    if not callable(serve):
        raise TypeError(f"serve must be a function that serves a person, serve(trial), got {type(serve).__name__}")
    if not all(hasattr(evaluations, name) for name in ("open", "loss_range", "privacy")):
        raise TypeError(
            "evaluations must be sv.PrivateEvaluations(loss_range=..., privacy=...), got " + type(evaluations).__name__
        )
    if not callable(suggest):
        raise TypeError(
            "suggest must be a function that chooses the parameters of a trial before anybody is served, and serve "
            "takes what it returns: a parameter that serve suggested could depend on the first person's loss, and "
            "Optuna stores it without noise"
        )


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


def _budget(
    evaluations: Any, events_per_trial: int | None, trials: int | None, events: int | None, finalists: int
) -> tuple[int, int]:
    """Return how many trials of how many events: two of the numbers give the third, the total alone a rule's choice."""
    per_trial = None if events_per_trial is None else whole("events_per_trial", events_per_trial)
    most = None if trials is None else whole("trials", trials)
    if events is None:
        if most is None or per_trial is None:
            raise TypeError("pass events_per_trial= and trials=, or events=, the number of events for all of them")
        return most, per_trial
    total, extra = whole("events", events), _FINAL * finalists  # what finalists take, in trials' worth
    if per_trial is None and most is not None:
        per_trial = total // (most + extra)
    elif per_trial is None:
        per_trial = split(total, loss_range=evaluations.loss_range, privacy=evaluations.privacy.guarantee)
    affordable = total // per_trial - extra if per_trial else 0
    if affordable < 1:
        raise ValueError(
            f"events={total} are not enough for one trial and {finalists} finalists: raise events, or lower "
            "events_per_trial, trials or finalists"
        )
    return affordable if most is None else min(most, affordable), per_trial


# ---------------------------------------------------------------------- what is told


def attributes(result: ReleasedMean, evaluations: Any) -> dict[str, Any]:
    """Return what a trial says of its value: public, all of it, and shown by Optuna's dashboard."""
    return {
        "private_events": result.events,
        "private_standard_error": result.standard_error,
        "private_noise": result.noise_error,
        "private_interval": [*result.interval(0.95)],
        "private_guarantee": evaluations.privacy.headline,
    }


def _note(trial: optuna.Trial, result: ReleasedMean, evaluations: Any) -> None:
    for name, value in attributes(result, evaluations).items():
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
