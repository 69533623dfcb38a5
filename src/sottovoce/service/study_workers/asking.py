"""Asking for many callers at once: where segments or people are named, those who want one action share a block."""

import hashlib
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from sottovoce.errors import HorizonReached, UnknownSegment
from sottovoce.learning.actions import Action
from sottovoce.service.problem_documents import Problem
from sottovoce.service.study_workers.answers import Layout, block_answer, single_answer
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
    """JSON for the caller, and the `ids` that it hands out."""

    body: bytes
    ids: list[Any]


def answer_asks(study: Study, orders: Sequence[AskOrder]) -> list[Answer | Exception]:
    """Answer orders that arrived together.

    Who wants one action takes what is leased already; where streams or people differ, one lease is for all who do. In
    place of an answer there is the error that refuses it.
    """
    shared = iter(_singles(study, [(order.whom, order.person) for order in orders if order.size is None]))
    return [_answer(study, order, shared) for order in orders]


def _singles(study: Study, orders: list[tuple[Any, Any]]) -> list[Action | Exception]:
    if len(orders) > 1 and any(order != (None, None) for order in orders):
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
            return Answer(single_answer(action, order.layout, by_item), [action.id])
        most = _MOST_NUMBERS // study.domain.dimension if order.layout == "dense" else order.size
        if order.round:
            actions = study.ask_round(max(1, min(order.size, most)), segment=order.whom, person=order.person)
        elif order.size > most:
            return Problem("too-large", 'Ask for fewer actions, or for their numbers as "x": "sparse" or "none".')
        else:
            actions = study.ask(order.size, segment=order.whom, person=order.person)
        return Answer(block_answer(actions, order.layout, by_item), actions.ids.tolist())
    except Exception as problem:
        return problem
