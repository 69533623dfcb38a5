"""Reading requests: bodies are checked against a model; what is wrong with them is said without repeating them."""

import time
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError
from starlette.requests import Request

from sottovoce.service.context import Context
from sottovoce.service.keys import Key
from sottovoce.service.problem_documents import Problem

__all__ = ["AT_ONCE", "Body", "let_in", "parsed", "read_body", "study_of"]

AT_ONCE = 0.05
"""Seconds within which a look at a key is not repeated."""

Model = TypeVar("Model")


class Body(BaseModel):
    """What bodies have in common: no text for a number, no member that nobody knows, and no value in print."""

    model_config = ConfigDict(strict=True, extra="forbid", hide_input_in_errors=True)


async def let_in(context: Context, request: Request, role: str, study: str | None = None) -> Key:
    """Return the key of a request, and have its body read.

    A key may be revoked while a body comes in, which can take as long as the client wishes: so it is looked at again.

    Parameters
    ----------
    context, request
        Whose gate, and who is there.
    role, study
        As the gate takes them.
    """
    key = await context.gate(request, role, study)
    began = time.monotonic()
    await request.body()  # and there it stays
    if time.monotonic() - began > AT_ONCE:
        key = await context.gate.again(request, role, study)
    return key


async def read_body(request: Request, adapter: TypeAdapter[Model], empty: Model | None = None) -> Model:
    """Return the body of a request; `empty` is what an empty one stands for."""
    body = await request.body()
    if empty is not None and not body.strip():
        return empty
    return parsed(body, adapter)


def parsed(body: bytes | bytearray, adapter: TypeAdapter[Model], **facts: Any) -> Model:
    """Return JSON as the adapter says it should be; refuse it without repeating it, not even in a chained error."""
    try:
        return adapter.validate_json(body)
    except ValidationError as problem:
        words = _said(problem)
    except (ValueError, RecursionError):
        words = "The body is not JSON."
    raise Problem("malformed", words, **facts)


def _said(problem: ValidationError) -> str:
    """Say what is wrong and where, by the names of the model alone: names of unknown members are input as well."""
    found = []
    for error in problem.errors(include_url=False, include_context=False, include_input=False):
        kind = error["type"]
        if kind == "json_invalid":
            return "The body is not JSON."
        if kind in ("extra_forbidden", "unexpected_keyword_argument"):
            found.append("There is a member that is not known here")
        else:
            where = " ".join(str(one) for one in error["loc"] if isinstance(one, str) and one.isidentifier())
            found.append(f"{where}: {_plainly(kind)}" if where else _plainly(kind))
    return "; ".join(sorted(set(found))[:5]) + "."


def _plainly(kind: str) -> str:
    words = {
        "missing": "is missing",
        "string_type": "must be a text",
        "int_type": "must be a whole number",
        "float_type": "must be a number",
        "list_type": "must be a list",
        "bool_type": "must be true or false",
        "literal_error": "must be one of the words that are allowed",
        "model_type": "must be an object",
        "dict_type": "must be an object",
    }
    return words.get(kind, f"is not as it must be ({kind.replace('_', ' ')})")


def study_of(request: Request) -> str:
    """Return the name of the study in an address."""
    return str(request.path_params["name"])
