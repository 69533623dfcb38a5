"""Studies over HTTP: created, asked, told, and looked at. Nothing that is told is logged, echoed or compared."""

import base64
import inspect
import json
import math
import re
from collections.abc import Callable
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from sottovoce._parsing import labelled, written_domain
from sottovoce._records import pack
from sottovoce.domains import Domain
from sottovoce.domains.specification import build, specify
from sottovoce.errors import StateRefused
from sottovoce.learning.segment_requests import segment_in_words
from sottovoce.models import Segments
from sottovoce.plans.options import DecisionFacts
from sottovoce.rehearsal import NotRehearsed
from sottovoce.service.context import Context
from sottovoce.service.endpoints import models
from sottovoce.service.endpoints._parsing import carried_out, guarantee_in, promised
from sottovoce.service.endpoints._route import Endpoints, IdempotencyKey, Made, Name, context_of, key_of
from sottovoce.service.problem_documents import Problem
from sottovoce.service.settings import Settings
from sottovoce.service.study_workers.asking import AskOrder
from sottovoce.studies import Recorded, Study, TellCall, export_lines

_LARGEST = 1_000_000  # of the numbers that a domain is written with
_LEAST_WORK = 2.0**-10  # of a forecast
MOST_IDS = 10_000  # of one answer
_TAKEN = (*DecisionFacts.__dataclass_fields__, "seed", "patience", "deadline", "plan", "exploration", "mechanism")
study_routes = Endpoints("/studies", lambda context: context.studies, problems=("study-not-found", "state-refused"))
_SegmentText = Annotated[
    str | None,
    Query(description="Whose: a name, or a level of each factor (phone,it or device=phone,country=it)."),
]

# ---------------------------------------------------------------------- creating


def _created(settings: Settings, wish: models.Create) -> dict[str, Any]:
    """Create the study, and close it: whoever asks opens it again."""
    making: dict[str, Any] = {
        "domain": _domain(wish.domain, wish.labels),
        "horizon": wish.horizon,
        "loss_range": (wish.loss_range[0], wish.loss_range[1]),
        "privacy": guarantee_in(wish.privacy),
        **{name: getattr(wish, name) for name in _TAKEN if hasattr(wish, name)},
        "segments": None if wish.segments is None else Segments(**wish.segments.model_dump()),
    }
    if wish.choices.keys() & {*making, *inspect.signature(Study.open).parameters}:
        # Not a choice of a plan: `restored`, say, would end the life of a study, with losses that are on record.
        raise Problem("malformed", "choices are of a plan; what else there is has a member of its own.")
    with Study.open(settings.storage, name=wish.name, noise=settings.noise, **(making | wish.choices)) as study:
        return {
            "study": wish.name,
            "created": study.created,
            "remaining": study.remaining,
            **promised(study.privacy, study.horizon),
        }


study_routes.declare_creation("a study; if it exists", models.Create, models.Created, _created)


def _domain(given: str | dict[str, Any], labels: list[str] | None) -> Domain:
    """Return the domain; one that would not fit into memory is refused before it is made."""
    written = given if isinstance(given, str) else json.dumps(given)
    if any(int(one) > _LARGEST for one in re.findall(r"(?<![\d.])\d+(?![\d.])", written)):
        raise Problem("malformed", f"A domain is written with whole numbers up to {_LARGEST}.")
    try:
        found = written_domain(written) if isinstance(given, str) else build(given)
    except (AttributeError, LookupError, MemoryError, TypeError, RecursionError):
        found = None
    if found is None:
        raise Problem("malformed", "domain must be written like hypersimplex:20,5, or as specify() writes it.")
    return found if labels is None else labelled(found, labels)


@study_routes.declared(
    "POST change",
    "Change the set of decisions, from the next round on, or how long rounds wait for their losses.",
    models.Definition,
    "admin",
)
async def change(request: Request, name: Name, wish: models.Change) -> Any:
    """Change a study; to repeat it changes nothing."""
    worker = await context_of(request).studies(name)
    worker.check()
    return await carried_out(worker.look(lambda study: _changed(study, wish)), wish)


