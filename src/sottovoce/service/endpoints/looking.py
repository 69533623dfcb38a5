"""What a study shows of itself over HTTP: counts, plans, and released values; never a loss."""

import base64
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import asdict
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from sottovoce._records import pack
from sottovoce.domains.naming import as_plain
from sottovoce.domains.specification import specify
from sottovoce.errors import StateRefused
from sottovoce.learning.segmented.requests import segment_in_words
from sottovoce.models import Posterior
from sottovoce.service.context import ANY, Context
from sottovoce.service.endpoints._documented import NAME, documented, parameter
from sottovoce.service.endpoints._reading import study_of
from sottovoce.service.problem_documents import Problem
from sottovoce.studies import Study, export_lines

__all__ = ["looking_routes"]

_MOST = 10_000  # ids of one answer
_LIMIT = parameter("limit", "query", {"type": "integer", "minimum": 0, "maximum": _MOST, "default": 100}, "At most.")
_SEGMENT = parameter(
    "segment",
    "query",
    {"type": "string"},
    "Of a study with segments, whose: a name, or a level of each factor (phone,it or device=phone,country=it).",
)
_OBJECT = {"type": "object"}


def looking_routes(context: Context) -> APIRouter:
    """Return the routes by which a study is looked at."""
    router = APIRouter()
    _list(router, context)
    for name, (words, look) in _LOOKS.items():
        _look(router, context, name, words, look, by_segment=name in _BY_SEGMENT)
    _channel(router, context)
    _outstanding(router, context)
    _export(router, context)
    return router


def _list(router: APIRouter, context: Context) -> None:
    answers = {"type": "object", "required": ["studies"], "properties": {"studies": {"type": "array"}}}

    @router.get("/studies", name="list", **documented("List the studies that the key may read.", answers=answers))
    async def list_all(request: Request) -> Response:
        key = await context.gate(request, "read", ANY)
        entries = await context.entries()
        return _json({"studies": [one.to_dict() for one in entries if key.study in (None, one.name)]})


def _look(
    router: APIRouter, context: Context, what: str, words: str, look: Callable[..., Any], *, by_segment: bool
) -> None:
    problems = ("study-not-found", "state-refused", "malformed", *(("unknown-segment",) if by_segment else ()))
    parameters = (NAME, *((_SEGMENT,) if by_segment else ()))
    about = documented(words, answers=_OBJECT, problems=problems, parameters=parameters)

    @router.get("/studies/{name:path}/" + what, name=what, **about)
    async def answer(request: Request) -> Response:
        name = study_of(request)
        await context.gate(request, "read", name)
        said = request.query_params.get("segment")
        if not by_segment:
            return _json(await context.look(name, look))
        return _json(await context.look(name, lambda study: look(study, _segment_of(study, said))))


def _segment_of(study: Study, said: str | None) -> Any:
    """Return the segment that a query names; a study without segments refuses any itself."""
    return said if said is None or study.segments is None else segment_in_words(study.segments, said, study.sizes)


def _channel(router: APIRouter, context: Context) -> None:
    about = documented(
        "The channel by which owners privatise their losses, for studies with local privacy.",
        answers=_OBJECT,
        problems=("study-not-found", "no-channel"),
        parameters=(NAME,),
    )

    @router.get("/studies/{name:path}/channel", name="channel", **about)
    async def channel(request: Request) -> Response:
        name = study_of(request)
        await context.gate(request, ("ask", "tell", "read"), name)
        return _json(await context.look(name, _channel_of))


def _outstanding(router: APIRouter, context: Context) -> None:
    about = documented(
        "Actions that were asked and neither told nor forgotten, the oldest first.",
        answers=_OBJECT,
        problems=("study-not-found", "malformed"),
        parameters=(NAME, _LIMIT),
    )

    @router.get("/studies/{name:path}/outstanding", name="outstanding", **about)
    async def outstanding(request: Request) -> Response:
        name = study_of(request)
        await context.gate(request, "read", name)
        limit = _limit(request.query_params.get("limit", "100"))
        return _json(await context.look(name, lambda study: _outstanding_of(study, limit)))


