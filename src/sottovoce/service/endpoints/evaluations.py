"""Evaluations over HTTP: created, conducted, told, and looked at. Nothing that is told is logged or echoed."""

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Annotated, Any

from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from sottovoce.errors import HorizonReached
from sottovoce.evaluations import PrivateEvaluations
from sottovoce.evaluations.evaluation import Evaluation
from sottovoce.service.context import Context
from sottovoce.service.endpoints import models
from sottovoce.service.endpoints._parsing import guarantee_in, promised
from sottovoce.service.endpoints._route import (
    TELL_PROBLEMS,
    Endpoints,
    IdempotencyKey,
    Name,
    check_block,
    context_of,
    key_of,
)
from sottovoce.service.endpoints.studies import counted, person_of
from sottovoce.service.problem_documents import Problem
from sottovoce.service.settings import Settings
from sottovoce.service.study_workers.asking import Answer, answer_once, told_apart
from sottovoce.service.study_workers.requests import Request as Repeatable

_SHOWN = ("name", "loss_range", "guarantee", "channel", "patience", "privacy", "scale", "open")
_MOST_IDS = 10_000  # of one answer
_Number = Annotated[int, Query(ge=0, le=2**53, description="Of the evaluation.")]
evaluation_routes = Endpoints(
    "/evaluations",
    Context.look_at_evaluations,
    "evaluations ",
    ("study-not-found", "unknown-action", "study-behind", "state-refused"),
)

# ---------------------------------------------------------------------- creating, opening, assigning


def _created(settings: Settings, wish: models.CreateEvaluations) -> dict[str, Any]:
    given = wish.model_dump() | {"privacy": guarantee_in(wish.privacy), "loss_range": tuple(wish.loss_range)}
    with PrivateEvaluations(storage=settings.storage, noise=settings.noise, **given) as made:
        return {"evaluations": wish.name, "created": made.created, **promised(made.privacy)}


evaluation_routes.declare_creation(
    "evaluations; if a set of the name exists", models.CreateEvaluations, models.CreatedEvaluations, _created
)


@evaluation_routes.declared(
    "POST open", "Begin an evaluation.", models.Opened, "admin", problems=("idempotency-key-reused",)
)
async def opened(request: Request, name: Name, wish: models.Open, idempotency_key: IdempotencyKey = None) -> Response:
    """Begin an evaluation."""

    def begin(evaluations: PrivateEvaluations) -> Answer:
        one = evaluations.open(events=wish.events)
        return Answer(json.dumps({"number": one.number, "events": one.events}).encode(), undo=one.abandon)

    return await _once(request, name, idempotency_key, f"open {wish.events}", begin)


@evaluation_routes.declared(
    "POST assign",
    "Assign the next person, or `size` of them: by coins, or to the evaluation of a number.",
    models.Person | models.Assigned,
    "ask",
    problems=("horizon-reached", "idempotency-key-reused"),
)
async def assign(
    request: Request, name: Name, wish: models.Assign | None = None, idempotency_key: IdempotencyKey = None
) -> Response:
    """Assign people."""
    context, wanted = context_of(request), wish or models.Assign()
    person, size = person_of(wanted), wanted.size or (None if wanted.people is None else len(wanted.people))
    if size is not None and size > context.settings.largest_block:
        raise Problem("too-large", f"size must be at most {context.settings.largest_block}.")

    def hand_out(evaluations: PrivateEvaluations) -> Answer:
        people = _assigned(evaluations, wanted.number, size, person)
        answer, ids = people[0] if size is None else {"assigned": people}, [one["id"] for one in people]
        return Answer(json.dumps(answer).encode(), undo=lambda: evaluations.forget(ids))

    answer = await _once(request, name, idempotency_key, f"assign {size} {wanted.number}", hand_out, person)
    context.metrics.count(asked=0 if "Idempotent-Replayed" in answer.headers else size or 1)
    return answer


def _assigned(evaluations: PrivateEvaluations, number: int | None, size: int | None, person: Any) -> list[Any]:
    with suppress(HorizonReached):  # whose words repeat what was asked for
        if number is None:
            met: Any = evaluations.assign(size, person=person)
            found = [(one.evaluation.number, one.id, one.wants_loss) for one in ([met] if size is None else met)]
        else:
            found = [(number, *one) for one in evaluations.evaluation(number).take(size, person)]
        return [dict(zip(("number", "id", "wants_loss"), one, strict=True)) for one in found]
    raise Problem("horizon-reached", "There are not as many places left; open an evaluation.")


