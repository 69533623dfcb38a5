"""Fills the page of the service's calls when the site is built: from its OpenAPI document and its table of problems."""

import asyncio
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sottovoce.service.app import create_app
from sottovoce.service.problem_documents import KINDS
from sottovoce.service.settings import Settings

CALLS, PROBLEMS = "<!-- calls -->", "<!-- problems -->"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put tables where the marks are (called by mkdocs for every page)."""
    if CALLS in markdown:
        rows = [(f"`{call}`", words) for call, words in calls().items()]
        markdown = markdown.replace(CALLS, _table(("call", "what it does"), rows))
    if PROBLEMS in markdown:
        kinds = sorted(KINDS.values(), key=lambda one: (one.status, one.name))
        rows = [(f"`{one.name}`", str(one.status), f"{one.title}. {one.advice}") for one in kinds]
        markdown = markdown.replace(PROBLEMS, _table(("type", "status", "what it means, and what to do"), rows))
    return markdown


def calls() -> dict[str, str]:
    """Return every call with what it does."""
    with tempfile.TemporaryDirectory() as folder:
        app = create_app(Settings(storage=f"sqlite:///{Path(folder) / 'calls.db'}"))
        paths = app.openapi()["paths"]
        asyncio.run(app.state.context.close())
    found = {}
    for path, ways in paths.items():
        for method, one in ways.items():
            queries = [query["name"] for query in one.get("parameters", ()) if query["in"] == "query"]
            asked = f" `?{'=`, `?'.join(queries)}=`" if queries else ""
            found[f"{method.upper()} {path.replace(':path}', '}')}"] = f"{one['summary']}{asked}"
    return found


def _table(columns: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [columns, ("---",) * len(columns), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '&#124;') for cell in line)} |" for line in lines)
