"""POST /studies: create a study, or find that it exists and was created alike."""

import asyncio
import inspect
import json
import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from fastapi import APIRouter
from pydantic import Field, TypeAdapter
from starlette.requests import Request
from starlette.responses import Response

from sottovoce._wishes import guarantee_of, labelled, written_domain
from sottovoce.domains import Domain
from sottovoce.domains.specification import build
from sottovoce.models import Segments
from sottovoce.plans.options import DecisionFacts
from sottovoce.service.context import Context
from sottovoce.service.endpoints._documented import documented
from sottovoce.service.endpoints._reading import Body, let_in, read_body
from sottovoce.service.problem_documents import Problem, problem_for
from sottovoce.service.settings import Settings
from sottovoce.studies import Study

__all__ = ["Privacy", "creating_routes", "flat", "guarantee_in", "unsaid"]

_LARGEST = 1_000_000  # of the numbers that a domain is written with


class Privacy(Body):
    """The promise: epsilon, with delta or local; or rho; or none."""

    epsilon: float | None = None
    delta: float | None = None
    rho: float | None = None
    local: bool = False
    none: bool = False
    contributions: int | None = None


Level = str | int


class SegmentsWish(Body):
    """Whom decisions are for: names, or levels by factor; and how many may open on first use."""

    names: list[Level] | None = None
    factors: dict[str, list[Level]] | None = None
    limit: int | None = None
    features: list[list[float]] | None = None


class Create(Body):
    """What `Study.open` takes to create a study."""

    name: str
    domain: str | dict[str, Any]
    horizon: int | None
    privacy: Privacy
    labels: list[str] | None = None
    loss_range: Annotated[list[float], Field(min_length=2, max_length=2, default_factory=lambda: [0.0, 1.0])]
    losses: Literal["convex", "linear"] = "convex"
    play: Literal["inside", "around"] = "inside"
    integral: bool = False
    lipschitz: float | None = None
    channel: Literal["one-bit", "laplace"] = "one-bit"
    plan: str = "auto"
    exploration: str | None = None
    mechanism: str | None = None
    choices: dict[str, bool | int | float | str] = Field(default_factory=dict)
    patience: int | Literal["auto"] | None = "auto"
    deadline: float | None = None
    seed: Annotated[int, Field(ge=0, lt=2**63)] | None = None
    segments: SegmentsWish | None = None


_CREATE: TypeAdapter[Create] = TypeAdapter(Create)


def creating_routes(context: Context) -> APIRouter:
    """Return the route by which studies are created."""
    router = APIRouter()
    about = documented(
        "Create a study; if it exists and was created alike, nothing changes, and the status is 200.",
        reads={"application/json": flat(Create.model_json_schema())},
        answers={"type": "object", "required": ["study", "created", "privacy", "remaining"]},
        status=201,
        problems=("configuration-mismatch", "state-refused", "malformed"),
    )
    about["openapi_extra"]["responses"]["200"] = about["openapi_extra"]["responses"]["201"]

    @router.post("/studies", name="create", **about)
    async def create(request: Request) -> Response:
        await let_in(context, request, "admin")
        wish = await read_body(request, _CREATE)
        try:
            found = await asyncio.to_thread(_created, context.settings, wish)
        except (ValueError, TypeError) as error:
            sent = [wish.name, wish.domain, wish.labels, wish.plan, wish.exploration, wish.mechanism, wish.choices]
            sent.append(None if wish.segments is None else wish.segments.model_dump())
            refused = unsaid(problem_for(error, words=True), sent, Create)
        else:
            body = json.dumps(found).encode()
            return Response(body, 201 if found["created"] else 200, media_type="application/json")
        raise refused  # outside of `except`: without the error as its context

    return router


def _created(settings: Settings, wish: Create) -> dict[str, Any]:
    """Create the study, and close it: whoever asks opens it again."""
    facts = {name: getattr(wish, name) for name in DecisionFacts.__dataclass_fields__ if hasattr(wish, name)}
    choices = {name: getattr(wish, name) for name in ("plan", "exploration", "mechanism", "patience", "deadline")}
    making: dict[str, Any] = {
        "domain": _domain(wish),
        "horizon": wish.horizon,
        "loss_range": (wish.loss_range[0], wish.loss_range[1]),
        "privacy": guarantee_in(wish.privacy),
        "seed": wish.seed,
        "noise": settings.noise,
        **facts,
        **choices,
        "segments": None if wish.segments is None else Segments(**wish.segments.model_dump()),
    }
    if wish.choices.keys() & {*making, *inspect.signature(Study.open).parameters}:
        # Not a choice of a plan: `restored`, say, would end the life of a study, with losses that are on record.
        raise Problem("malformed", "choices are of a plan; what else there is has a member of its own.")
    making |= wish.choices
    with Study.open(settings.storage, name=wish.name, **making) as study:
        return {
            "study": wish.name,
            "created": study.created,
            "privacy": str(study.privacy.headline),
            "remaining": study.remaining,
        }


def unsaid(problem: Problem, sent: list[Any], kind: type[Body]) -> Problem:
    """Return a problem without texts of the request: names of its members may be said, and nothing else."""
    members = {*kind.model_fields, *Privacy.model_fields}
    for text in sorted({*_texts(sent)} - members, key=len, reverse=True):
        problem.detail = (problem.detail or "").replace(text, "...")
    return problem


def _texts(sent: Any) -> Iterator[str]:
    """Yield all texts that are in something, however deep; not those of a letter or two, which are everywhere."""
    if isinstance(sent, str) and len(sent) > 2:
        yield sent
    elif isinstance(sent, dict):
        yield from _texts([*sent, *sent.values()])
    elif isinstance(sent, list):
        for one in sent:
            yield from _texts(one)


def guarantee_in(wish: Privacy) -> Any:
    """Return the promise that was wished for."""
    given = wish.model_dump()
    return guarantee_of(no_privacy=given.pop("none"), spelled="{}", **given)


def _domain(wish: Create) -> Domain:
    """Return the domain; one that would not fit into memory is refused before it is made."""
    written = wish.domain if isinstance(wish.domain, str) else json.dumps(wish.domain)
    if any(int(one) > _LARGEST for one in re.findall(r"(?<![\d.])\d+(?![\d.])", written)):
        raise Problem("malformed", f"A domain is written with whole numbers up to {_LARGEST}.")
    try:
        found = written_domain(written) if isinstance(wish.domain, str) else build(wish.domain)
    except (AttributeError, LookupError, TypeError, RecursionError):
        found = None
    if found is None:
        raise Problem("malformed", "domain must be written like hypersimplex:20,5, or as specify() writes it.")
    return found if wish.labels is None else labelled(found, wish.labels)


def flat(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema with what it refers to in place."""
    parts = schema.pop("$defs", {})
    text = json.dumps(schema)
    for name, part in parts.items():
        text = text.replace(json.dumps({"$ref": f"#/$defs/{name}"}), json.dumps(part))
    found: dict[str, Any] = json.loads(text)
    return found
