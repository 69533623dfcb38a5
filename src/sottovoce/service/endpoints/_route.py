"""How endpoints are declared: each once, with what it needs; a key is checked before a body is read."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from contextlib import suppress
from typing import Annotated, Any

from fastapi import APIRouter, Header, Path
from fastapi.dependencies.utils import get_typed_return_annotation
from fastapi.routing import APIRoute
from pydantic import TypeAdapter, ValidationError
from starlette.requests import Request
from starlette.responses import Response

from sottovoce.errors import SottovoceError
from sottovoce.service.context import Context
from sottovoce.service.endpoints._parsing import carried_out
from sottovoce.service.endpoints.models import Channel, Closed, Erased, Forget, Tell, Told
from sottovoce.service.keys import Key
from sottovoce.service.problem_documents import KINDS, Problem
from sottovoce.service.settings import Settings
from sottovoce.service.study_workers.requests import Request as Repeatable
from sottovoce.studies import Recorded, TellCall

AT_ONCE = 0.05
"""Seconds within which a look at a key is not repeated."""

Answering = Callable[..., Coroutine[Any, Any, Any]]
Made = tuple[bytes, Callable[[Any], Any]]
"""An answer, and what takes back, of the study or the evaluations, what it hands out."""

_LONGEST = 200
_OF_LOSSES = ("unknown-action", "round-closed", "study-behind", "invalid-loss", "wrong-report")
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
    books
        Finds the studies, or the evaluations, that are open.
    names
        What names of routes begin with.
    problems
        The kinds of problems that each of them may answer, besides those that every endpoint may.
    """

    def __init__(self, home: str = "", books: Any = None, names: str = "", problems: Iterable[str] = ()) -> None:
        super().__init__(route_class=Route)
        self._home, self._books, self._names, self._problems = home, books, names, tuple(problems)

    async def look(self, context: Context, name: str, function: Callable[[Any], Any]) -> Any:
        """Return what a function says of the study or the evaluations of a name; it runs in a thread."""
        return await (await self._books(context)(name)).look(function)

    def declared(
        self,
        call: str,
        summary: str,
        model: Any,
        *roles: str,
        problems: Iterable[str] = (),
        anywhere: bool = False,
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
        options
            As FastAPI takes them.
        """
        found: dict[int | str, dict[str, Any]] = options.pop("responses", {})
        for kind in (KINDS[name] for name in dict.fromkeys((*_ALWAYS, *self._problems, *problems))):
            reference = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
            answer = found.setdefault(kind.status, {"description": "", "content": reference})
            answer["description"] += f"{'; ' if answer['description'] else ''}{kind.name}: {kind.title}"
        about = {"security": [{"key": list(roles)}] if roles else [], **({"x-any-study": True} if anywhere else {})}
        method, what = call.split()
        path = f"{self._home}/{{name:path}}/{what}" if what[0] != "/" else f"{self._home}{what}"
        name = self._names + options.pop("name", what.strip("/"))
        given = {"methods": [method], "name": name, "summary": summary, "response_model": model}
        return self.api_route(path.rstrip("/"), **given, responses=found, openapi_extra=about, **options)

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
            name="create",
            status_code=201,
            responses={200: {"model": answered, "description": "It is there, and was created alike."}},
        )
        async def create(request: Request, wish: wanted, response: Response) -> Any:
            found = await carried_out(asyncio.to_thread(make, context_of(request).settings, wish), wish)
            response.status_code = 201 if found["created"] else 200
            return found

    def declare_common(
        self, middle: str, record: Callable[[Context, str, TellCall], Coroutine[Any, Any, Recorded]]
    ) -> None:
        """Declare what studies and evaluations have in common: telling, forgetting, erasing people, and channels."""

        @self.declared(
            "POST tell",
            "Record a loss, or a block of them. One that is on record already is no failure: `already`.",
            Told,
            "tell",
            problems=_OF_LOSSES,
        )
        async def tell(request: Request, name: Name, told: Tell) -> Response:
            context, call = context_of(request), told.call
            check_block(context, call.ids)
            return counted(context, await record(context, name, call))

        @self.declared(
            "POST forget",
            f"Close {middle} whose loss will never come: each counts as the middle of the range.",
            Closed,
            "tell",
            problems=_OF_LOSSES,
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

        words = "The channel by which owners privatise their losses, under local privacy."
        self.look_at("channel", words, Channel, _channel, "ask", "tell", "read", problems=("no-channel",))

    async def once(
        self, request: Request, name: str, key: str | None, asks: str, make: Callable[[], Awaitable[Made]], person: Any
    ) -> Response:
        """Answer a request, and a repetition of it under the same key as before; what was made in vain is taken back.

        Parameters
        ----------
        request, name, key
            The request, whom it calls, and its idempotency key; None if it is not to be repeated.
        asks
            What a repetition has to ask for again.
        make
            Answers it.
        person
            Whom it is for, one person or several: a repetition has to be for the same.
        """
        if key is None:
            return _json((await make())[0])
        context, people = context_of(request), None
        if person is not None:
            with suppress(SottovoceError):  # asking says it, to whom it concerns
                people = await self.look(context, name, lambda one: one.keyed_hash(person))
        number = (await self._books(context)(name)).number  # there may have been another one of this name
        wanted = Repeatable.of(f"{number} {name}", key_of(request).id, key, asks, people)
        known = await context.requests.find(wanted)
        if known is None:
            body, undo = await make()
            known = await context.requests.keep((wanted, body))
            if known is None:
                return _json(body)
            await self.look(context, name, undo)
        if known.asks != wanted.asks:
            raise Problem("idempotency-key-reused")
        return _json(known.body, {"Idempotent-Replayed": "true"})


def _json(body: bytes, headers: Any = None) -> Response:
    return Response(body, headers=headers, media_type="application/json")


def _channel(one: Any) -> Any:
    found = getattr(one, "channel", None)
    if found is None:
        raise Problem("no-channel")
    return found.to_dict()


def counted(context: Context, told: Recorded) -> Response:
    """Count what became of losses, and answer it: alike, whatever the losses are."""
    context.metrics.count(told=told.recorded, already=told.already, dropped=told.dropped)
    return _json(b'{"recorded":%d,"already":%d,"dropped":%d}' % told)


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
            if self.body_field is not None:  # which is JSON, whatever it is called: curl -d calls it a form
                others = [one for one in request.scope["headers"] if one[0] != b"content-type"]
                request.scope["headers"] = [*others, (b"content-type", b"application/json")]
            if roles:
                request.scope["sottovoce.key"] = await context.gate(request, roles, name, anywhere=anywhere)
            if self.body_field is not None:
                sent = await read_body(request, context.settings.largest_body)
                if time.monotonic() - began > AT_ONCE:
                    await context.gate(request, roles, name, anywhere=anywhere, again=True)
                if parsed is not None and (arguments := parsed(request, sent)) is not None:
                    response: Response = await self.endpoint(request=request, **arguments)
                    return response
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
