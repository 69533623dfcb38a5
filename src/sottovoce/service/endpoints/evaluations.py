"""Evaluations over HTTP: created, conducted, told, and looked at. Nothing that is told is logged or echoed."""

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from sottovoce.errors import HorizonReached
from sottovoce.evaluations import PrivateEvaluations
from sottovoce.evaluations.evaluation import Evaluation
from sottovoce.service.endpoints import models
from sottovoce.service.endpoints._parsing import carried_out, guarantee_in, promised
from sottovoce.service.endpoints._route import IdempotencyKey, Name, Route, context_of, declared, key_of
from sottovoce.service.endpoints.studies import TELL_PROBLEMS, check_block, counted, person_of
from sottovoce.service.problem_documents import Problem
from sottovoce.service.settings import Settings
from sottovoce.service.study_workers.asking import told_apart
from sottovoce.service.study_workers.requests import Request as Repeatable

_WRONG = ("study-not-found", "unknown-action", "study-behind", "state-refused")
_SHOWN = ("name", "loss_range", "guarantee", "channel", "patience", "privacy", "scale", "open")
_MOST_IDS = 10_000  # of one answer
_Number = Annotated[int, Query(ge=0, le=2**53, description="Of the evaluation.")]
evaluation_routes = APIRouter(route_class=Route)

# ---------------------------------------------------------------------- creating, opening, assigning


@evaluation_routes.post(
    "/evaluations",
    name="evaluations create",
    summary="Create evaluations; if they exist and were created alike, nothing changes, and the status is 200.",
    response_model=models.CreatedEvaluations,
    status_code=201,
    **declared("admin", problems=("configuration-mismatch", "state-refused"), found_as=models.CreatedEvaluations),
)
async def create(request: Request, wish: models.CreateEvaluations, response: Response) -> Any:
    """Create evaluations, or find them."""
    found = await carried_out(asyncio.to_thread(_created, context_of(request).settings, wish), wish)
    response.status_code = 201 if found["created"] else 200
    return found


def _created(settings: Settings, wish: models.CreateEvaluations) -> dict[str, Any]:
    given = wish.model_dump() | {"privacy": guarantee_in(wish.privacy), "loss_range": tuple(wish.loss_range)}
    with PrivateEvaluations(storage=settings.storage, noise=settings.noise, **given) as made:
        return {"evaluations": wish.name, "created": made.created, **promised(made.privacy)}


@evaluation_routes.post(
    "/evaluations/{name:path}/open",
    name="evaluations open",
    summary="Begin an evaluation.",
    response_model=models.Opened,
    **declared("admin", problems=(*_WRONG, "idempotency-key-reused")),
)
async def opened(request: Request, name: Name, wish: models.Open, idempotency_key: IdempotencyKey = None) -> Response:
    """Begin an evaluation."""

    def begin(evaluations: PrivateEvaluations) -> tuple[dict[str, Any], Callable[[], Any]]:
        one = evaluations.open(events=wish.events)
        return {"number": one.number, "events": one.events}, one.abandon

    return await _once(request, name, idempotency_key, f"open {wish.events}", begin)


@evaluation_routes.post(
    "/evaluations/{name:path}/assign",
    name="evaluations assign",
    summary="Assign the next person, or `size` of them: by coins, or to the evaluation of a number.",
    response_model=models.Person | models.Assigned,
    **declared("ask", problems=(*_WRONG, "horizon-reached", "idempotency-key-reused")),
)
async def assign(
    request: Request, name: Name, wish: models.Assign | None = None, idempotency_key: IdempotencyKey = None
) -> Response:
    """Assign people."""
    context, wanted = context_of(request), wish or models.Assign()
    person, size = person_of(wanted), wanted.size or (None if wanted.people is None else len(wanted.people))
    if size is not None and size > context.settings.largest_block:
        raise Problem("too-large", f"size must be at most {context.settings.largest_block}.")

    def hand_out(evaluations: PrivateEvaluations) -> tuple[dict[str, Any], Callable[[], Any]]:
        people = _assigned(evaluations, wanted.number, size, person)
        answer = people[0] if size is None else {"assigned": people}
        return answer, lambda: evaluations.forget([one["id"] for one in people])

    answer = await _once(request, name, idempotency_key, f"assign {size} {wanted.number}", hand_out, person)
    context.metrics.count_events("asked", 0 if "Idempotent-Replayed" in answer.headers else size or 1)
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
    make: Callable[[PrivateEvaluations], tuple[dict[str, Any], Callable[[], Any]]],
    person: Any = None,
) -> Response:
    """Answer a request, and a repetition of it as it was answered before; what was made in vain is undone."""
    context = context_of(request)
    repeatable = None if key is None else Repeatable.of(name, key_of(request).id, key, asks)

    def answer(evaluations: PrivateEvaluations) -> tuple[bytes, bool]:
        again = told_apart(evaluations, repeatable, person)
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
        if known[again].asks != again.asks:
            raise Problem("idempotency-key-reused")
        return known[again].body, True

    body, replayed = await context.evaluations.use(name, answer)
    headers = {"Idempotent-Replayed": "true"} if replayed else None
    return Response(body, headers=headers, media_type="application/json")


