"""Problems as RFC 9457 wants them: one table from the library's errors to kinds, status codes and words.

No problem document repeats what it was sent. A loss is never in the library's errors; other values may be, and are cut
off here.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel
from starlette.responses import Response

from sottovoce import errors


class ProblemDocument(BaseModel):
    """What went wrong: `type` is the address of a page that explains it, `detail` what to do."""

    type: str
    title: str
    status: int
    detail: str


@dataclass(frozen=True)
class Kind:
    """One kind of problem.

    Attributes
    ----------
    name, status, title
        Its name in addresses, the HTTP status, and a few words.
    advice
        What it means, and what to do.
    silent
        Whether words of the library's errors are withheld: they repeat ids, name other studies, or say where the
        storage is.
    """

    name: str
    status: int
    title: str
    advice: str
    silent: bool


_TABLE = """
unknown-action | 404 | This was not handed out here | An ask returns ids, opening an evaluation its number. | silent
unknown-segment | 404 | The study has no such segment | Name one of its own; no more may open on first use. | silent
already-told | 409 | The action has its loss already | Nothing needs to be done: the first loss counts. | silent
round-closed | 409 | The loss came too late | Its round is closed. Send "late": "drop" to let it go. | silent
invalid-loss | 422 | A loss cannot be taken | Send finite numbers, of what was chosen; nothing of the call was recorded.
wrong-report | 422 | A loss where a report is due, or the other way round | See GET /studies/{name}/channel.
horizon-reached | 409 | All events of the study are asked | Take its recommendation, or create a study.
not-released | 409 | Nothing of the evaluation is released | It waits for losses, or was abandoned. | silent
study-not-found | 404 | There is no such study | GET /studies lists those that the key may read. | silent
configuration-mismatch | 409 | It exists, and was created otherwise | Choose another name, or leave out what differs.
state-refused | 409 | The study cannot be used that way | The detail says why.
no-channel | 409 | The study has no channel | It does not have local privacy: tell the loss itself.
ledger-exceeded | 409 | The budget of the ledger does not pay for this | Ask for less, or for more budget.
ledger-conflict | 409 | The ledger has something else on record | The detail says what.
study-behind | 409 | The storage is older than what it handed out | It was restored: ask anew. | silent
study-damaged | 500 | What is stored is damaged | Run `sottovoce study verify`, and restore a backup. | silent
storage-error | 503 | The storage cannot be used at present | Repeat the call: repeating is harmless. | silent
malformed | 422 | The request is not understood | See /docs for what it must look like.
too-large | 413 | The request is too large | Send smaller blocks.
too-many | 429 | Too many requests | Wait for as long as Retry-After says.
unauthorised | 401 | A key is needed | Send Authorization: Bearer KEY; `sottovoce serve key create` makes keys.
forbidden | 403 | The key may not do this | Use a key with the role, for this study or for all.
idempotency-key-reused | 422 | The idempotency key belongs to another request | Use a fresh key for every new request.
not-found | 404 | There is nothing here | See /docs for what there is.
method-not-allowed | 405 | This cannot be done here | See /docs for how it is called.
internal | 500 | Something went wrong in the service | The log has the incident, by its number. Repeating is harmless.
"""
# `no-channel` is a kind of its own: a client that took another refusal for it would send raw losses to a study that has
# a channel.
KINDS: Mapping[str, Kind] = {
    name: Kind(name, int(status), title, advice, bool(silent))
    for name, status, title, advice, *silent in (line.split(" | ") for line in _TABLE.strip().splitlines())
}
_OF_ERRORS = {
    getattr(errors, "".join(part.capitalize() for part in name.split("-")), None): kind for name, kind in KINDS.items()
}


class Problem(Exception):
    """A request that is answered with a problem document.

    Parameters
    ----------
    kind
        The name of its kind.
    detail
        What happened; nothing of the request.
    headers
        Of the answer.
    facts
        Further members of the document.
    """

    def __init__(
        self, kind: str, detail: str | None = None, headers: Mapping[str, str] | None = None, **facts: Any
    ) -> None:
        super().__init__(kind)
        self.kind, self.detail, self.headers, self.facts = KINDS[kind], detail, dict(headers or {}), facts


def problem_for(error: BaseException, *, words: bool = False) -> Problem:
    """Return the problem that an error of the library is; one that is unknown is `internal`.

    Parameters
    ----------
    error
        What was raised.
    words
        Whether a `ValueError` or `TypeError` that is not of the library's own kinds may speak: never where losses are.
    """
    if isinstance(error, Problem):
        return error
    kind = next((found for kind, found in _OF_ERRORS.items() if kind is not None and isinstance(error, kind)), None)
    if kind is None and isinstance(error, errors.SottovoceError):
        return Problem("malformed", _cut(str(error)))
    if kind is None:
        if words and isinstance(error, ValueError | TypeError):
            kept = "TypeError" if isinstance(error, TypeError) else "ValueError"
            return Problem("malformed", _cut(str(error)), error=kept)
        return Problem("internal")
    headers = {"Retry-After": "1"} if kind.status == 503 else None
    return Problem(kind.name, None if kind.silent else _cut(str(error)), headers)


def problem_response(problem: Problem) -> Response:
    """Return the answer that says so."""
    kind = problem.kind
    document = {
        "type": f"/problems/{kind.name}",
        "title": kind.title,
        "status": kind.status,
        "detail": problem.detail or f"{kind.title}. {kind.advice}",  # clients show this alone
        **problem.facts,
    }
    body = json.dumps(document).encode()
    return Response(body, kind.status, problem.headers, media_type="application/problem+json")


def _cut(words: str) -> str:
    """Return the words of an error without the values that it found, and without where studies are stored."""
    here = re.sub(
        r" at (?:sqlite|postgresql)\S*|(?<= is )(.+?), not (?:[^;.]|[.](?=[0-9]))*", lambda found: found[1] or "", words
    )
    here = re.sub(r"^size=\d+ actions", "more actions", here)
    return re.split(r",? (?:but )?got ", here, maxsplit=1)[0]
