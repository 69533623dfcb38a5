"""Asking for many callers at once: who wants one action shares a block; a repeated request is answered as before."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sottovoce.errors import HorizonReached
from sottovoce.learning.bandit.actions import Action
from sottovoce.service.desks.answers import Layout, block_answer, single_answer
from sottovoce.service.desks.requests import Known, Request, Requests
from sottovoce.service.problem_documents import Problem
from sottovoce.studies import Study

__all__ = ["Answer", "AskOrder", "Layout", "answer_asks"]

_MOST_NUMBERS = 2_000_000  # of one answer


@dataclass(frozen=True)
class AskOrder:
    """What a caller asks for.

    Attributes
    ----------
    size
        Actions of a block; None for a single one.
    layout
        How their numbers are written.
    request
        If it may be repeated: under which key.
    """

    size: int | None = None
    layout: Layout = "dense"
    request: Request | None = None

    @property
    def asks(self) -> str:
        """What a repetition has to ask for again."""
        return asks_for(self.size, self.layout)


def asks_for(size: int | None, layout: str) -> str:
    """Return in one text what is asked for."""
    return f"{'one' if size is None else size} {layout}"


@dataclass(frozen=True)
class Answer:
    """JSON for the caller, and whether it was given before; `ids` are those that it hands out."""

    body: bytes
    replayed: bool = False
    ids: tuple[Any, ...] = ()


def answer_asks(study: Study, requests: Requests, orders: Sequence[AskOrder]) -> list[Answer | Exception]:
    """Answer orders that arrived together: each with its actions, or with the error that refuses it."""
    keyed = {order.request: order for order in orders if order.request is not None}
    known = requests.find(list(keyed)) if keyed else {}
    first = {order.request: number for number, order in reversed(list(enumerate(orders)))}
    fresh = [
        number
        for number, order in enumerate(orders)
        if order.request is None or (order.request not in known and first[order.request] == number)
    ]
    made = dict(zip(fresh, _made(study, [orders[number] for number in fresh]), strict=True))
    if keyed:
        known |= _kept(study, requests, [(orders[number], answer) for number, answer in made.items()])
    return [
        made[number] if number in made and not _beaten(order, known) else _repeated(order, known, made, first)
        for number, order in enumerate(orders)
    ]


def _beaten(order: AskOrder, known: dict[Request, Known]) -> bool:
    return order.request is not None and order.request in known


def _repeated(
    order: AskOrder, known: dict[Request, Known], made: dict[int, Answer | Exception], first: dict[Any, int]
) -> Answer | Exception:
    """Answer a request as it was answered before, or just now."""
    assert order.request is not None
    if order.request in known:
        before = known[order.request]
        return Answer(before.body, True) if before.asks == order.asks else Problem("idempotency-key-reused")
    answer = made[first[order.request]]
    return answer if isinstance(answer, Exception) else Answer(answer.body, True)


def _kept(
    study: Study, requests: Requests, answers: Sequence[tuple[AskOrder, Answer | Exception]]
) -> dict[Request, Known]:
    """Put answers on record before they are sent; close actions of requests that another process answered first."""
    mine = [
        (order.request, answer) for order, answer in answers if order.request is not None and isinstance(answer, Answer)
    ]
    beaten = requests.keep([(request, answer.body) for request, answer in mine]) if mine else {}
    for request, answer in mine:
        if request in beaten:
            study.forget(list(answer.ids))
    return beaten


def _made(study: Study, orders: Sequence[AskOrder]) -> list[Answer | Exception]:
    """Ask for actions: a block for all who want a single one, and one for each who wants a block."""
    singles = [order for order in orders if order.size is None]
    shared = iter(_singles(study, len(singles)))
    return [_answer(study, order, shared) for order in orders]


def _singles(study: Study, count: int) -> list[Action | Exception]:
    if count > 1:
        try:
            return list(study.ask(count))
        except HorizonReached:  # there may be enough for some
            pass
    return [_attempt(study) for _ in range(count)]


def _attempt(study: Study) -> Action | Exception:
    try:
        return study.ask()
    except Exception as problem:
        return problem


def _answer(study: Study, order: AskOrder, shared: Any) -> Answer | Exception:
    try:
        if order.size is None:
            action = next(shared)
            if isinstance(action, Exception):
                return action
            return Answer(single_answer(action, order.layout), ids=(action.id,))
        if order.layout == "dense" and order.size * study.domain.dimension > _MOST_NUMBERS:
            return Problem("too-large", 'Ask for fewer actions, or for their numbers as "x": "sparse" or "none".')
        actions = study.ask(order.size)
        return Answer(block_answer(actions, order.layout), ids=tuple(actions.ids.tolist()))
    except Exception as problem:
        return problem