@evaluation_routes.post(
    "/evaluations/{name:path}/erase-people",
    name="evaluations erase-people",
    summary="Erase all that is kept of people who were counted; nobody is assigned any more after it.",
    response_model=models.Erased,
    **declared("admin", problems=_WRONG),
)
async def erase_people(request: Request, name: Name) -> Any:
    """Erase people."""
    return {"erased": await context_of(request).evaluations.use(name, lambda one: one.erase_people())}


# ---------------------------------------------------------------------- telling


@evaluation_routes.post(
    "/evaluations/{name:path}/tell",
    name="evaluations tell",
    summary="Record a loss, or a block of them. One that is on record already is no failure: `already`.",
    response_model=models.Told,
    **declared("tell", problems=TELL_PROBLEMS),
)
async def tell(request: Request, name: Name, told: models.Tell) -> Response:
    """Record losses; everything that is told takes the same way, whatever the loss is."""
    context, call = context_of(request), told.call
    check_block(context, call.ids)
    recorded = await context.evaluations.use(
        name, lambda one: one.tell(call.ids, call.losses, report=call.report, late=call.late)
    )
    context.metrics.count_told(recorded.recorded, recorded.already, recorded.dropped)
    return counted(recorded)


@evaluation_routes.post(
    "/evaluations/{name:path}/forget",
    name="evaluations forget",
    summary="Close places whose loss will never come: each counts as the middle of the range.",
    response_model=models.Closed,
    **declared("tell", problems=TELL_PROBLEMS),
)
async def forget(request: Request, name: Name, wanted: models.Forget) -> Any:
    """Close places."""
    context = context_of(request)
    check_block(context, wanted.ids)
    closed = await context.evaluations.use(name, lambda one: one.forget(wanted.ids))
    context.metrics.count_events("forgotten", closed)
    return {"closed": closed}


def _end(what: str, end: Callable[[Evaluation], None], summary: str) -> None:
    """Declare an address at which an evaluation is ended."""

    @evaluation_routes.post(
        "/evaluations/{name:path}/" + what,
        name=f"evaluations {what}",
        summary=summary,
        response_model=models.Ended,
        **declared("admin", problems=_WRONG),
    )
    async def ended(request: Request, name: Name, wish: models.Which) -> Any:
        def carry_out(evaluations: PrivateEvaluations) -> dict[str, Any] | None:
            one = evaluations.evaluation(wish.number)
            with suppress(ValueError):
                end(one)
                return {"number": wish.number, "closed": one.closed, "abandoned": one.abandoned}
            return None

        found = await context_of(request).evaluations.use(name, carry_out)
        if found is None:
            raise Problem("state-refused", "It was abandoned, or nobody was assigned to it: so it has no mean.")
        return found


_end("close", lambda one: one.close(), "Close an evaluation with those who were assigned so far.")
_end("abandon", lambda one: one.abandon(), "Drop an evaluation: nothing of it is ever released.")

# ---------------------------------------------------------------------- looking


def _look(
    what: str, summary: str, model: Any, look: Callable[[PrivateEvaluations], Any], *roles: str, problem: str = ""
) -> None:
    """Declare an address at which evaluations are looked at."""
    about = declared(*(roles or ("read",)), problems=(*_WRONG, *filter(None, [problem])))
    path = "/evaluations/{name:path}/" + what

    @evaluation_routes.get(path, name=f"evaluations {what}", summary=summary, response_model=model, **about)
    async def answer(request: Request, name: Name) -> Any:
        return await context_of(request).evaluations.use(name, look)


def _look_at_one(what: str, summary: str, model: Any, look: Callable[[Evaluation], dict[str, Any]]) -> None:
    """Declare an address at which one evaluation is looked at."""
    about, path = declared("read", problems=(*_WRONG, "not-released")), "/evaluations/{name:path}/" + what

    @evaluation_routes.get(path, name=f"evaluations {what}", summary=summary, response_model=model, **about)
    async def answer(request: Request, name: Name, number: _Number) -> Any:
        return await context_of(request).evaluations.use(name, lambda all_: look(all_.evaluation(number)))


def _standing(one: Evaluation) -> dict[str, Any]:
    waiting = one.outstanding
    counts = {"number": one.number, "events": one.events, "assigned": one.assigned, "remaining": one.remaining}
    found = {"closed": one.closed, "abandoned": one.abandoned, "outstanding": len(waiting)}
    return {**counts, **found, "ids": waiting[:_MOST_IDS].tolist()}


def _status(evaluations: PrivateEvaluations) -> dict[str, Any]:
    found = evaluations.export()
    return {name: found[name] for name in _SHOWN}


def _channel(evaluations: PrivateEvaluations) -> dict[str, Any]:
    if evaluations.channel is None:
        raise Problem("no-channel")
    found: dict[str, Any] = evaluations.channel.to_dict()
    return found


_look("status", "What they were created with, and which are open.", dict[str, Any], _status)
_look(
    "results",
    "All that was released, in the order in which it was.",
    models.Results,
    lambda evaluations: {"results": [one.to_dict() for one in evaluations.results]},
)
_look(
    "channel",
    "The channel by which owners privatise their losses.",
    models.Channel,
    _channel,
    *("ask", "tell", "read"),
    problem="no-channel",
)
_look_at_one("result", "What an evaluation has released.", dict[str, Any], lambda one: one.result.to_dict())
_look_at_one("evaluation", "Where an evaluation stands, and who has no loss yet.", models.Standing, _standing)
