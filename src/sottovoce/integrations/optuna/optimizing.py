"""private_optimize: Optuna's loop, with a private evaluation for each trial's value."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import optuna
from optuna.study import StudyDirection
from optuna.trial import FixedTrial, FrozenTrial, TrialState, create_trial
from tqdm.auto import tqdm  # type: ignore[import-untyped]  # as Optuna has it

from sottovoce._checks import choice, whole
from sottovoce.integrations.optuna._budget import Budget, budget_for
from sottovoce.integrations.optuna._feedback import Audience, Feedback, in_turns
from sottovoce.integrations.optuna._running import LOGGER, RunningTrial, shown_of
from sottovoce.integrations.optuna._stopping import Loop
from sottovoce.integrations.optuna.outcome import CONFIRMS, Estimate, PrivateOutcome, estimates
from sottovoce.integrations.optuna.telling import attributes
from sottovoce.privacy import Promise

_Callback = Callable[[optuna.Study, FrozenTrial], None]


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
    at_once: int = 1,
    finalists: int = 0,
    events_per_finalist: int | None = None,
    catch: Iterable[type[Exception]] | type[Exception] = (),
    callbacks: Iterable[Callable[[optuna.Study, FrozenTrial], None]] | None = None,
    show_progress_bar: bool = False,
    seed: int | None = None,
    accept_prior: str | None = None,
) -> PrivateOutcome:
    """Optimise an Optuna study by people's losses, each of which stays private.

    For every trial so many people are served, and the study is told the one number that is released of what they lost.
    What the sampler does with it, the next parameters above all, is post-processing: every sampler will do. The trial's
    user attributes `private_events`, `private_standard_error`, `private_noise`, `private_interval` and
    `private_guarantee` say what its value is worth.

    An error in `serve` ends the run as one in an objective does: open trials are marked as failed, what their people
    lost is erased and never released, and the error is the caller's again. So does Ctrl-C. That there was an error is
    then seen in the study; see `catch`.

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
    at_once
        How many trials are open together, people being dealt to them in turns by public coins, so that the time of day
        does not pose as quality.
    finalists
        How many of the best trials are evaluated again at the end, by other people, together. The one to take is chosen
        among them, and its value was not picked for being lucky.
    events_per_finalist
        How many people meet each of them; twice `events_per_trial` by default.
    catch
        Errors of `serve` that count as the worst loss of that person, without ending anything. Not with `block`, where
        one person's error would cost the losses of others, nor under `LocalDP`.
    callbacks
        Called after each trial as `callback(study, trial)`, with what was released. `study.stop()` works.
    show_progress_bar
        Show one. Each trial is logged in any case, by Optuna's logger.
    seed
        Seeds the public coins by which people are dealt to trials.
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
    kinds = catch if isinstance(catch, tuple) else tuple(catch) if isinstance(catch, Iterable) else (catch,)
    feedback = _feedback(study, serve, evaluations, block, kinds)
    budget = budget_for(
        evaluations,
        events_per_trial=events_per_trial,
        trials=trials,
        events=events,
        finalists=finalists,
        events_per_finalist=events_per_finalist,
    )
    run = _Run(study, evaluations, suggest, feedback, budget, np.random.default_rng(seed))
    shown = {"total": budget.events, "desc": "people served", "disable": not show_progress_bar}
    with tqdm(**shown) as bar, Loop(study) as loop:
        run.search(whole("at_once", at_once), [*(callbacks or ())], loop, bar)
        confirmed = run.confirm(bar)
    found = sorted(estimates(study), key=lambda one: one.number not in confirmed)
    return PrivateOutcome(tuple(found), run.completed, run.served, budget.per_trial, evaluations.privacy, earlier)


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


def _feedback(
    study: optuna.Study, serve: Any, evaluations: Any, block: int | None, catch: tuple[type[Exception], ...]
) -> Feedback:
    local = evaluations.channel is not None
    if not all(isinstance(kind, type) and issubclass(kind, Exception) for kind in catch):
        raise TypeError(f"catch must be kinds of exceptions, such as (TimeoutError,), got {catch!r}")
    if catch and block is not None:
        raise ValueError(
            "catch= cannot be combined with block=: an error of one person would cost the losses of the whole block, "
            "and more than one loss must not depend on one person. Catch errors in serve, person by person"
        )
    if catch and local:
        raise ValueError("catch= is not for LocalDP: the worst loss of a person would need a report of theirs")
    low, high = evaluations.loss_range
    worst = low if study.direction is StudyDirection.MAXIMIZE else high
    return Feedback(serve, None if block is None else whole("block", block), catch, worst, local)


class _Run:
    """One call: trials in batches, then finalists."""

    def __init__(
        self,
        study: optuna.Study,
        evaluations: Any,
        suggest: Callable[[optuna.Trial], Any],
        feedback: Feedback,
        budget: Budget,
        coins: np.random.Generator,
    ) -> None:
        self._study, self._evaluations, self._suggest = study, evaluations, suggest
        self._feedback, self._budget, self._coins = feedback, budget, coins
        self.completed = self.served = 0

    def search(
        self,
        at_once: int,
        callbacks: Sequence[_Callback],
        loop: Loop,
        bar: Any,
    ) -> None:
        """Run all trials, as many at once as is wished."""
        left = self._budget.trials
        while left and not loop.stopped:
            batch = min(at_once, left)
            left -= batch
            self._batch(batch, callbacks, bar)

    def _batch(self, size: int, callbacks: Sequence[_Callback], bar: Any) -> None:
        running: list[RunningTrial] = []
        try:
            for _ in range(size):
                running.append(RunningTrial(self._study, self._evaluations))
                running[-1].begin(self._suggest, self._budget.per_trial)
            audiences = [one.audience for one in running if one.audience is not None]
            in_turns(audiences, self._feedback, self._coins, bar)
            for one in running:
                self._end(one, callbacks)
        except BaseException:  # Ctrl-C too
            for one in running:
                one.give_up()
            raise

    def _end(self, one: RunningTrial, callbacks: Sequence[_Callback]) -> None:
        told = one.finish()
        if one.audience is not None:
            self.completed += 1
            self.served += one.audience.evaluation.assigned
        for callback in callbacks:
            callback(self._study, told)

    def confirm(self, bar: Any) -> tuple[int, ...]:
        """Evaluate the best once more; return their numbers."""
        best = estimates(self._study)[: self._budget.finalists]
        events = self._budget.per_finalist
        confirm(self._study, best, self._evaluations, self._suggest, events, self._feedback, self._coins, bar)
        self.served += len(best) * events
        return tuple(one.number for one in best)


# ----------------------------------------------------------------------
# The best trials once more, before other people: means that nothing was picked by.


def confirm(
    study: optuna.Study,
    best: Sequence[Estimate],
    evaluations: Any,
    suggest: Callable[[Any], Any],
    events: int,
    feedback: Feedback,
    coins: np.random.Generator,
    bar: Any,
) -> None:
    """Evaluate trials again, all at once, and add what is released to the study, each as a trial of its own."""
    audiences: list[Audience] = []
    try:
        for one in best:
            shown = shown_of(FixedTrial(one.params, number=one.number), suggest)
            audiences.append(Audience(shown))
            audiences[-1].open(evaluations, events)
        in_turns(audiences, feedback, coins, bar)
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
