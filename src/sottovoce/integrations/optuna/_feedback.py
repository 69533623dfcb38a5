"""People and what they lose, on the way from `serve` to their evaluation."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import optuna

from sottovoce._losses import as_array
from sottovoce.errors import InvalidLoss, RefusedCall
from sottovoce.evaluations import Evaluation


class Feedback:
    """How people are served, and what becomes of what they lose.

    Parameters
    ----------
    serve
        The caller's function.
    block
        How many people it serves at once at most; None for one, without an array.
    catch
        Errors of `serve` that count as the worst loss.
    worst
        The end of the range that is not wished for.
    local
        Whether what `serve` returns are reports.
    """

    def __init__(
        self,
        serve: Callable[..., Any],
        block: int | None,
        catch: tuple[type[Exception], ...],
        worst: float,
        local: bool,
    ) -> None:
        self._serve, self._block, self._catch, self._worst, self._local = serve, block, catch, worst, local

    def take(self, evaluation: Evaluation, shown: Any) -> None:
        """Serve the next people of an evaluation, and tell it what they lost."""
        if self._block is not None:
            size = min(self._block, evaluation.remaining)
            _tell_block(evaluation, evaluation.assign(size), _unpruned(self._serve, shown, size), self._local)
        else:
            _tell_one(evaluation, self._one(shown), self._local)

    def _one(self, shown: Any) -> Any:
        try:
            return _unpruned(self._serve, shown)
        except RefusedCall:  # ours: whatever is caught, this is not
            raise
        except self._catch:
            return self._worst


def _unpruned(serve: Callable[..., Any], *arguments: Any) -> Any:
    """Call `serve`; what it says when it prunes is dropped, and so is not in the context of our error."""
    try:
        return serve(*arguments)
    except optuna.TrialPruned:
        pass
    raise RefusedCall(
        "serve raised TrialPruned: whether a trial goes on must not depend on losses that are not released. Parameters "
        "that make no sense can be pruned in suggest=, before anybody is served"
    )


def _tell_one(evaluation: Evaluation, loss: Any, local: bool) -> None:
    if loss is None:
        evaluation.forget(evaluation.assign())
        return
    told = as_array(loss)
    if told.ndim:  # or a person would have as many places as they please
        raise InvalidLoss(
            "serve returned several numbers for one person, and none was recorded: return one, or pass block= and "
            "return as many as were asked for"
        )
    if local:
        evaluation.tell(report=told)
    else:
        evaluation.tell(told)


def _tell_block(evaluation: Evaluation, ids: Any, losses: Any, local: bool) -> None:
    missing = [place for place, loss in enumerate(losses) if loss is None] if isinstance(losses, list | tuple) else []
    if missing and len(losses) == len(ids):
        evaluation.forget(ids[missing])
        losses, ids = [loss for loss in losses if loss is not None], np.delete(ids, missing)
    if local:
        evaluation.tell(report=losses, ids=ids, late="drop")
    else:
        evaluation.tell(losses, ids=ids, late="drop")


class Audience:
    """The people who meet one set of parameters.

    Parameters
    ----------
    shown
        What `serve` is called with.
    """

    def __init__(self, shown: Any) -> None:
        self._shown = shown
        self._evaluation: Evaluation | None = None

    def open(self, evaluations: Any, events: int) -> None:
        """Begin; in one line, so that nothing is open that nobody could abandon."""
        self._evaluation = evaluations.open(events=events)

    @property
    def evaluation(self) -> Evaluation:
        """Of what they lose."""
        assert self._evaluation is not None
        return self._evaluation

    @property
    def released(self) -> bool:
        """Whether there is a mean."""
        return self._evaluation is not None and self._evaluation.closed

    def abandon(self) -> None:
        """Erase what they lost, unless a mean is released."""
        if self._evaluation is not None:
            self._evaluation.abandon()

    def take(self, feedback: Feedback) -> int:
        """Serve the next people; return how many."""
        before = self.evaluation.assigned
        feedback.take(self.evaluation, self._shown)
        return self.evaluation.assigned - before


def in_turns(audiences: Sequence[Audience], feedback: Feedback, coins: np.random.Generator, bar: Any) -> None:
    """Serve people until all have been, some of each audience at a time, in an order that public coins decide."""
    waiting = [one for one in audiences if one.evaluation.remaining]
    while waiting:
        for index in coins.permutation(len(waiting)):
            bar.update(waiting[index].take(feedback))
        waiting = [one for one in waiting if one.evaluation.remaining]
