"""POST /studies/{name}/tell and /forget: losses, one, a block, or a stream of them.

Everything that is told takes the same way, whatever the loss is. Nothing of it is logged, echoed or compared.
"""

import time
from collections.abc import AsyncIterator
from typing import Annotated, Any, Literal

from fastapi import APIRouter
from pydantic import Field, TypeAdapter
from starlette.requests import Request
from starlette.responses import Response

from sottovoce.service.context import Context
from sottovoce.service.endpoints._documented import NAME, documented
from sottovoce.service.endpoints._reading import AT_ONCE, Body, let_in, parsed, read_body, study_of
from sottovoce.service.problem_documents import Problem, problem_for
from sottovoce.studies import Recorded, TellCall

__all__ = [
    "COUNTS",
    "FORGET",
    "STREAM",
    "TELL",
    "Forget",
    "check_block",
    "counted",
    "shapes",
    "telling_routes",
]

STREAM = "application/x-ndjson"
_BLOCK = 256  # lines of a stream that are recorded together
_LONGEST_LINE = 4096  # bytes


class Tell(Body):
    """A loss for an action, or one for each of a block of them; under local privacy reports instead."""

    id: str | None = None
    loss: float | None = None
    report: int | None = None
    ids: list[str] | None = None
    losses: list[float] | None = None
    reports: list[int] | None = None
    late: Literal["error", "drop"] = "error"

    def __repr__(self) -> str:
        return "Tell()"  # losses are never in print

    __str__ = __repr__

    @property
    def call(self) -> TellCall:
        """The call that it stands for: one value for one id, or as many as there are ids."""
        given = [name for name in ("loss", "report", "losses", "reports") if getattr(self, name) is not None]
        one = self.id is not None
        if one == (self.ids is not None) or len(given) != 1 or (given[0] in ("losses", "reports")) == one:
            raise Problem(
                "malformed", "A tell has id and loss, or ids and losses; under local privacy report, or reports."
            )
        if one:
            return TellCall(self.id, self.loss, self.report, self.late)
        many: Any = self.losses if self.losses is not None else self.reports
        if len(many) != len(self.ids or ()):
            raise Problem("malformed", "There must be a loss for each id.")
        return TellCall(self.ids, self.losses, self.reports, self.late)


class Forget(Body):
    """Actions whose loss will never come."""

    ids: Annotated[list[str], Field(min_length=1)]


TELL: TypeAdapter[Tell] = TypeAdapter(Tell)
FORGET: TypeAdapter[Forget] = TypeAdapter(Forget)
_LATE = {"enum": ["error", "drop"], "default": "error"}
COUNTS = {
    "type": "object",
    "required": ["recorded", "already", "dropped"],
    "properties": {name: {"type": "integer", "minimum": 0} for name in ("recorded", "already", "dropped")},
}
_PROBLEMS = (
    "study-not-found",
    "unknown-action",
    "round-closed",
    "study-behind",
    "state-refused",
    "invalid-loss",
    "wrong-report",
)


def telling_routes(context: Context) -> APIRouter:
    """Return the routes by which losses are told, and actions closed without one."""
    router = APIRouter()
    telling = documented(
        "Record a loss, or a block or a stream of them. One that is on record already is no failure: `already`.",
        reads={"application/json": {"oneOf": shapes()}, STREAM: {"type": "string"}},
        answers=COUNTS,
        problems=(*_PROBLEMS, "malformed"),
        parameters=(NAME,),
    )
    forgetting = documented(
        "Close actions whose loss will never come: each counts as the middle of the range.",
        reads={"application/json": Forget.model_json_schema()},
        answers={"type": "object", "required": ["closed"], "properties": {"closed": {"type": "integer"}}},
        problems=(*_PROBLEMS, "malformed"),
        parameters=(NAME,),
    )

    @router.post("/studies/{name:path}/tell", name="tell", **telling)
    async def tell(request: Request) -> Response:
        name = study_of(request)
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() == STREAM:
            await context.gate(request, "tell", name)
            return counted(await _stream(context, request, name))
        await let_in(context, request, "tell", name)
        call = (await read_body(request, TELL)).call
        check_block(context, call.ids)
        desk = await context.desks.desk(name)
        told = await desk.tell(call)
        context.metrics.count_told(told.recorded, told.already, told.dropped)
        return counted(told)

    @router.post("/studies/{name:path}/forget", name="forget", **forgetting)
    async def forget(request: Request) -> Response:
        name = study_of(request)
        await let_in(context, request, "tell", name)
        wanted = await read_body(request, FORGET)
        check_block(context, wanted.ids)
        closed = await context.look(name, lambda study: study.forget(wanted.ids))
        context.metrics.count_events("forgotten", closed)
        return Response(b'{"closed":%d}' % closed, media_type="application/json")

    return router


