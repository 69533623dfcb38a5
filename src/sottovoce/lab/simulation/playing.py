"""The score of an optimizer that plays in an environment."""

import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sottovoce._arrays import Floats, Integers, Vector
from sottovoce._checks import whole
from sottovoce._threads import single_threaded
from sottovoce.domains.naming import in_words
from sottovoce.domains.oracles import calls_of_this_thread
from sottovoce.lab.simulation.environment import Environment
from sottovoce.lab.simulation.run import Run, RunDetails
from sottovoce.lab.simulation.segmented import SegmentedEnvironment
from sottovoce.playing import play

Progress = Callable[[int, int, int], None]
"""Called with events done, events in all, rounds released."""

_PAUSE = 0.05  # seconds between two calls of `progress`: often enough for an eye, too seldom to cost anything


class _Score(NamedTuple):
    """Replaced as a whole, by one assignment: an interruption finds either the old one or the new one."""

    events: int
    loss: float
    rounds: int
    by_segment: Floats  # losses, of an environment that has segments


def simulate(
    optimizer: Any,
    environment: Environment,
    *,
    events: int | None = None,
    progress: Progress | None = None,
    record: int = 2000,
) -> Run:
    """Play `optimizer` against `environment` and return the regret curve.

    In an environment with segments regret is against the best decision of each segment, and an optimizer with segments
    is told whom each action is for; one without plays one decision for all.

    A keyboard interrupt ends the simulation, not the program: the run of what was finished is returned.

    Parameters
    ----------
    optimizer : PrivateBandit or alike
        With `domain`, `remaining`, `round`, `ask_round` and `tell`, and what a `Run` says of it.
    environment : Environment
        On the same domain.
    events : int, optional
        How many to simulate; by default all that the optimizer has left.
    progress : callable, optional
        Called now and then with events done, events in all, rounds released.
    record : int
        Checkpoints to keep, at most.

    Returns
    -------
    Run
        `finished` is False if it was interrupted.

    Examples
    --------
    >>> import sottovoce as sv
    >>> environment = sv.lab.NoisyLinear(sv.domains.Simplex(4))
    >>> optimizer = sv.PrivateBandit(
    ...     environment.domain, horizon=1_000, loss_range=environment.loss_range, privacy=sv.NoPrivacy(), seed=1
    ... )
    >>> run = sv.lab.simulate(optimizer, environment)
    >>> run.events_finished, bool(abs(run.no_learning[-1]) > 0)
    (1000, True)
    """
    _check(optimizer, environment)
    total = _events_to_play(optimizer, events)
    marks = _marks(total, whole("record", record, least=2))
    started, calls = time.perf_counter(), calls_of_this_thread()
    with single_threaded():
        scores = _play(optimizer, environment, total, marks, progress)
    seconds, calls = time.perf_counter() - started, calls_of_this_thread() - calls
    return _run(optimizer, environment, scores, total, seconds, calls)


def _check(optimizer: Any, environment: Any) -> None:
    """Refuse what cannot be played before anything is: the message says what to call instead."""
    if not hasattr(optimizer, "ask_round") or not isinstance(environment, Environment):
        raise TypeError(
            "call simulate(optimizer, environment), with an optimizer that has ask_round and tell, and an Environment "
            f"(of a problem, problem.environment); got {type(optimizer).__name__} and {type(environment).__name__}"
        )
    if getattr(optimizer, "direction", "minimize") == "maximize":
        raise ValueError("environments have losses, and the optimizer takes rewards: leave out direction='maximize'")
    if environment.domain.dimension != optimizer.domain.dimension:
        raise ValueError(
            f"optimizer and environment must share a domain, got {optimizer.domain!r} and {environment.domain!r}"
        )


def _events_to_play(optimizer: Any, events: int | None) -> int:
    remaining: int | None = optimizer.remaining
    if events is None and remaining is None:
        raise ValueError("events must be given, because the optimizer has no horizon")
    return whole("events", remaining if events is None else events, most=remaining)


