"""How endpoints are declared: the role they need, the problems they answer; keys are checked before bodies are read."""

import time
from collections.abc import Callable, Coroutine, Iterable
from typing import Annotated, Any

from fastapi import Header, Path
from fastapi.dependencies.utils import get_typed_return_annotation
from fastapi.routing import APIRoute
from pydantic import TypeAdapter, ValidationError
from starlette.requests import Request
from starlette.responses import Response

from sottovoce.service.body_limit import is_stream
from sottovoce.service.context import Context
from sottovoce.service.gate import ANY
from sottovoce.service.keys import Key
from sottovoce.service.problem_documents import KINDS

AT_ONCE = 0.05
"""Seconds within which a look at a key is not repeated."""

Answering = Callable[..., Coroutine[Any, Any, Response]]
STREAM = "application/x-ndjson"
_LONGEST = 200
_ALWAYS = ("unauthorised", "forbidden", "malformed", "too-large", "too-many", "storage-error")

Name = Annotated[str, Path(description="The name.", json_schema_extra={"minLength": 1, "maxLength": _LONGEST})]
IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        pattern=f"^[ -~]{{1,{_LONGEST}}}$",
        description="A repeated request with the same key gets the same answer.",
    ),
]


def declared(
    *roles: str, problems: Iterable[str] = (), anywhere: bool = False, found_as: Any = None, **extra: Any
) -> dict[str, Any]:
    """Return what a route declares besides its models.

    Parameters
    ----------
    roles
        Of which a key needs one; none for what needs no key.
    problems
        The kinds of problems that it may answer, besides those that every endpoint may.
    anywhere
        Whether a key for whichever study will do, where the address names none.
    found_as
        The model of its answer 200, where the usual one is 201.
    extra
        Of the operation in the OpenAPI document.
    """
    found: dict[int | str, dict[str, Any]] = {}
    for kind in (KINDS[name] for name in (*_ALWAYS, *problems)):
        reference = {"schema": {"$ref": "#/components/schemas/Problem"}}
        answer = found.setdefault(kind.status, {"description": "", "content": {"application/problem+json": reference}})
        answer["description"] += f"{'; ' if answer['description'] else ''}{kind.name}: {kind.title}"
    if found_as is not None:
        found[200] = {"model": found_as, "description": "It is there, and was created alike."}
    extra["security"] = [{"key": list(roles)}] if roles else []
    return {"responses": found, "openapi_extra": extra | ({"x-any-study": True} if anywhere else {})}


def streamed(stream: Answering) -> Callable[[Answering], Answering]:
    """Have streams of JSON lines taken by another function than the bodies that an endpoint declares.

    Parameters
    ----------
    stream
        That function.
    """

    def mark(endpoint: Answering) -> Answering:
        endpoint.stream = stream  # type: ignore[attr-defined]
        return endpoint

    return mark


class Route(APIRoute):
    """Checks a key before the body is read, and again if that took long: it may be revoked meanwhile."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return what answers a request."""
        handle, parsed = super().get_route_handler(), self._parser()
        extra = self.openapi_extra or {}
        roles = tuple(extra["security"][0]["key"]) if extra.get("security") else ()
        elsewhere = ANY if extra.get("x-any-study") else None
        stream: Answering | None = getattr(self.endpoint, "stream", None)

        async def guarded(request: Request) -> Response:
            lines = stream if stream is not None and is_stream(request.scope) else None
            reads = self.body_field is not None and lines is None
            if roles:
                gate, study = context_of(request).gate, request.path_params.get("name", elsewhere)
                key = await gate(request, roles, study)
                began = time.monotonic()
                if reads:
                    await request.body()  # and there it stays
                    if time.monotonic() - began > AT_ONCE:
                        key = await gate.again(request, roles, study)
                request.scope["sottovoce.key"] = key
            if lines is not None:
                return await lines(request, **request.path_params)
            if parsed is not None and (arguments := parsed(request, await request.body())) is not None:
                response: Response = await self.endpoint(request=request, **arguments)
                return response
            if reads:  # as JSON, whatever it is called: curl -d calls it a form
                others = [one for one in request.scope["headers"] if one[0] != b"content-type"]
                request.scope["headers"] = [*others, (b"content-type", b"application/json")]
            return await handle(request)

        return guarded

    def _parser(self) -> Callable[[Request, bytes], dict[str, Any] | None] | None:
        """Return what reads the arguments of an endpoint that answers for itself, if they are as they were declared.

        Pydantic takes the body as it came: FastAPI's way, over Python's objects, costs as much as an ask. It is left to
        say what is wrong with a request.
        """
        if self.body_field is None or get_typed_return_annotation(self.endpoint) is not Response:
            return None
        body, headers = self.body_field, self.dependant.header_params
        annotation: Any = body.field_info.annotation
        adapter = TypeAdapter[Any](annotation)

        def parsed(request: Request, sent: bytes) -> dict[str, Any] | None:
            found = dict(request.path_params)
            try:
                found[body.name] = adapter.validate_json(sent)
            except ValidationError:
                return None
            for field in headers:
                value, wrong = field.validate(request.headers.get(field.alias), {}, loc=())
                if wrong:
                    return None
                found[field.name] = value
            return found

        return parsed


def context_of(request: Request) -> Context:
    """Return what endpoints work with."""
    found: Context = request.app.state.context
    return found


def key_of(request: Request) -> Key:
    """Return the key that a request was let in with."""
    found: Key = request.scope["sottovoce.key"]
    return found