def _changed(study: Study, wish: models.Change) -> dict[str, Any]:
    given = {one: getattr(wish, one) for one in ("patience", "deadline") if one in wish.model_fields_set}
    if wish.domain is None and wish.labels is not None:
        raise ValueError("labels come with the domain whose names they are")
    study.change(
        domain=None if wish.domain is None else _domain(wish.domain, wish.labels), features=wish.features, **given
    )
    return _definition(study)


# ---------------------------------------------------------------------- asking


@study_routes.declared(
    "POST ask",
    "Hand out the next action, a block of them, or the rest of a round.",
    models.Action | models.Actions,
    "ask",
    problems=("unknown-segment", "horizon-reached", "idempotency-key-reused"),
)
async def ask(
    request: Request, name: Name, wanted: models.Ask | None = None, idempotency_key: IdempotencyKey = None
) -> Response:
    """Hand out actions."""
    context = context_of(request)
    order = _order(wanted or models.Ask(), context.settings.largest_block)

    async def make() -> Made:
        answer = await (await context.studies(name)).ask(order)
        context.metrics.count(asked=len(answer.ids))
        return answer.body, lambda study: study.forget(answer.ids)

    return await study_routes.once(request, name, idempotency_key, order.asks, make, order.person)


def person_of(wanted: models.Ask | models.Assign) -> Any:
    """Return whom a call is for, one person or a list of them; refuse both."""
    if wanted.people is not None and wanted.person is not None:
        raise Problem("malformed", "people are one for each event: without person.")
    return wanted.person if wanted.people is None else wanted.people


def _order(wanted: models.Ask, largest: int) -> AskOrder:
    """Return what is asked for; refuse what contradicts itself, and what is too much."""
    size, several = wanted.size, wanted.segments if wanted.people is None else wanted.people
    if wanted.segments is not None and wanted.segment is not None:
        raise Problem("malformed", "segments are one for each action: without segment.")
    person = person_of(wanted)
    if several is not None:
        size = size if wanted.round else size or len(several) or None
    if (size or len(several or ())) > largest:
        raise Problem("too-large", f"size must be at most {largest}.")
    if wanted.round:
        size = size or largest
    return AskOrder(size, wanted.x, segment=wanted.segment, segments=wanted.segments, round=wanted.round, person=person)


# ---------------------------------------------------------------------- looking: counts and released values, no loss


@study_routes.declared(
    "GET /", "List the studies that the key may read.", models.Studies, "read", anywhere=True, name="list"
)
async def list_all(request: Request) -> Any:
    """List studies."""
    key = key_of(request)
    entries = await context_of(request).entries()
    return {"studies": [one.to_dict() for one in entries if key.study in (None, one.name)]}


def _look_by_segment(what: str, summary: str, model: Any, look: Callable[[Study, Any], Any]) -> None:
    """Declare an address at which a study is looked at, or one of its segments."""

    @study_routes.declared(f"GET {what}", summary, model, "read", problems=("unknown-segment",))
    async def answer(request: Request, name: Name, segment: _SegmentText = None) -> Any:
        return await context_of(request).look(name, lambda study: look(study, _segment_of(study, segment)))


def _segment_of(study: Study, said: str | None) -> Any:
    """Return the segment that a query names; a study without segments refuses any itself."""
    return said if said is None or study.segments is None else segment_in_words(study.segments, said, study.sizes)


def _posterior(study: Study, segment: Any) -> dict[str, str]:
    try:
        found = study.posterior(segment=segment)
    except ValueError as refused:  # its plan has no model
        raise StateRefused(str(refused)) from None
    return {"record": base64.b64encode(pack(found.to_record())).decode()}


def _fit_check(study: Study, segment: Any) -> dict[str, Any]:
    found = study.fit_check(segment=segment)
    return {"fit_check": None if found is None else found.to_dict()}


