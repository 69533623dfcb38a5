"""What the service can be asked, read off its OpenAPI document: a page that loads nothing from anywhere."""

import json
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Body", "Endpoint", "Manual", "manual"]

_METHODS = ("get", "post", "put", "patch", "delete")
_DEEP = 4  # levels of an example
_ID = "1.0.0.9cd230f79b25"
_KNOWN: dict[str, Any] = {  # what members are usually like
    "chosen": ["tea", "milk"],
    "domain": "hypersimplex:20,5",
    "epsilon": 1.0,
    "horizon": 100_000,
    "id": _ID,
    "ids": [_ID],
    "name": "spring",
    "privacy": {"epsilon": 1.0},
    "size": 8,
}


@dataclass(frozen=True, slots=True)
class Body:
    """What is sent or answered: its media type, its members (name, type, words), and an example."""

    media: str
    members: tuple[tuple[str, str, str], ...]
    example: str


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One thing to ask.

    Attributes
    ----------
    anchor, method, path, summary, words
        Where it is, and what it does.
    parameters
        Names, places and words of what goes into the address or headers.
    bodies, answers
        What it reads, and what it answers with (status, words, body).
    problems
        Statuses and words of what may go wrong.
    curl
        A call from the command line.
    """

    anchor: str
    method: str
    path: str
    summary: str
    words: str
    parameters: tuple[tuple[str, str, str], ...]
    bodies: tuple[Body, ...]
    answers: tuple[tuple[str, str, Body | None], ...]
    problems: tuple[tuple[str, str], ...]
    curl: str


@dataclass(frozen=True, slots=True)
class Manual:
    """All of them, under a title."""

    title: str
    words: str
    endpoints: tuple[Endpoint, ...]


def manual(document: Mapping[str, Any], base: str) -> Manual:
    """Return an OpenAPI document as a page shows it; `base` is where the service is, for examples."""
    about = document.get("info", {})
    endpoints = tuple(
        _endpoint(document, path, method, one, base)
        for path, methods in document.get("paths", {}).items()
        for method, one in methods.items()
        if method in _METHODS
    )
    return Manual(str(about.get("title", "")), str(about.get("description", "")), endpoints)


def _endpoint(document: Mapping[str, Any], path: str, method: str, one: Mapping[str, Any], base: str) -> Endpoint:
    bodies = tuple(_bodies(document, one.get("requestBody", {}).get("content", {}), sent=True))
    answers, problems = [], []
    for status, answer in one.get("responses", {}).items():
        if str(status)[0] in "23":
            body = next(iter(_bodies(document, answer.get("content", {}))), None)
            answers.append((str(status), str(answer.get("description", "")), body))
        else:
            problems.append((str(status), str(answer.get("description", ""))))
    parameters = tuple(
        (str(name["name"]), str(name.get("in", "")), str(name.get("description", "")))
        for name in one.get("parameters", ())
    )
    anchor = "-".join(filter(None, [method, *path.replace("{", "").replace("}", "").split("/")]))
    needs_key = bool(one.get("security", document.get("security")))
    return Endpoint(
        anchor=anchor,
        method=method.upper(),
        path=path,
        summary=str(one.get("summary", "")),
        words=str(one.get("description", "")),
        parameters=parameters,
        bodies=bodies,
        answers=tuple(answers),
        problems=tuple(sorted(problems)),
        curl=_curl(method, path, bodies, base, needs_key=needs_key),
    )


def _bodies(document: Mapping[str, Any], content: Mapping[str, Any], *, sent: bool = False) -> Iterable[Body]:
    for media, one in content.items():
        schema = one.get("schema", {})
        given = one.get("example", schema.get("example"))
        if given is None and "json" in media:
            given = _example(document, schema)
        if "ndjson" in media and (given is None or isinstance(given, str)):
            given = json.dumps({"id": _ID, "loss": 0.25}) if sent else None
        shown = given if isinstance(given, str) or given is None else json.dumps(given, ensure_ascii=False)
        yield Body(str(media), tuple(_members(document, schema)), shown or "")


def _resolved(document: Mapping[str, Any], schema: Any) -> dict[str, Any]:
    """Follow a reference within the document, or within the schema itself."""
    found = dict(schema) if isinstance(schema, Mapping) else {}
    for _ in range(8):
        reference = found.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#/"):
            break
        place: Any = document
        for step in reference[2:].split("/"):
            place = place.get(step, {}) if isinstance(place, Mapping) else {}
        if not place and "$defs" in schema:
            place = schema["$defs"].get(reference.rsplit("/", 1)[1], {})
        found = dict(place)
    return found


def _alternatives(document: Mapping[str, Any], schema: Any) -> list[dict[str, Any]]:
    found = _resolved(document, schema)
    inner = found.get("anyOf") or found.get("oneOf")
    if not inner:
        return [found]
    shared = {"$defs": found["$defs"]} if "$defs" in found else {}
    return [_resolved(document, {**shared, **one}) for one in inner]


def _members(document: Mapping[str, Any], schema: Any) -> Iterable[tuple[str, str, str]]:
    """Return the members of an object; where there is a choice of several, of each of them once."""
    seen = set()
    for one in _alternatives(document, schema):
        needed = one.get("required", ())
        for name, member in one.get("properties", {}).items():
            if name not in seen:
                seen.add(name)
                kind = _kind(document, member)
                yield str(name), kind if name in needed else f"{kind}, optional", _described(document, member)


def _described(document: Mapping[str, Any], member: Any) -> str:
    return str(member.get("description") or _resolved(document, member).get("description", ""))


def _kind(document: Mapping[str, Any], schema: Any) -> str:
    words = []
    for one in _alternatives(document, schema):
        if "const" in one or "enum" in one:
            words.append(" or ".join(json.dumps(value) for value in one.get("enum", [one.get("const")])))
        elif one.get("type") == "array":
            words.append(f"list of {_kind(document, one.get('items', {}))}")
        else:
            kinds = one.get("type", "anything")
            words += kinds if isinstance(kinds, list) else [kinds]
    return " or ".join(dict.fromkeys(map(str, words)))


def _example(document: Mapping[str, Any], schema: Any, depth: int = 0) -> Any:
    """Return what fits a schema: its own example, or the plainest value."""
    one = _alternatives(document, schema)[0]
    for name in ("example", "const", "default"):
        if one.get(name) is not None:
            return one[name]
    if one.get("examples"):
        return one["examples"][0]
    if one.get("enum"):
        return one["enum"][0]
    kind = one.get("type")
    if kind == "object" and depth < _DEEP:
        members = one.get("properties", {})
        needed = [name for name in one.get("required") or list(members)[:4] if name in members]
        return {
            name: _KNOWN[name] if name in _KNOWN else _example(document, members[name], depth + 1) for name in needed
        }
    if kind == "array":
        return [_example(document, one.get("items", {}), depth + 1)] if depth < _DEEP else []
    plain: dict[Any, Any] = {"string": "...", "integer": 1, "number": 0.25, "boolean": True, "object": {}}
    return plain.get(kind)


def _curl(method: str, path: str, bodies: tuple[Body, ...], base: str, *, needs_key: bool) -> str:
    words = ["curl"]
    if method != "get":
        words += ["-X", method.upper()]
    lines = [" ".join([*words, shlex.quote(base + path.replace("{name}", "spring"))])]
    if needs_key:
        lines.append('-H "Authorization: Bearer $KEY"')
    if bodies:
        lines.append(f"-H {shlex.quote('Content-Type: ' + bodies[0].media)}")
        lines.append(f"--data {shlex.quote(bodies[0].example or '{}')}")
    return " \\\n  ".join(lines)