async def _once(
    request: Request,
    name: str,
    key: str | None,
    asks: str,
    make: Callable[[PrivateEvaluations], Answer],
    person: Any = None,
) -> Response:
    """Answer a request, and a repetition of it as it was answered before; what was made in vain is undone."""
    context = context_of(request)
    repeatable = None if key is None else Repeatable.of(name, key_of(request).id, key, asks)

    def answer(evaluations: PrivateEvaluations) -> Answer | Exception:
        again = told_apart(evaluations, repeatable, person)
        return answer_once(context.requests, [again], lambda _: [make(evaluations)])[0]

    found = await context.look_at_evaluations(name, answer)
    if isinstance(found, Exception):
        raise found
    headers = {"Idempotent-Replayed": "true"} if found.replayed else None
    return Response(found.body, headers=headers, media_type="application/json")


@evaluation_routes.declared(
    "POST tell",
    "Record a loss, or a block of them. One that is on record already is no failure: `already`.",
    models.Told,
    "tell",
    problems=TELL_PROBLEMS,
)
async def tell(request: Request, name: Name, told: models.Tell) -> Response:
    """Record losses; everything that is told takes the same way, whatever the loss is."""
    context, call = context_of(request), told.call
    check_block(context, call.ids)
    recorded = await context.look_at_evaluations(
        name, lambda one: one.tell(call.ids, call.losses, report=call.report, late=call.late)
    )
    return counted(context, recorded)


def _end(what: str, end: Callable[[Evaluation], None], summary: str) -> None:
    """Declare an address at which an evaluation is ended."""

    @evaluation_routes.declared(f"POST {what}", summary, models.Ended, "admin")
    async def ended(request: Request, name: Name, wish: models.Which) -> Any:
        def carry_out(evaluations: PrivateEvaluations) -> dict[str, Any] | None:
            one = evaluations.evaluation(wish.number)
            with suppress(ValueError):
                end(one)
                return {"number": wish.number, "closed": one.closed, "abandoned": one.abandoned}
            return None

        found = await context_of(request).look_at_evaluations(name, carry_out)
        if found is None:
            raise Problem("state-refused", "It was abandoned, or nobody was assigned to it: so it has no mean.")
        return found


_end("close", lambda one: one.close(), "Close an evaluation with those who were assigned so far.")
_end("abandon", lambda one: one.abandon(), "Drop an evaluation: nothing of it is ever released.")

# ---------------------------------------------------------------------- looking


def _look_at_one(what: str, summary: str, model: Any, look: Callable[[Evaluation], dict[str, Any]]) -> None:
    """Declare an address at which one evaluation is looked at."""

    @evaluation_routes.declared(f"GET {what}", summary, model, "read", problems=("not-released",))
    async def answer(request: Request, name: Name, number: _Number) -> Any:
        return await context_of(request).look_at_evaluations(name, lambda all_: look(all_.evaluation(number)))


def _standing(one: Evaluation) -> dict[str, Any]:
    waiting = one.outstanding
    counts = {"number": one.number, "events": one.events, "assigned": one.assigned, "remaining": one.remaining}
    found = {"closed": one.closed, "abandoned": one.abandoned, "outstanding": len(waiting)}
    return {**counts, **found, "ids": waiting[:_MOST_IDS].tolist()}


def _status(evaluations: PrivateEvaluations) -> dict[str, Any]:
    found = evaluations.export()
    return {name: found[name] for name in _SHOWN}


def _results(evaluations: PrivateEvaluations) -> dict[str, Any]:
    return {"results": [one.to_dict() for one in evaluations.results]}


evaluation_routes.declare_common("places")
evaluation_routes.look_at("status", "What they were created with, and which are open.", dict[str, Any], _status)
evaluation_routes.look_at("results", "All that was released, in the order in which it was.", models.Results, _results)
_look_at_one("result", "What an evaluation has released.", dict[str, Any], lambda one: one.result.to_dict())
_look_at_one("evaluation", "Where an evaluation stands, and who has no loss yet.", models.Standing, _standing)