def check_block(context: Context, ids: Any) -> None:
    """Refuse a block that is too large."""
    if not isinstance(ids, str) and len(ids) > context.settings.largest_block:
        raise Problem("too-large", f"ids must be at most {context.settings.largest_block}.")


def counted(told: Recorded) -> Response:
    """Answer what became of losses."""
    body = b'{"recorded":%d,"already":%d,"dropped":%d}' % (told.recorded, told.already, told.dropped)
    return Response(body, media_type="application/json")


async def _stream(context: Context, request: Request, name: str) -> Recorded:
    """Record a stream block by block, as it comes. What comes before a line that is refused stays on record."""
    looked = time.monotonic()
    total, number = Recorded(0, 0, 0), 0
    block: dict[int, TellCall] = {}  # by the number of the line
    async for line in _lines(request):
        number += 1
        if line.strip():
            block[number] = _line(line, number, total)
        if len(block) == _BLOCK:
            looked = await _still_let_in(context, request, name, looked, total)
            total, block = await _recorded(context, name, block, total), {}
    await _still_let_in(context, request, name, looked, total)
    return await _recorded(context, name, block, total)


async def _still_let_in(context: Context, request: Request, name: str, looked: float, total: Recorded) -> float:
    """Look at the key again, unless that was just now: a stream may last for hours, and its key not as long."""
    if time.monotonic() - looked <= AT_ONCE:
        return looked
    try:
        await context.gate.again(request, "tell", name)
    except Problem as refused:
        refused.facts["recorded"] = total.recorded
        raise
    return time.monotonic()


def _line(line: bytes, number: int, total: Recorded) -> TellCall:
    """Return what a line tells; say which line is to blame, and how many losses before it are on record."""
    facts: dict[str, Any] = {"line": number, "recorded": total.recorded}
    tell = parsed(line, TELL, **facts)
    if tell.id is None:
        raise Problem("malformed", "A line of a stream has id, and loss or report.", **facts)
    return tell.call


async def _recorded(context: Context, name: str, block: dict[int, TellCall], total: Recorded) -> Recorded:
    """Record a block of lines in one transaction, each for itself."""
    desk = await context.desks.desk(name)  # each time: since the last block others may have needed its place
    outcomes = await desk.tell_each(list(block.values()))
    for one in outcomes:
        if isinstance(one, Recorded):
            context.metrics.count_told(one.recorded, one.already, one.dropped)
    for number, one in zip(block, outcomes, strict=True):
        if isinstance(one, Exception):
            problem = problem_for(one)
            problem.facts |= {"line": number, "recorded": total.recorded}
            raise problem
        total = Recorded(total.recorded + one.recorded, total.already + one.already, total.dropped + one.dropped)
    return total


async def _lines(request: Request) -> AsyncIterator[bytes]:
    """Yield the lines of a body as they come, holding no more than one of them and what came with it."""
    rest = b""
    async for chunk in request.stream():
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield line
        if len(rest) > _LONGEST_LINE:
            raise Problem("too-large", f"A line must have at most {_LONGEST_LINE} bytes.")
    yield rest


def shapes() -> list[dict[str, Any]]:
    """Return what a tell may look like."""
    single = {"loss": {"type": "number"}, "report": {"type": "integer"}}
    several = {
        "losses": {"type": "array", "items": {"type": "number"}},
        "reports": {"type": "array", "items": {"type": "integer"}},
    }
    ids = {"type": "array", "items": {"type": "string"}}
    found = [_shape("id", {"type": "string"}, name, schema) for name, schema in single.items()]
    return found + [_shape("ids", ids, name, schema) for name, schema in several.items()]


def _shape(who: str, ids: dict[str, Any], what: str, values: dict[str, Any]) -> dict[str, Any]:
    properties = {who: ids, what: values, "late": _LATE}
    return {"type": "object", "required": [who, what], "properties": properties, "additionalProperties": False}