def _definition(study: Study) -> dict[str, Any]:
    segments = None if study.segments is None else study.segments.to_record()
    if segments is not None and "features" in segments:
        segments["features"] = segments["features"].tolist()
    facts = {"horizon": study.horizon, "loss_range": list(study.loss_range), "direction": study.direction}
    return {"domain": specify(study.domain), "segments": segments, **facts}


def _statement(study: Study) -> dict[str, Any]:
    from sottovoce.report import statement  # slow to import

    return asdict(statement(study))


def _report(study: Study) -> dict[str, str]:
    from sottovoce.report.html.study_page import study_page  # slow to import

    return {"page": study_page(study)}


_Plain = dict[str, Any]
_LOOKS: dict[str, tuple[str, Any, Callable[[Study], Any]]] = {
    "status": ("Where the study stands: counts and released values.", _Plain, lambda one: one.status().to_dict()),
    "definition": ("What the study was created with.", models.Definition, _definition),
    "plan": ("The plan in force.", _Plain, lambda one: one.plan.to_dict()),
    "privacy": ("The promise as plain data, with its argument.", _Plain, lambda one: one.privacy.to_dict()),
    "statement": ("What is promised, to whom, against whom, what is spent, what is not covered.", _Plain, _statement),
    "report": ("What the study has come to, as one HTML page with its pictures.", models.Page, _report),
}
for _what, _about in _LOOKS.items():
    study_routes.look_at(_what, *_about)


async def _tell(context: Context, name: str, call: TellCall) -> Recorded:
    return await (await context.studies(name)).tell(call)


study_routes.declare_common("actions", _tell)
_look_by_segment(
    "recommend",
    "The decision to take home, and how sure it is.",
    _Plain,
    lambda study, segment: study.recommend(segment=segment).to_dict(),
)
_look_by_segment(
    "posterior", "All that is believed of the losses: a prior for another study.", models.Posterior, _posterior
)
_look_by_segment("fit-check", "How well what was released fits the model of the losses.", models.FitCheck, _fit_check)


@study_routes.declared(
    "GET forecast",
    "What to expect of the whole run, rehearsed in worlds like the one that released numbers show.",
    _Plain,
    "read",
)
async def forecast(request: Request, name: Name, rehearse: Annotated[float, Query(gt=0, le=1)] = 1.0) -> Any:
    """Return a forecast, played once for each release and set."""
    times = max(_LEAST_WORK, 2.0 ** math.ceil(math.log2(rehearse)))  # of as many sizes, each is played once
    worker = await context_of(request).studies(name)
    try:
        found = await worker.made(
            f"forecast {times}", await worker.look(version_of), lambda study: study.forecast(rehearse=times)
        )
    except NotRehearsed as why:
        raise StateRefused(str(why)) from None
    return found.to_dict()


def version_of(study: Study) -> Any:
    """Return what changes with all that follows from releases."""
    standing = study.status()
    return standing.incarnation, standing.round, specify(study.domain)


@study_routes.declared(
    "GET outstanding",
    "Actions that were asked and neither told nor forgotten, the oldest first.",
    models.Outstanding,
    "read",
)
async def outstanding(request: Request, name: Name, limit: Annotated[int, Query(ge=0, le=MOST_IDS)] = 100) -> Any:
    """Return who waits."""
    found, total = await context_of(request).look(
        name, lambda study: (study.outstanding(limit), study.status().outstanding)
    )
    lists = {what: getattr(found, what).tolist() for what in ("ids", "rounds", "ages")}
    return {"outstanding": total, **lists, "waiting": [one._asdict() for one in found.waiting]}


@study_routes.declared(
    "GET export",
    "All released and public values, as JSON lines: a head, then a line for each round.",
    None,
    "read",
    response_class=StreamingResponse,
)
async def export(request: Request, name: Name) -> Response:
    """Return lines."""
    found = await context_of(request).look(name, lambda study: study.export())
    return StreamingResponse((line + "\n" for line in export_lines(found)), media_type="application/x-ndjson")
