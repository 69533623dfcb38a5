"""How endpoints are declared: each once, with what it needs; a key is checked before a body is read."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Header, Path
from fastapi.dependencies.utils import get_typed_return_annotation
from fastapi.routing import APIRoute
from pydantic import TypeAdapter, ValidationError
from starlette.requests import Request
from starlette.responses import Response

from sottovoce.service.context import Context
from sottovoce.service.endpoints._parsing import carried_out
from sottovoce.service.endpoints.models import Channel, Closed, Erased, Forget
from sottovoce.service.keys import Key
from sottovoce.service.problem_documents import KINDS, Problem
from sottovoce.service.settings import Settings

AT_ONCE = 0.05
"""Seconds within which a look at a key is not repeated."""

Found = TypeVar("Found")
Answering = Callable[..., Coroutine[Any, Any, Any]]
_LONGEST = 200
TELL_PROBLEMS = ("unknown-action", "round-closed", "study-behind", "invalid-loss", "wrong-report")
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


class Endpoints(APIRouter):
    """What can be called of studies, of evaluations, or of the service itself.

    Parameters
    ----------
    home
        Where they are: "/studies".
    look
        Calls a function, in a thread, with the study or the evaluations of a name.
    prefix
        Of the names of routes.
    problems
        The kinds of problems that each of them may answer, besides those that every endpoint may.
    """

    def __init__(self, home: str = "", look: Any = None, prefix: str = "", problems: Iterable[str] = ()) -> None:
        super().__init__(route_class=Route)
        self._home, self._look, self._prefix, self._problems = home, look, prefix, tuple(problems)

    def declared(
        self,
        call: str,
        summary: str,
        model: Any,
        *roles: str,
        problems: Iterable[str] = (),
        anywhere: bool = False,
        found_as: Any = None,
        **options: Any,
    ) -> Callable[[Answering], Answering]:
        """Return what declares a function as an endpoint, once for all: documents and types of clients follow.

        Parameters
        ----------
        call
            The method and the path: "POST ask" of one of them, "GET /" of all.
        summary, model
            What it does, and what it answers.
        roles
            Of which a key needs one; none for what needs no key.
        problems
            Further kinds of problems that it may answer.
        anywhere
            Whether a key for whichever study will do, where the address names none.
        found_as
            The model of its answer 200, where the usual one is 201.
        options
            As FastAPI takes them.
        """
        found: dict[int | str, dict[str, Any]] = {}
        for kind in (KINDS[name] for name in dict.fromkeys((*_ALWAYS, *self._problems, *problems))):
            reference = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
            answer = found.setdefault(kind.status, {"description": "", "content": reference})
            answer["description"] += f"{'; ' if answer['description'] else ''}{kind.name}: {kind.title}"
        if found_as is not None:
            found[200] = {"model": found_as, "description": "It is there, and was created alike."}
        about: dict[str, Any] = {"security": [{"key": list(roles)}] if roles else []}
        options |= {"responses": found, "openapi_extra": about | ({"x-any-study": True} if anywhere else {})}
        method, what = call.split()
        path = f"{self._home}{what.rstrip('/') if self._home else what}"
        if not what.startswith("/"):
            path = f"{self._home}/{{name:path}}/{what}"
        name = self._prefix + (options.pop("name", None) or what.strip("/"))
        return self.api_route(path, methods=[method], name=name, summary=summary, response_model=model, **options)

    def look(self, context: Context, name: str, function: Callable[[Any], Found]) -> Awaitable[Found]:
        """Return what a function says of a study, or of evaluations, by their name."""
        found: Awaitable[Found] = self._look(context, name, function)
        return found

    def look_at(
        self, what: str, summary: str, model: Any, look: Callable[[Any], Any], *roles: str, **more: Any
    ) -> None:
        """Declare an address at which something is looked at."""

        @self.declared(f"GET {what}", summary, model, *(roles or ("read",)), **more)
        async def answer(request: Request, name: Name) -> Any:
            return await self.look(context_of(request), name, look)

    def declare_creation(self, what: str, wanted: Any, answered: Any, make: Callable[[Settings, Any], Any]) -> None:
        """Declare where something is created, or found if it was created alike; `make` runs in a thread."""

        @self.declared(
            "POST /",
            f"Create {what} and was created alike, nothing changes, and the status is 200.",
            answered,
            "admin",
            problems=("configuration-mismatch",),
            found_as=answered,
            name="create",
            status_code=201,
        )
        async def create(request: Request, wish: wanted, response: Response) -> Any:
            found = await carried_out(asyncio.to_thread(make, context_of(request).settings, wish), wish)
            response.status_code = 201 if found["created"] else 200
            return found

    def declare_common(self, middle: str) -> None:
        """Declare what studies and evaluations have in common: forgetting, erasing people, and channels."""

        @self.declared(
            "POST forget",
            f"Close {middle} whose loss will never come: each counts as the middle of the range.",
            Closed,
            "tell",
            problems=TELL_PROBLEMS,
        )
        async def forget(request: Request, name: Name, wanted: Forget) -> Any:
            context = context_of(request)
            check_block(context, wanted.ids)
            closed = await self.look(context, name, lambda one: one.forget(wanted.ids))
            context.metrics.count(forgotten=closed)
            return {"closed": closed}

        @self.declared(
            "POST erase-people",
            "Erase all that is kept of people who were counted; nobody is counted any more after it.",
            Erased,
            "admin",
        )
        async def erase_people(request: Request, name: Name) -> Any:
            return {"erased": await self.look(context_of(request), name, lambda one: one.erase_people())}

        self.look_at(
            "channel",
            "The channel by which owners privatise their losses, under local privacy.",
            Channel,
            _channel,
            "ask",
            "tell",
            "read",
            problems=("no-channel",),
        )


def _channel(one: Any) -> Any:
    found = getattr(one, "channel", None)
    if found is None:
        raise Problem("no-channel")
    return found.to_dict()


def check_block(context: Context, ids: Any) -> None:
    """Refuse a block that is too large."""
    if not isinstance(ids, str) and len(ids) > context.settings.largest_block:
        raise Problem("too-large", f"ids must be at most {context.settings.largest_block}.")


class Route(APIRoute):
    """Checks a key before the body is read, and again if that took long: it may be revoked meanwhile."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return what answers a request."""
        handle, parsed = super().get_route_handler(), self._parser()
        extra = self.openapi_extra or {}
        roles = tuple(extra["security"][0]["key"]) if extra.get("security") else ()
        anywhere = extra.get("x-any-study", False)

        async def guarded(request: Request) -> Response:
            context, name, began = context_of(request), request.path_params.get("name"), time.monotonic()
            if roles:
                request.scope["sottovoce.key"] = await context.gate(request, roles, name, anywhere=anywhere)
            if self.body_field is not None:
                sent = await read_body(request, context.settings.largest_body)
                if time.monotonic() - began > AT_ONCE:
                    await context.gate(request, roles, name, anywhere=anywhere, again=True)
                if parsed is not None and (arguments := parsed(request, sent)) is not None:
                    response: Response = await self.endpoint(request=request, **arguments)
                    return response
                # As JSON, whatever it is called: curl -d calls it a form.
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
                found[field.name], wrong = field.validate(request.headers.get(field.alias), {}, loc=())
                if wrong:
                    return None
            return found

        return parsed


async def read_body(request: Request, most: int) -> bytes:
    """Return the body of a request, for whoever reads it later as well; one that is too large is not kept in memory."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > most:
            raise Problem("too-large", f"A body must have at most {most} bytes: send smaller blocks.")
    if not body and ("transfer-encoding" in request.headers or request.headers.get("content-length", "0") != "0"):
        # httptools takes it for the other protocol: an ask for a block would be one for a single action.
        raise Problem("malformed", "The body has not come: do not ask for another protocol (Connection: Upgrade).")
    request._body = bytes(body)
    return request._body


def context_of(request: Request) -> Context:
    """Return what endpoints work with."""
    found: Context = request.app.state.context
    return found


def key_of(request: Request) -> Key:
    """Return the key that a request was let in with."""
    found: Key = request.scope["sottovoce.key"]
    return found
