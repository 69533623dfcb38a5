"""What is wrong with a request, in words that repeat nothing of it but names that are declared."""

from collections.abc import Awaitable, Iterable, Iterator, Mapping
from itertools import takewhile
from typing import Any, TypeVar

from pydantic import BaseModel

from sottovoce._parsing import guarantee_of
from sottovoce.privacy import PrivacyStatement
from sottovoce.privacy.promise import cautions_of
from sottovoce.service.endpoints import models
from sottovoce.service.problem_documents import Problem, problem_for

Found = TypeVar("Found")


def malformed(errors: Iterable[Mapping[str, Any]]) -> Problem:
    """Return the problem that errors of pydantic are, by declared names; its words say what is wanted, and no value."""
    found: dict[str, dict[str, None]] = {}  # by place: where several kinds of values would do, none did
    for error in errors:
        source, *path = error["loc"]
        # What is not declared, or below such a thing, is what was sent: the name of an item that was clicked, say.
        names = list(takewhile(models.NAMES.__contains__, path)) if source == "body" else path[:1]
        found.setdefault(".".join(names) or "the body", {})[error["msg"]] = None
    return Problem("malformed", "; ".join(f"{where}: {', or '.join(words)}" for where, words in found.items()))


async def carried_out(work: Awaitable[Found], wish: BaseModel) -> Found:
    """Return what becomes of a wish; errors speak without the texts of the wish."""
    try:
        return await work
    except (ValueError, TypeError) as error:
        refused = problem_for(error, words=True)
    sent = {*_texts(wish.model_dump(exclude={"privacy"}))} - models.NAMES
    for text in sorted(sent, key=len, reverse=True):
        refused.detail = (refused.detail or "").replace(repr(text), "...").replace(text, "...")
    raise refused  # outside of `except`: without the error as its context


def _texts(sent: Any) -> Iterator[str]:
    """Yield all texts that are in something, however deep; not those of a letter or two, which are everywhere."""
    if isinstance(sent, str) and len(sent) > 2:
        yield sent
    elif isinstance(sent, dict | list):
        for one in [*sent, *sent.values()] if isinstance(sent, dict) else sent:
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
