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
from sottovoce.service.endpoints._route import Endpoints, IdempotencyKey, Made, Name, context_of
from sottovoce.service.endpoints.studies import MOST_IDS, person_of
from sottovoce.service.problem_documents import Problem
from sottovoce.service.settings import Settings
from sottovoce.studies import Recorded, TellCall

_SHOWN = ("name", "loss_range", "guarantee", "channel", "patience", "privacy", "scale", "open")
_Number = Annotated[int, Query(ge=0, le=2**53, description="Of the evaluation.")]
evaluation_routes = Endpoints(
    "/evaluations",
    lambda context: context.evaluations,
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

    async def make() -> Made:
        one = await context_of(request).look_at_evaluations(name, lambda all_: all_.open(events=wish.events))
        return json.dumps({"number": one.number, "events": one.events}).encode(), lambda _: one.abandon()

    return await evaluation_routes.once(request, name, idempotency_key, f"open {wish.events}", make, None)


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

    async def make() -> Made:
        people = await context.look_at_evaluations(name, lambda all_: _assigned(all_, wanted.number, size, person))
        context.metrics.count(asked=len(people))
        body = json.dumps(people[0] if size is None else {"assigned": people}).encode()
        return body, lambda all_: all_.forget([one["id"] for one in people])

    asks = f"assign {size} {wanted.number}"
    return await evaluation_routes.once(request, name, idempotency_key, asks, make, person)


def _assigned(evaluations: PrivateEvaluations, number: int | None, size: int | None, person: Any) -> list[Any]:
    with suppress(HorizonReached):  # whose words repeat what was asked for
        if number is None:
            met: Any = evaluations.assign(size, person=person)
            found = [(one.evaluation.number, one.id, one.wants_loss) for one in ([met] if size is None else met)]
        else:
            found = [(number, *one) for one in evaluations.evaluation(number).take(size, person)]
        return [dict(zip(("number", "id", "wants_loss"), one, strict=True)) for one in found]
    raise Problem("horizon-reached", "There are not as many places left; open an evaluation.")


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
    return {**counts, **found, "ids": waiting[:MOST_IDS].tolist()}


def _status(evaluations: PrivateEvaluations) -> dict[str, Any]:
    found = evaluations.export()
    return {name: found[name] for name in _SHOWN}


async def _tell(context: Context, name: str, call: TellCall) -> Recorded:
    given = {"report": call.report, "late": call.late}
    return await context.look_at_evaluations(name, lambda one: one.tell(call.ids, call.losses, **given))


evaluation_routes.declare_common("places", _tell)
evaluation_routes.look_at("status", "What they were created with, and which are open.", dict[str, Any], _status)
evaluation_routes.look_at(
    "results",
    "All that was released, in the order in which it was.",
    models.Results,
    lambda all_: {"results": [one.to_dict() for one in all_.results]},
)
_look_at_one("result", "What an evaluation has released.", dict[str, Any], lambda one: one.result.to_dict())
_look_at_one("evaluation", "Where an evaluation stands, and who has no loss yet.", models.Standing, _standing)
