"""POST /evaluations, and how evaluations are conducted: open, assign, close and abandon."""

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from typing import Annotated, Any, Literal

from fastapi import APIRouter
from pydantic import Field, TypeAdapter
from starlette.requests import Request
from starlette.responses import Response

from sottovoce.errors import HorizonReached
from sottovoce.evaluations import PrivateEvaluations
from sottovoce.service.context import Context
from sottovoce.service.desks.requests import Request as Repeatable
from sottovoce.service.endpoints._documented import NAME, documented
from sottovoce.service.endpoints._reading import Body, let_in, read_body, study_of
from sottovoce.service.endpoints.asking import HEADER, KEY, repeatable
from sottovoce.service.endpoints.creating import Privacy, flat, guarantee_in, unsaid
from sottovoce.service.endpoints.evaluated import WRONG, json_response
from sottovoce.service.problem_documents import Problem, problem_for
from sottovoce.service.settings import Settings

__all__ = ["evaluating_routes"]

_MOST = 2**53


class CreateEvaluations(Body):
    """What `PrivateEvaluations` takes to create evaluations."""

    name: str
    privacy: Privacy
    loss_range: Annotated[list[float], Field(min_length=2, max_length=2, default_factory=lambda: [0.0, 1.0])]
    channel: Literal["one-bit", "laplace"] = "one-bit"
    patience: int | Literal["auto"] | None = "auto"
    variance: bool = False
    seed: Annotated[int, Field(ge=0, lt=2**63)] | None = None


class Open(Body):
    """An evaluation to begin: how many people will meet its parameters."""

    events: Annotated[int, Field(ge=1, le=_MOST)]


class Assign(Body):
    """Who is to be assigned: one person, or `size` of them; by coins, or all to the evaluation of a number."""

    size: Annotated[int, Field(ge=1)] | None = None
    number: Annotated[int, Field(ge=0, le=_MOST)] | None = None


class Which(Body):
    """An evaluation, by its number."""

    number: Annotated[int, Field(ge=0, le=_MOST)]


_CREATE: TypeAdapter[CreateEvaluations] = TypeAdapter(CreateEvaluations)
_OPEN: TypeAdapter[Open] = TypeAdapter(Open)
_ASSIGN: TypeAdapter[Assign] = TypeAdapter(Assign)
_WHICH: TypeAdapter[Which] = TypeAdapter(Which)
_OBJECT = {"type": "object"}


def evaluating_routes(context: Context) -> APIRouter:
    """Return the routes by which evaluations are created and conducted."""
    router = APIRouter()
    _create(router, context)
    _open(router, context)
    _assign(router, context)
    _end(router, context, "close", lambda one: one.close(), "Close an evaluation with those who were assigned so far.")
    _end(router, context, "abandon", lambda one: one.abandon(), "Drop an evaluation: nothing of it is ever released.")
    return router


# ---------------------------------------------------------------------- creating, opening, assigning


def _create(router: APIRouter, context: Context) -> None:
    about = documented(
        "Create evaluations; if they exist and were created alike, nothing changes, and the status is 200.",
        reads={"application/json": flat(CreateEvaluations.model_json_schema())},
        answers={"type": "object", "required": ["evaluations", "created", "privacy"]},
        status=201,
        problems=("configuration-mismatch", "state-refused", "malformed"),
    )
    about["openapi_extra"]["responses"]["200"] = about["openapi_extra"]["responses"]["201"]

    @router.post("/evaluations", name="evaluations create", **about)
    async def create(request: Request) -> Response:
        await let_in(context, request, "admin")
        wish = await read_body(request, _CREATE)
        try:
            found = await asyncio.to_thread(_created, context.settings, wish)
        except (ValueError, TypeError) as error:
            refused = unsaid(problem_for(error, words=True), [wish.name], CreateEvaluations)
        else:
            return json_response(found, 201 if found["created"] else 200)
        raise refused  # outside of `except`: without the error as its context


def _created(settings: Settings, wish: CreateEvaluations) -> dict[str, Any]:
    with PrivateEvaluations(
        storage=settings.storage,
        name=wish.name,
        loss_range=(wish.loss_range[0], wish.loss_range[1]),
        privacy=guarantee_in(wish.privacy),
        channel=wish.channel,
        patience=wish.patience,
        variance=wish.variance,
        seed=wish.seed,
        noise=settings.noise,
    ) as made:
        return {"evaluations": wish.name, "created": made.created, "privacy": str(made.privacy.headline)}


