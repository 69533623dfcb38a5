"""What is wrong with a request, in words that repeat no value; nor, where losses are told, a name that was made up."""

import re
from collections.abc import Awaitable, Iterable, Iterator, Mapping
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from sottovoce._parsing import guarantee_of
from sottovoce.privacy import PrivacyStatement
from sottovoce.privacy.promise import cautions_of
from sottovoce.service.endpoints import models
from sottovoce.service.problem_documents import Problem, problem_for

Model = TypeVar("Model", bound=BaseModel)
Found = TypeVar("Found")
_NUMBERS = "must be numbers: one for each action, or a list or an object of those of its items"
_WHOLE = "must be a whole number"
_WORDS = {  # by pydantic's kinds of errors; limits are those that were declared
    "missing": "is missing",
    "string_type": "must be a text",
    "int_type": _WHOLE,
    "int_parsing": _WHOLE,
    "int_from_float": _WHOLE,
    "float_type": "must be a number",
    "list_type": "must be a list",
    "bool_type": "must be true or false",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "dict_type": "must be an object",
    "literal_error": "must be {expected}",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "less_than": "must be below {lt}",
    "too_short": "must have at least {min_length} members",
    "too_long": "must have at most {max_length} members",
    "string_too_long": "must have at most {max_length} characters",
    "string_pattern_mismatch": "must be 1 to 200 printable characters of ASCII",
}


def malformed(errors: Iterable[Mapping[str, Any]], body: Any, **facts: Any) -> Problem:
    """Return the problem that errors of pydantic are: what is wrong and where, by declared names alone.

    Parameters
    ----------
    errors
        As pydantic lists them.
    body
        What the body is declared as.
    facts
        Further members of the document.
    """
    found: dict[str, list[str]] = {}  # by place: where several kinds of values would do, none did
    for error in errors:
        kind, (source, *path) = error["type"], error["loc"] or ("body",)
        if kind == "json_invalid":
            return Problem("malformed", "The body is not JSON.", **facts)
        names, members = ([str(path[0])], {}) if source != "body" else _followed(body, path)
        words = _WORDS.get(kind, "is not as it must be").format_map(error.get("ctx") or {})
        if kind == "extra_forbidden":
            words = f"has {_unknown(body, path)}; known are {', '.join(members)}"
        if names and names[0] in ("loss", "losses"):
            words = _NUMBERS  # whichever it was: below it are names of items
        found.setdefault(" ".join(names) or "The body", []).append(words)
    said = [f"{where} {_either(list(dict.fromkeys(words)))}" for where, words in found.items()]
    return Problem("malformed", "; ".join(said[:5]) + ".", **facts)


def _unknown(body: Any, path: list[Any]) -> str:
    """Name a member that is not known; but of a tell: what is a name there may be what somebody has clicked."""
    name = str(path[-1]) if path else ""
    if body is models.Tell or models.Tell in get_args(body) or not re.fullmatch("[A-Za-z_]{1,40}", name):
        return "a member that is not known"
    return f"a member {name!r}, which is not known"


def _either(words: list[str]) -> str:
    """Return what a member must be, of several things that would do."""
    return " or ".join([words[0], *(one.removeprefix("must be ") for one in words[1:])])


def _followed(body: Any, path: Iterable[Any]) -> tuple[list[str], dict[str, Any]]:
    """Return the names of declared members on the way to a place, and the members of the last object there."""
    names: list[str] = []
    members: dict[str, Any] = _members(body)
    for one in path:
        if one in members:
            names.append(one)
            inner = _members(members[one].annotation)
            if (
                not inner
            ):  # what is below is no declared member, but what was sent: the name of an item that was clicked
                break
            members = inner
    return names, members


def _members(annotation: Any) -> dict[str, Any]:
    kinds = [one for one in (annotation, *get_args(annotation)) if hasattr(one, "model_fields")]
    return kinds[0].model_fields if kinds else {}


def parsed(body: bytes, model: type[Model], **facts: Any) -> Model:
    """Return JSON as a model; refuse it without repeating it, not even in a chained error."""
    try:
        return model.model_validate_json(body)
    except ValidationError as problem:
        errors = problem.errors(include_url=False, include_input=False)
        refused = malformed([{**one, "loc": ("body", *one["loc"])} for one in errors], model, **facts)
    raise refused


async def carried_out(work: Awaitable[Found], wish: BaseModel) -> Found:
    """Return what becomes of a wish; errors speak without the texts of the wish."""
    try:
        return await work
    except (ValueError, TypeError) as error:
        refused = problem_for(error, words=True)
    members = {*type(wish).model_fields, *models.Privacy.model_fields}
    for text in sorted({*_texts(wish.model_dump(exclude={"privacy"}))} - members, key=len, reverse=True):
        refused.detail = re.sub(re.escape(text), "...", refused.detail or "")
    raise refused  # outside of `except`: without the error as its context


def _texts(sent: Any) -> Iterator[str]:
    """Yield all texts that are in something, however deep; not those of a letter or two, which are everywhere."""
    if isinstance(sent, str) and len(sent) > 2:
        yield sent
    elif isinstance(sent, dict):
        yield from _texts([*sent, *sent.values()])
    elif isinstance(sent, list):
        for one in sent:
            yield from _texts(one)


def promised(privacy: PrivacyStatement, horizon: int | None = None) -> dict[str, Any]:
    """Return what whoever creates something has promised by it: the promise, and what speaks against it."""
    return {"privacy": str(privacy.headline), "warnings": list(cautions_of(privacy.guarantee, horizon))}


def guarantee_in(wish: models.Privacy) -> Any:
    """Return the promise that was wished for."""
    given = wish.model_dump()
    if not wish.none and wish.epsilon is None and wish.rho is None:
        raise Problem("malformed", "privacy must say how much: epsilon, or rho, or none (true).")
    return guarantee_of(no_privacy=given.pop("none"), spelled="{}", **given)