def _export(router: APIRouter, context: Context) -> None:
    about = documented(
        "All released and public values, as JSON lines: a head, then a line for each round.",
        answers={"type": "string"},
        media="application/x-ndjson",
        problems=("study-not-found", "state-refused"),
        parameters=(NAME,),
    )

    @router.get("/studies/{name:path}/export", name="export", **about)
    async def export(request: Request) -> Response:
        name = study_of(request)
        await context.gate(request, "read", name)
        found = await context.look(name, lambda study: study.export())

        async def lines() -> AsyncIterator[str]:
            for line in export_lines(found):
                yield line + "\n"

        return StreamingResponse(lines(), media_type="application/x-ndjson")


def _believed(study: Study, segment: Any) -> Posterior:
    try:
        return study.posterior(segment=segment)
    except ValueError as refused:  # its plan has no model
        raise StateRefused(str(refused)) from None


def _saved_posterior(study: Study, segment: Any) -> dict[str, str]:
    return {"record": base64.b64encode(pack(_believed(study, segment).to_record())).decode()}


def _posterior(study: Study, segment: Any) -> dict[str, Any]:
    """Return what is believed of each coordinate."""
    known = _believed(study, segment)
    return {
        "model": known.model,
        "rounds": known.rounds,
        "privacy": known.privacy,
        "simulated": known.simulated,
        "promises": [one.to_dict() for one in known.promises],
        "coordinates": [as_plain(name) for name in study.domain.coordinate_names],
        "center": known.center.tolist(),
        "slopes": known.slopes.tolist(),
        "deviations": None if known.deviations is None else known.deviations.tolist(),
        "level": float(known.level),
        "curvature": float(known.curvature),
        "misfit": known.misfit.to_dict(),
    }


def _misfit(study: Study, segment: Any) -> dict[str, Any]:
    found = study.misfit(segment=segment)
    return {"misfit": None if found is None else found.to_dict()}


def _definition(study: Study) -> dict[str, Any]:
    """Return what a study was made with; no domain, if it holds functions that cannot be written down."""
    segments = None if study.segments is None else study.segments.to_record()
    if segments is not None and "features" in segments:
        segments["features"] = segments["features"].tolist()
    return {
        "domain": specify(study.domain),
        "segments": segments,
        "horizon": study.horizon,
        "loss_range": list(study.loss_range),
    }


def _statement(study: Study) -> dict[str, Any]:
    from sottovoce.report import statement  # slow to import

    return asdict(statement(study))


def _channel_of(study: Study) -> dict[str, Any]:
    try:
        found: dict[str, Any] = study.channel.to_dict()
    except AttributeError:
        raise Problem("no-channel") from None
    return found


def _outstanding_of(study: Study, limit: int) -> dict[str, Any]:
    found, total = study.outstanding(limit), study.status().outstanding
    return {
        "outstanding": total,
        "ids": found.ids.tolist(),
        "rounds": found.rounds.tolist(),
        "ages": found.ages.tolist(),
        "waiting": [one._asdict() for one in found.waiting],
    }


_BY_SEGMENT: dict[str, tuple[str, Callable[[Study, Any], Any]]] = {
    "recommend": (
        "The decision to take home, and how sure it is.",
        lambda study, segment: study.recommend(segment=segment).to_dict(),
    ),
    "posterior": ("What is believed of the losses, with its uncertainty.", _posterior),
    "saved-posterior": ("All that is believed, in base64: a prior for another study.", _saved_posterior),
    "misfit": ("How well what was released fits the model of the losses; null without one.", _misfit),
}
_LOOKS: dict[str, tuple[str, Callable[..., Any]]] = {
    "status": ("Where the study stands: counts and released values.", lambda study: study.status().to_dict()),
    "definition": ("What the study was created with: set, segments, horizon, range of losses.", _definition),
    "plan": ("The plan in force.", lambda study: study.plan.to_dict()),
    "privacy": ("The promise as plain data, with its argument.", lambda study: study.privacy.to_dict()),
    "statement": ("What is promised, to whom, against whom, what is spent, what is not covered.", _statement),
    **_BY_SEGMENT,
}


def _limit(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text) <= _MOST):
        raise Problem("malformed", f"limit must be a whole number from 0 to {_MOST}.")
    return int(text)


def _json(found: Any) -> Response:
    return Response(json.dumps(found, allow_nan=False).encode(), media_type="application/json")
