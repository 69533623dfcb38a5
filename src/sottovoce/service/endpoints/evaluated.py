"""What evaluations are told over HTTP, and what they show of themselves: counts and released values, never a loss.

Everything that is told takes the same way, whatever the loss is. Nothing of it is logged, echoed or compared.
"""

import json
from collections.abc import Callable
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from sottovoce.evaluations import PrivateEvaluations
from sottovoce.evaluations.evaluation import Evaluation
from sottovoce.service.context import Context
from sottovoce.service.endpoints._documented import NAME, documented, parameter
from sottovoce.service.endpoints._reading import let_in, read_body, study_of
from sottovoce.service.endpoints.telling import COUNTS, FORGET, TELL, Forget, check_block, counted, shapes
from sottovoce.service.problem_documents import Problem

__all__ = ["WRONG", "evaluated_routes", "json_response"]

WRONG = ("study-not-found", "unknown-action", "study-behind", "state-refused", "malformed")
_NUMBER = parameter("number", "query", {"type": "integer", "minimum": 0}, "Of the evaluation.")
_OBJECT = {"type": "object"}
_SHOWN = ("name", "loss_range", "guarantee", "channel", "patience", "privacy", "scale", "open")
_MOST_IDS = 10_000  # of one answer


def evaluated_routes(context: Context) -> APIRouter:
    """Return the routes by which evaluations are told losses, and looked at."""
    router = APIRouter()
    _tell(router, context)
    _look(router, context)
    return router


# ---------------------------------------------------------------------- telling


def _tell(router: APIRouter, context: Context) -> None:
    refusals = (*WRONG, "round-closed", "invalid-loss", "wrong-report")
    telling = documented(
        "Record a loss, or a block of them. One that is on record already is no failure: `already`.",
        reads={"application/json": {"oneOf": shapes()}},
        answers=COUNTS,
        problems=refusals,
        parameters=(NAME,),
    )
    forgetting = documented(
        "Close places whose loss will never come: each counts as the middle of the range.",
        reads={"application/json": Forget.model_json_schema()},
        answers={"type": "object", "required": ["closed"], "properties": {"closed": {"type": "integer"}}},
        problems=refusals,
        parameters=(NAME,),
    )

    @router.post("/evaluations/{name:path}/tell", name="evaluations tell", **telling)
    async def tell(request: Request) -> Response:
        name = study_of(request)
        await let_in(context, request, "tell", name)
        call = (await read_body(request, TELL)).call
        check_block(context, call.ids)
        told = await context.evaluations.use(
            name, lambda one: one.tell(call.ids, call.losses, report=call.report, late=call.late)
        )
        context.metrics.count_told(told.recorded, told.already, told.dropped)
        return counted(told)

    @router.post("/evaluations/{name:path}/forget", name="evaluations forget", **forgetting)
    async def forget(request: Request) -> Response:
        name = study_of(request)
        await let_in(context, request, "tell", name)
        wanted = await read_body(request, FORGET)
        check_block(context, wanted.ids)
        closed = await context.evaluations.use(name, lambda one: one.forget(wanted.ids))
        context.metrics.count_events("forgotten", closed)
        return json_response({"closed": closed})


# ---------------------------------------------------------------------- looking


def _look(router: APIRouter, context: Context) -> None:
    looks: dict[str, tuple[str, tuple[str, ...], Callable[[PrivateEvaluations], Any]]] = {
        "status": ("Where evaluations stand: what they were created with, and which are open.", ("read",), _status),
        "results": ("All that was released, in the order in which it was.", ("read",), _results),
        "channel": ("The channel by which owners privatise their losses.", ("ask", "tell", "read"), _channel),
    }
    for what, (words, roles, look) in looks.items():
        _add_look(router, context, what, words, roles, look)
    _look_at_one(router, context, "result", "What an evaluation has released.", lambda one: one.result.to_dict())
    _look_at_one(router, context, "evaluation", "Where an evaluation stands, and who has no loss yet.", _stands)


def _look_at_one(
    router: APIRouter, context: Context, what: str, words: str, look: Callable[[Evaluation], dict[str, Any]]
) -> None:
    about = documented(words, answers=_OBJECT, problems=(*WRONG, "not-released"), parameters=(NAME, _NUMBER))

    @router.get("/evaluations/{name:path}/" + what, name=f"evaluations {what}", **about)
    async def answer(request: Request) -> Response:
        name = study_of(request)
        await context.gate(request, "read", name)
        number = _number(request.query_params.get("number", ""))
        found = await context.evaluations.use(name, lambda evaluations: look(evaluations.evaluation(number)))
        return json_response(found)


def _stands(one: Evaluation) -> dict[str, Any]:
    waiting = one.outstanding
    counts = {"number": one.number, "events": one.events, "assigned": one.assigned, "remaining": one.remaining}
    found = {"closed": one.closed, "abandoned": one.abandoned, "outstanding": len(waiting)}
    return {**counts, **found, "ids": waiting[:_MOST_IDS].tolist()}


def _add_look(
    router: APIRouter,
    context: Context,
    what: str,
    words: str,
    roles: tuple[str, ...],
    look: Callable[[PrivateEvaluations], Any],
) -> None:
    about = documented(words, answers=_OBJECT, problems=(*WRONG, "no-channel"), parameters=(NAME,))

    @router.get("/evaluations/{name:path}/" + what, name=f"evaluations {what}", **about)
    async def answer(request: Request) -> Response:
        name = study_of(request)
        await context.gate(request, roles, name)
        return json_response(await context.evaluations.use(name, look))


def _status(evaluations: PrivateEvaluations) -> dict[str, Any]:
    found = evaluations.export()
    return {name: found[name] for name in _SHOWN}


def _results(evaluations: PrivateEvaluations) -> dict[str, Any]:
    return {"results": [one.to_dict() for one in evaluations.results]}


def _channel(evaluations: PrivateEvaluations) -> dict[str, Any]:
    if evaluations.channel is None:
        raise Problem("no-channel")
    found: dict[str, Any] = evaluations.channel.to_dict()
    return found


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise Problem("malformed", "number must be that of an evaluation: a whole number.")
    return int(text)


def json_response(found: Any, status: int = 200) -> Response:
    """Answer plain data."""
    return Response(json.dumps(found, allow_nan=False).encode(), status, media_type="application/json")
