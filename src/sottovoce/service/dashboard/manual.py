"""What the service can be asked, read off its OpenAPI document: a page that loads nothing from anywhere."""

import json
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

Members = tuple[tuple[str, str, str], ...]
"""Names, types and words of the members of an object."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One thing to ask.

    Attributes
    ----------
    method, path, about
        Where it is, and its operation in the document.
    bodies, answers
        What it reads (media type, members), and what it answers (status, media type, members).
    problems
        Statuses and words of what may go wrong.
    curl
        A call from the command line.
    """

    method: str
    path: str
    about: Mapping[str, Any]
    bodies: tuple[tuple[str, Members], ...]
    answers: tuple[tuple[str, str, Members], ...]
    problems: tuple[tuple[str, str], ...]
    curl: str

    @property
    def anchor(self) -> str:
        """By which a link finds it."""
        return "-".join([self.method.lower(), *filter(None, self.path.replace("{", "").replace("}", "").split("/"))])


def manual(document: Mapping[str, Any], base: str) -> tuple[Endpoint, ...]:
    """Return the endpoints of an OpenAPI document; `base` is where the service is, for examples."""
    return tuple(
        _endpoint(document, path, method, about, base)
        for path, methods in document["paths"].items()
        for method, about in methods.items()
    )


def _endpoint(document: Mapping[str, Any], path: str, method: str, about: Mapping[str, Any], base: str) -> Endpoint:
    content = about.get("requestBody", {}).get("content", {})
    place = path.replace("{name}", "prices" if path.startswith("/evaluations") else "spring")  # as examples create them
    needed = [one["name"] for one in about.get("parameters", ()) if one["in"] == "query" and one.get("required")]
    asked = f"?{'&'.join(f'{name}=0' for name in needed)}" if needed else ""
    lines = [shlex.join(["curl", *(["-X", "POST"] if method == "post" else []), base + place + asked])]
    lines += ['-H "Authorization: Bearer $KEY"'] if about.get("security") else []
    for one in _alternatives(document, content.get("application/json", {}).get("schema", {})):
        if "example" in one:
            lines.append(f"-H 'Content-Type: application/json' --data {shlex.quote(json.dumps(one['example']))}")
    statuses = about["responses"].items()
    return Endpoint(
        method.upper(),
        path,
        about,
        tuple((media, _members(document, one["schema"])) for media, one in content.items()),
        tuple(
            (status, media, _members(document, one.get("schema", {})))
            for status, answer in statuses
            for media, one in answer.get("content", {}).items()
            if status < "300"
        ),
        tuple((status, answer["description"]) for status, answer in sorted(statuses) if status >= "300"),
        " \\\n  ".join(lines),
    )


def _alternatives(document: Mapping[str, Any], schema: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    """Yield what a schema may be, references within the document followed."""
    name = schema.get("$ref", "").removeprefix("#/components/schemas/")
    found = document["components"]["schemas"][name] if name else schema
    for one in found.get("anyOf", ()):
        yield from _alternatives(document, one)
    if "anyOf" not in found:
        yield found


def _members(document: Mapping[str, Any], schema: Mapping[str, Any]) -> Members:
    """Return the members of an object; where there is a choice of several, of each of them once."""
    found: dict[str, tuple[str, str, str]] = {}
    for one in _alternatives(document, schema):
        for name, member in one.get("properties", {}).items():
            kind = _kind(document, member)
            optional = "" if name in one.get("required", ()) else ", optional"
            found.setdefault(name, (name, kind + optional, member.get("description", "")))
    return tuple(found.values())


def _kind(document: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    words = []
    for one in _alternatives(document, schema):
        if "const" in one or "enum" in one:
            words += [json.dumps(value) for value in one.get("enum", [one.get("const")])]
        elif one.get("type") == "array":
            words.append(f"list of {_kind(document, one.get('items', {}))}")
        else:
            words.append(one.get("type", "anything"))
    return " or ".join(dict.fromkeys(words))