def _marks(total: int, most: int) -> Integers:
    """Return where to keep the score: evenly spaced, and on a logarithmic scale so that the start is seen too."""
    even = np.linspace(total / (most - most // 4), total, most - most // 4)
    early = np.geomspace(1, total, most // 4)
    return np.unique(np.ceil(np.concatenate([even, early])).astype(np.int64).clip(1, total))


def _play(
    optimizer: Any,
    environment: Environment,
    total: int,
    marks: Integers,
    progress: Progress | None,
) -> list[_Score]:
    """Keep the score of the loop at marks."""
    ahead = iter(marks.tolist())
    segments = 0 if environment.segments is None else len(environment.segments.names)
    score, scores, mark, tick = _Score(0, 0.0, 0, np.zeros(segments)), [], next(ahead), 0.0
    try:
        for _, losses in play(optimizer, environment, total):
            score = _scored(score, losses, optimizer, environment)
            if score.events >= mark:
                scores.append(score)
                mark = next((later for later in ahead if later > score.events), math.inf)
            if progress is not None and (time.perf_counter() > tick or score.events == total):
                progress(score.events, total, score.rounds)
                tick = time.perf_counter() + _PAUSE
    except KeyboardInterrupt:
        pass
    if score.events and (not scores or scores[-1].events < score.events):
        scores.append(score)
    return scores


def _scored(score: _Score, losses: Vector, optimizer: Any, environment: Environment) -> _Score:
    events, lost, _, by_segment = score
    if isinstance(environment, SegmentedEnvironment):
        places = environment.places(events, len(losses))
        by_segment = by_segment + np.bincount(places, losses, minlength=len(by_segment))
    return _Score(events + len(losses), lost + float(losses.sum()), optimizer.round, by_segment)


def decision_of(optimizer: Any) -> Vector | None:
    """Return the last decision of an optimizer; of one with segments, that for all of them.

    Parameters
    ----------
    optimizer
        `PrivateBandit` or alike.
    """
    if getattr(optimizer, "segments", None) is not None:
        return np.asarray(optimizer.recommend().x, dtype=np.float64)
    return getattr(optimizer, "point", None)


def _run(optimizer: Any, environment: Environment, scores: list[_Score], total: int, seconds: float, calls: int) -> Run:
    events = np.array([score.events for score in scores], dtype=np.int64)
    best = environment.best(events) if scores else np.zeros(0)
    privacy, fit_check = optimizer.privacy, getattr(optimizer, "fit_check", lambda: None)()
    point = decision_of(optimizer)
    named = point is not None and optimizer.domain.labels is not None
    segments = None
    if isinstance(environment, SegmentedEnvironment) and scores:
        segments = environment.scores(int(events[-1]), scores[-1].by_segment)
    return Run(
        events=events,
        rounds=np.array([score.rounds for score in scores], dtype=np.int64),
        simulation_only_loss=np.array([score.loss for score in scores]),
        simulation_only_best_loss=best,
        simulation_only_center_loss=environment.cumulative_loss(environment.domain.middle, events),
        details=RunDetails(
            domain=repr(environment.domain),
            environment=repr(environment),
            privacy_headline=str(privacy.headline),
            simulated_noise=bool(privacy.simulated),
            seed=getattr(optimizer, "seed", None),
            rounds=int(optimizer.round),
            oracle_calls=calls,
            seconds=seconds,
            horizon=total,
            certificate=environment.certificate(int(events[-1])) if scores else 0.0,
            guarantee=getattr(privacy, "guarantee", None),
            plan_rows=tuple(getattr(optimizer.plan, "rows", ())),
            privacy_rows=tuple(getattr(privacy, "rows", ())),
            caution="" if fit_check is None else fit_check.caution,
            decision=in_words(optimizer.domain.chosen(point)) if named else "",
        ),
        segments=segments,
        point=np.zeros(0) if point is None else np.array(point, dtype=np.float64),
    )
