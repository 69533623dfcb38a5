"""Asking for many callers at once: who wants one action shares a block; a repeated request is answered as before."""

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from sottovoce.errors import HorizonReached, SottovoceError, UnknownSegment
from sottovoce.evaluations import PrivateEvaluations
from sottovoce.learning.actions import Action
from sottovoce.service.problem_documents import Problem
from sottovoce.service.study_workers.answers import Layout, block_answer, single_answer
from sottovoce.service.study_workers.requests import Request, Requests
from sottovoce.studies import Study

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
    segment, segments
        Whom all of it is for; or, of a block, one for each action. None where there are no segments.
    round
        Whether no more than the rest of the current round is wanted.
    person
        Who it is; or, of a block, a list with one for each action. None where people are not counted. It goes no
        further than to the study.
    """

    size: int | None = None
    layout: Layout = "dense"
    request: Request | None = None
    segment: Any = None
    segments: Any = None
    round: bool = False
    person: Any = field(default=None, repr=False)

    @property
    def asks(self) -> str:
        """What a repetition has to ask for again."""
        asked = f"{'one' if self.size is None else self.size} {self.layout}{' of a round' if self.round else ''}"
        if self.whom is None:
            return asked
        whom = json.dumps([self.segment, self.segments], sort_keys=True).encode()
        return f"{asked} for {hashlib.sha256(whom).hexdigest()}"

    @property
    def whom(self) -> Any:
        """The segment, or the list of segments, as a study takes them."""
        if self.segments is not None:
            return list(self.segments)
        return tuple(self.segment) if isinstance(self.segment, list) else self.segment


@dataclass(frozen=True)
class Answer:
    """JSON for the caller, whether it was given before, the `ids` that it hands out, and what takes them back."""

    body: bytes
    replayed: bool = False
    ids: tuple[Any, ...] = ()
    undo: Callable[[], Any] = field(default=tuple, compare=False)


def answer_asks(study: Study, requests: Requests, orders: Sequence[AskOrder]) -> list[Answer | Exception]:
    """Answer orders that arrived together: each with its actions, or with the error that refuses it."""
    wanted = [told_apart(study, order.request, order.person) for order in orders]
    return answer_once(requests, wanted, lambda fresh: _made(study, [orders[place] for place in fresh]))


def answer_once(
    requests: Requests, wanted: Sequence[Request | None], make: Callable[[list[int]], list[Answer | Exception]]
) -> list[Answer | Exception]:
    """Answer requests that arrived together, a repeated one as before; None stands for one that is not repeated.

    Parameters
    ----------
    requests
        The record of them: an answer is on record before it is sent.
    wanted
        The requests.
    make
        Answers those at some places. What it made in vain is undone: another process has answered first.
    """
    keyed = [one for one in wanted if one is not None]
    known = requests.find(keyed) if keyed else {}
    first = {one: place for place, one in reversed(list(enumerate(wanted)))}
    fresh = [place for place, one in enumerate(wanted) if one is None or (one not in known and first[one] == place)]
    made = dict(zip(fresh, make(fresh) if fresh else (), strict=True))
    mine = {wanted[place]: answer for place, answer in made.items() if isinstance(answer, Answer)}
    answers = [(one, answer.body) for one, answer in mine.items() if one is not None]
    beaten = requests.keep(answers) if answers else {}
    for one in beaten:
        mine[one].undo()
    known |= beaten

    def outcome(place: int, one: Request | None) -> Answer | Exception:
        if one in known:
            return Answer(known[one].body, True) if known[one].asks == one.asks else Problem("idempotency-key-reused")
        if place in made:
            return made[place]
        answer = made[first[one]]
        return Answer(answer.body, True) if isinstance(answer, Answer) else answer

    return [outcome(place, one) for place, one in enumerate(wanted)]


def told_apart(kept: Study | PrivateEvaluations, request: Request | None, person: Any) -> Request | None:
    """Return a request whose repetition has to be for the same people.

    Its answer holds ids, which nothing that is kept links to people.
    """
    if request is None or person is None:
        return request
    try:
        whom = hashlib.sha256(request.salt + kept.keyed_hash(person).encode())
        return request._replace(asks=f"{request.asks} of {whom.hexdigest()}")
    except SottovoceError:  # asking says it, to whom it concerns
        return request


def _made(study: Study, orders: Sequence[AskOrder]) -> list[Answer | Exception]:
    """Ask for actions: a block for all who want a single one, and one for each who wants a block."""
    shared = iter(_singles(study, [(order.whom, order.person) for order in orders if order.size is None]))
    return [_answer(study, order, shared) for order in orders]


def _singles(study: Study, orders: list[tuple[Any, Any]]) -> list[Action | Exception]:
    if len(orders) > 1:
        whom, people = (
            None if all(one is None for one in given) else list(given) for given in zip(*orders, strict=True)
        )
        # There may be enough for some; others may name theirs, or should not have.
        with suppress(HorizonReached, UnknownSegment, TypeError, ValueError):
            return list(study.ask(len(orders), segment=whom, person=people))
    return [_attempt(study, *order) for order in orders]


def _attempt(study: Study, segment: Any, person: Any) -> Action | Exception:
    try:
        return study.ask(segment=segment, person=person)
    except Exception as problem:
        return problem


def _answer(study: Study, order: AskOrder, shared: Any) -> Answer | Exception:
    by_item = study.plan.exploration == "items"
    try:
        if order.size is None:
            action = next(shared)
            if isinstance(action, Exception):
                return action
            return _handed_out(study, single_answer(action, order.layout, by_item), [action.id])
        most = _MOST_NUMBERS // study.domain.dimension if order.layout == "dense" else order.size
        if order.round:
            actions = study.ask_round(max(1, min(order.size, most)), segment=order.whom, person=order.person)
        elif order.size > most:
            return Problem("too-large", 'Ask for fewer actions, or for their numbers as "x": "sparse" or "none".')
        else:
            actions = study.ask(order.size, segment=order.whom, person=order.person)
        return _handed_out(study, block_answer(actions, order.layout, by_item), actions.ids.tolist())
    except Exception as problem:
        return problem


def _handed_out(study: Study, body: bytes, ids: list[Any]) -> Answer:
    return Answer(body, ids=tuple(ids), undo=lambda: study.forget(ids))
