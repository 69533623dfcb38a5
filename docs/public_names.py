"""Fills the page of public names when the site is built, from the packages themselves: it cannot go stale."""

import ast
import html
import importlib
import inspect
import itertools
import pkgutil
import re
from types import ModuleType
from typing import Any

import sottovoce

MARK = "<!-- public names -->"
FIRST = ("sottovoce", "sottovoce.domains", "sottovoce.domains.matroids", "sottovoce.domains.set_functions")
LAST = ("sottovoce.errors",)
INNER = ("sottovoce.cli",)  # a program, described on a page of its own


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the tables where the mark is (called by mkdocs for every page)."""
    return markdown.replace(MARK, tables()) if MARK in markdown else markdown


def public_modules() -> list[ModuleType]:
    """Return the packages that list public names, and the few modules that users meet by name."""
    found = {
        one.name
        for one in pkgutil.walk_packages(sottovoce.__path__, "sottovoce.")
        if one.ispkg and not one.name.startswith(INNER) and "._" not in one.name
    }
    middle = sorted(found - {*FIRST, *LAST})
    modules = [importlib.import_module(name) for name in (*FIRST, *middle, *LAST)]
    return [module for module in modules if getattr(module, "__all__", ()) and not _shown_above(module)]


def _shown_above(module: ModuleType) -> bool:
    """Say whether the package around a module exports all of its names, as that of the domains does."""
    around = importlib.import_module(module.__name__.rpartition(".")[0] or module.__name__)
    return around is not module and set(module.__all__) <= set(getattr(around, "__all__", ()))


def tables() -> str:
    """Return a section for each module: what it is, and one line for each of its names."""
    return "\n\n".join(section(module) for module in public_modules())


def section(module: ModuleType) -> str:
    """Return the section of one module."""
    values = _documented_values(module)
    rows = [f"| `{name}` | {_line(module, name, values)} |" for name in sorted(module.__all__, key=str.lower)]
    return "\n".join([f"## {module.__name__}", "", _plain(_first_line(module)), "", "| name | |", "|---|---|", *rows])


def _line(module: ModuleType, name: str, values: dict[str, str]) -> str:
    value = getattr(module, name)
    if inspect.isclass(value) or inspect.isroutine(value) or inspect.ismodule(value):
        words = _first_line(value)
    else:  # the documentation of a plain value would be that of its type
        words = values.get(name, "The version." if name == "__version__" else "")
    return _plain(words) or f"(a {type(value).__name__})"


def _plain(words: str) -> str:
    """Return words that Markdown shows as they are, except for what stands between backticks."""
    pieces = words.replace("|", "\\|").split("`")
    pieces[::2] = [re.sub(r"([*_])", r"\\\1", html.escape(piece, quote=False)) for piece in pieces[::2]]
    return "`".join(pieces)


def _first_line(value: Any) -> str:
    text = inspect.getdoc(value) or ""
    return " ".join(text.split("\n\n")[0].split())


def _documented_values(module: ModuleType) -> dict[str, str]:
    """Return the texts that stand below assignments, in this module or in those that its names come from."""
    found: dict[str, str] = {}
    parts = [one.name for one in pkgutil.iter_modules(getattr(module, "__path__", ()), f"{module.__name__}.")]
    for name in (*parts, module.__name__):
        body = ast.parse(inspect.getsource(importlib.import_module(name))).body
        for statement, below in itertools.pairwise(body):
            target = getattr(statement, "target", None) or (getattr(statement, "targets", None) or [None])[0]
            text = getattr(getattr(below, "value", None), "value", None)
            if isinstance(target, ast.Name) and isinstance(below, ast.Expr) and isinstance(text, str):
                found[target.id] = " ".join(text.split("\n\n")[0].split())
    return found
