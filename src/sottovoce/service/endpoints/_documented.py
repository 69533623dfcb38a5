"""How an endpoint is documented: what it reads and answers, for the OpenAPI document."""

from collections.abc import Iterable, Mapping
from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel, TypeAdapter
from starlette.responses import Response

from sottovoce.service.problem_documents import KINDS

__all__ = ["NAME", "documented", "documented_app", "parameter", "schema_of"]

_ALWAYS = ("unauthorised", "forbidden", "too-large", "too-many", "storage-error")
_PROBLEM = {
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
    },
}


def parameter(name: str, where: str, schema: Mapping[str, Any], words: str) -> dict[str, Any]:
    """Return the description of a parameter in an address or a header."""
    return {"name": name, "in": where, "required": where == "path", "schema": dict(schema), "description": words}


NAME = parameter("name", "path", {"type": "string", "minLength": 1, "maxLength": 200}, "The name of the study.")


def schema_of(model: Any) -> dict[str, Any]:
    """Return the JSON schema of what a model reads."""
    return TypeAdapter(model).json_schema()


def documented(
    words: str,
    *,
    reads: Mapping[str, Any] | None = None,
    needed: bool = True,
    answers: Mapping[str, Any] | type[BaseModel] | None = None,
    media: str = "application/json",
    status: int = 200,
    problems: Iterable[str] = (),
    parameters: Iterable[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """Return what a route is told of itself.

    Parameters
    ----------
    words
        What it does, in a line.
    reads, needed
        The schema of its body by media type, and whether there must be one.
    answers, media, status
        The schema of what it answers, as what, and with which status.
    problems
        The kinds of problems that it may answer, besides those that every endpoint may.
    parameters
        In its address and headers.
    """
    schema = schema_of(answers) if isinstance(answers, type) else dict(answers or {})
    found: dict[str, Any] = {str(status): {"description": "Done.", "content": {media: {"schema": schema}}}}
    for kind in (*_ALWAYS, *problems):
        there = found.setdefault(
            str(KINDS[kind].status),
            {"description": "", "content": {"application/problem+json": {"schema": _PROBLEM}}},
        )
        there["description"] = "; ".join(filter(None, (there["description"], f"{kind}: {KINDS[kind].title}")))
    extra: dict[str, Any] = {"parameters": list(parameters), "responses": found, "security": [{"key": []}]}
    if reads is not None:
        content = {name: {"schema": schema} for name, schema in reads.items()}
        extra["requestBody"] = {"required": needed, "content": content}
    return {
        "summary": words,
        "openapi_extra": extra,
        "responses": {},
        "response_model": None,
        "response_class": Response,  # of no media type: FastAPI would document its own beside ours
        "status_code": status,
    }


def documented_app(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document of the service: its endpoints, and how a key is sent."""
    found = app.openapi()
    components = found.setdefault("components", {})
    components["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer", "description": "A key."}}
    return found