def _open(router: APIRouter, context: Context) -> None:
    about = documented(
        "Begin an evaluation.",
        reads={"application/json": Open.model_json_schema()},
        answers={"type": "object", "required": ["number", "events"]},
        problems=(*WRONG, "idempotency-key-reused"),
        parameters=(NAME, HEADER),
    )

    @router.post("/evaluations/{name:path}/open", name="evaluations open", **about)
    async def opened(request: Request) -> Response:
        name = study_of(request)
        client = await let_in(context, request, "admin", name)
        wish = await read_body(request, _OPEN)

        def begin(evaluations: PrivateEvaluations) -> tuple[dict[str, Any], Callable[[], Any]]:
            one = evaluations.open(events=wish.events)
            return {"number": one.number, "events": one.events}, one.abandon

        return await _once(context, request, name, client, f"open {wish.events}", begin)


def _assign(router: APIRouter, context: Context) -> None:
    about = documented(
        "Assign the next person, or `size` of them: by coins, or to the evaluation of a number.",
        reads={"application/json": Assign.model_json_schema()},
        needed=False,
        answers=_OBJECT,
        problems=(*WRONG, "horizon-reached", "idempotency-key-reused"),
        parameters=(NAME, HEADER),
    )

    @router.post("/evaluations/{name:path}/assign", name="evaluations assign", **about)
    async def assign(request: Request) -> Response:
        name = study_of(request)
        client = await let_in(context, request, "ask", name)
        wish = await read_body(request, _ASSIGN, Assign())
        if wish.size is not None and wish.size > context.settings.largest_block:
            raise Problem("too-large", f"size must be at most {context.settings.largest_block}.")

        def hand_out(evaluations: PrivateEvaluations) -> tuple[dict[str, Any], Callable[[], Any]]:
            people = _assigned(evaluations, wish)
            answer = people[0] if wish.size is None else {"assigned": people}
            return answer, lambda: evaluations.forget([one["id"] for one in people])

        answer = await _once(context, request, name, client, f"assign {wish.size} {wish.number}", hand_out)
        context.metrics.count_events("asked", 0 if "Idempotent-Replayed" in answer.headers else wish.size or 1)
        return answer


def _assigned(evaluations: PrivateEvaluations, wish: Assign) -> list[dict[str, Any]]:
    count = wish.size or 1
    with suppress(HorizonReached):  # whose words repeat what was asked for
        if wish.number is None:
            return [{"number": met.number, "id": person} for met, person in evaluations.assign(size=count)]
        ids = evaluations.evaluation(wish.number).assign(size=count)
        return [{"number": wish.number, "id": str(one)} for one in ids]
    raise Problem("horizon-reached", "There are not as many places left; open an evaluation.")


async def _once(
    context: Context,
    request: Request,
    name: str,
    client: Any,
    asks: str,
    make: Callable[[PrivateEvaluations], tuple[dict[str, Any], Callable[[], Any]]],
) -> Response:
    """Answer a request, and a repetition of it as it was answered before; what was made in vain is undone."""
    key = request.headers.get(KEY)
    again = None if key is None else repeatable(name, client, key, asks)

    def answer(evaluations: PrivateEvaluations) -> tuple[bytes, bool]:
        known = {} if again is None else context.requests.find([again])
        if again is None or again not in known:
            made, undo = make(evaluations)
            body = json.dumps(made).encode()
            if again is None:
                return body, False
            known = context.requests.keep([(again, body)])  # on record before it is sent
            if again not in known:
                return body, False
            undo()  # another was quicker
        return _same(again, known[again].asks, known[again].body), True

    body, replayed = await context.evaluations.use(name, answer)
    headers = {"Idempotent-Replayed": "true"} if replayed else None
    return Response(body, headers=headers, media_type="application/json")


def _same(again: Repeatable, asks: str, body: bytes) -> bytes:
    if again.asks != asks:
        raise Problem("idempotency-key-reused")
    return body


# ---------------------------------------------------------------------- ending


def _end(router: APIRouter, context: Context, what: str, end: Callable[[Any], None], words: str) -> None:
    about = documented(
        words,
        reads={"application/json": Which.model_json_schema()},
        answers=_OBJECT,
        problems=WRONG,
        parameters=(NAME,),
    )

    @router.post("/evaluations/{name:path}/" + what, name=f"evaluations {what}", **about)
    async def ended(request: Request) -> Response:
        name = study_of(request)
        await let_in(context, request, "admin", name)
        wish = await read_body(request, _WHICH)

        def carry_out(evaluations: PrivateEvaluations) -> dict[str, Any]:
            one = evaluations.evaluation(wish.number)
            try:
                end(one)
            except ValueError:
                refused = True
            else:
                refused = False
            if refused:
                raise Problem("state-refused", "It was abandoned, or nobody was assigned to it: so it has no mean.")
            return {"number": wish.number, "closed": one.closed, "abandoned": one.abandoned}

        return json_response(await context.evaluations.use(name, carry_out))
