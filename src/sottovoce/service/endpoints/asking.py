"""POST /studies/{name}/ask."""

from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import Field, TypeAdapter
from starlette.requests import Request
from starlette.responses import Response

from sottovoce.service.context import Context
from sottovoce.service.desks import AskOrder, Layout
from sottovoce.service.desks.requests import Request as Repeatable
from sottovoce.service.endpoints._documented import NAME, documented, parameter
from sottovoce.service.endpoints._reading import Body, let_in, read_body, study_of
from sottovoce.service.problem_documents import Problem

__all__ = ["HEADER", "KEY", "asking_routes", "repeatable"]

KEY = "Idempotency-Key"
_LONGEST_KEY = 200
_LONGEST_NAME, _MOST_FACTORS = 200, 100  # of segments
_ACTION = {
    "type": "object",
    "required": ["id", "chosen", "x", "wants_loss"],
    "properties": {
        "id": {"type": "string"},
        "chosen": {"description": "The decision in the names of the set."},
        "x": {
            "description": "Its numbers: a list; `dimension`, and `index` and `value` of those that are not 0; or null."
        },
        "wants_loss": {"type": "boolean"},
    },
}


Named = Annotated[str, Field(max_length=_LONGEST_NAME)] | int
Segment = Named | Annotated[list[Named], Field(max_length=_MOST_FACTORS)] | dict[str, Named]


class Ask(Body):
    """What is asked for: one action, or a block of `size`; `x` says how their numbers are written.

    With `round`: the rest of the current round, or `size` of it at most.

    Of a study with segments: `segment`, whom all of it is for, a name or a level of each factor; or `segments`, one for
    each action of a block.
    """

    size: Annotated[int, Field(ge=1)] | None = None
    x: Layout = "dense"
    round: bool = False
    segment: Segment | None = None
    segments: list[Segment] | None = None


_ASK: TypeAdapter[Ask] = TypeAdapter(Ask)
_ONE = Ask()
HEADER = parameter(
    KEY,
    "header",
    {"type": "string", "minLength": 1, "maxLength": _LONGEST_KEY},
    "A repeated request, the same action.",
)
_ANSWERS = {
    "oneOf": [
        _ACTION,
        {
            "type": "object",
            "required": ["actions"],
            "properties": {"actions": {"type": "array", "items": _ACTION}},
        },
    ]
}


def asking_routes(context: Context) -> APIRouter:
    """Return the route by which actions are asked for."""
    router = APIRouter()
    about: dict[str, Any] = documented(
        "Hand out the next action, a block of them, or the rest of a round.",
        reads={"application/json": Ask.model_json_schema()},
        needed=False,
        answers=_ANSWERS,
        problems=(
            "study-not-found",
            "unknown-segment",
            "horizon-reached",
            "state-refused",
            "malformed",
            "idempotency-key-reused",
        ),
        parameters=(NAME, HEADER),
    )

    @router.post("/studies/{name:path}/ask", name="ask", **about)
    async def ask(request: Request) -> Response:
        name = study_of(request)
        client = await let_in(context, request, "ask", name)
        wanted = await read_body(request, _ASK, _ONE)
        order = _order(wanted, context.settings.largest_block)
        if (key := request.headers.get(KEY)) is not None:
            order = replace(order, request=repeatable(name, client, key, order.asks))
        desk = await context.desks.desk(name)
        answer = await desk.ask(order)
        context.metrics.count_events("asked", len(answer.ids))
        headers = {"Idempotent-Replayed": "true"} if answer.replayed else None
        return Response(answer.body, headers=headers, media_type="application/json")

    return router


def _order(wanted: Ask, largest: int) -> AskOrder:
    """Return what is asked for; refuse what contradicts itself, and what is too much."""
    size, several = wanted.size, wanted.segments
    if several is not None:
        if wanted.segment is not None:
            raise Problem("malformed", "segments are one for each action: without segment.")
        size = size if wanted.round else size or len(several) or None
    if (size or len(several or ())) > largest:
        raise Problem("too-large", f"size must be at most {largest}.")
    if wanted.round:
        size = size or largest
    return AskOrder(size, wanted.x, segment=wanted.segment, segments=several, round=wanted.round)


def repeatable(name: str, client: Any, key: str, asks: str) -> Repeatable:
    """Return a request that may be repeated, under the key that it came with."""
    if not (0 < len(key) <= _LONGEST_KEY and key.isascii() and key.isprintable()):
        raise Problem("malformed", f"{KEY} must be 1 to {_LONGEST_KEY} printable characters of ASCII.")
    return Repeatable.of(name, client.id, key, asks)
