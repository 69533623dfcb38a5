"""Fills the pages of the reference when the site is built, from the packages themselves: they cannot go stale.

A page says which names stand on it by a mark: ``<!-- names of sottovoce.privacy: PureDP ZCDP -->`` for these,
``<!-- names of sottovoce.privacy -->`` for all that no other mark names. What a name is described by (signature,
parameters, examples) mkdocstrings reads from the source; here is only which, where and under which heading.
"""

import ast
import functools
import html
import importlib
import inspect
import itertools
import pkgutil
import re
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import sottovoce

TABLES = "<!-- public names -->"
MARK = re.compile(r"<!-- names of ([\w.]+)(?:: ([\w\s]+?))? -->")
PAGES = Path(__file__).parent / "reference" / "python"
FIRST = ("sottovoce", "sottovoce.domains", "sottovoce.domains.matroids")
LAST = ("sottovoce.errors",)
INNER = ("sottovoce.cli", "sottovoce.service.")  # programs, described on pages of their own
UNTOLD = {"examples", "made_with"}  # for the tests and for the library itself


class Name(NamedTuple):
    """A public name, and where it is defined: names with one definition are one thing."""

    module: str
    name: str
    definition: str

    @property
    def spelled(self) -> str:
        """Return how users write it."""
        return re.sub(r"^sottovoce\.(?=\w+$|domains\.|lab\.)", "sv.", f"{self.module}.{self.name}")


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Put tables and entries where the marks are (called by mkdocs for every page)."""
    markdown = markdown.replace(TABLES, tables()) if TABLES in markdown else markdown
    return MARK.sub(lambda mark: "\n".join(map(entry, stands_at()[page.file.src_uri, mark[0]])), markdown)


# ---------------------------------------------------------------------- which names there are


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


@functools.cache
def names_of(module: str) -> tuple[Name, ...]:
    """Return the public names of a module in order, those of modules and of the version left out."""
    found = importlib.import_module(module)
    listed = getattr(found, "__all__", [name for name in vars(found) if not name.startswith("_")])
    values = {name: getattr(found, name) for name in listed if name != "__version__"}
    return tuple(
        Name(module, name, _definition(found, name, value))
        for name, value in values.items()
        if not inspect.ismodule(value)
    )


def _definition(module: ModuleType, name: str, value: Any) -> str:
    if inspect.isclass(value) or inspect.isroutine(value):
        return f"{value.__module__}.{value.__qualname__}"
    candidates = (*_within(module), *_within(sottovoce))  # few come from elsewhere
    return next(f"{one}.{name}" for one in candidates if name in _assignments(one))


@functools.cache
def stands_at() -> dict[tuple[str, str], list[Name]]:
    """Return the names at each mark of each page; each thing stands at one, as the shortest of its names."""
    pages = sorted(PAGES.glob("*.md"))
    marks = {(f"reference/python/{page.name}", mark[0]): mark.groups() for page in pages for mark in _marks(page)}
    places: dict[tuple[str, str], list[Name]] = {}
    taken: set[str] = set()
    for place, (module, chosen) in sorted(marks.items(), key=lambda one: one[1][1] is None):
        known = {one.name: one for one in names_of(module)}
        places[place] = []
        for one in [known[name] for name in (known if chosen is None else chosen.split())]:
            if not taken & {one.definition, _around(one)}:
                places[place].append(_shortest(one))
                taken.add(one.definition)
    return places


def _around(name: Name) -> str:
    """Return where the entry of a method would be, for names of methods: that of its class."""
    return name.definition.rpartition(".")[0]


def _marks(page: Path) -> list[re.Match[str]]:
    return list(MARK.finditer(page.read_text(encoding="utf-8")))


def _shortest(name: Name) -> Name:
    return next((one for one in names_of("sottovoce") if one.definition == name.definition), name)


# ---------------------------------------------------------------------- entries


def entry(name: Name) -> str:
    """Return what mkdocstrings makes the entry of a name from."""
    value = getattr(importlib.import_module(name.module), name.name)
    own, inherited = members(value) if inspect.isclass(value) else ([], [])
    options = {"heading": name.spelled, "toc_label": name.name, "members": own, "inherited_members": inherited}
    lines = [f"      {option}: {value!r}" for option, value in options.items()]
    return "\n".join(["", f"::: {name.definition}", "    options:", *lines, ""])


def members(cls: type) -> tuple[list[str], list[str]]:
    """Return methods and properties that stand in a class's entry, and which of them it inherits.

    What a public class above it has stands there, and is not said again; what a private one has is the class's own.
    """
    public = {one.definition for one in every_name()}
    parents = [one for one in cls.__mro__[1:] if f"{one.__module__}.{one.__qualname__}" in public]
    if cls.__module__.startswith("sottovoce.lab.baselines."):  # they ask and tell as all do
        parents.append(sottovoce.PrivateBandit)
    above = UNTOLD.union(*map(dir, parents))
    found: dict[str, type] = {}
    for base in reversed([one for one in cls.__mro__ if one.__module__.startswith("sottovoce")]):
        if base not in parents:
            found.update({name: base for name, value in vars(base).items() if _is_described(name, value)})
    shown = [name for name in found if name not in above]
    return shown, [name for name in shown if found[name] is not cls]


def _is_described(name: str, value: Any) -> bool:
    code = getattr(value, "fget", None) or getattr(value, "func", None) or getattr(value, "__func__", value)
    return name[0] != "_" and inspect.isroutine(code) and bool(code.__doc__)


@functools.cache
def every_name() -> tuple[Name, ...]:
    """Return all public names; some things have several."""
    return tuple(itertools.chain.from_iterable(names_of(module.__name__) for module in public_modules()))


# ---------------------------------------------------------------------- tables


def tables() -> str:
    """Return a section for each module: what it is, and one line for each of its names."""
    return "\n\n".join(section(module) for module in public_modules())


def section(module: ModuleType) -> str:
    """Return the section of one module."""
    values = _documented_values(module)
    rows = [
        f"| {_linked(module, name)} | {_line(module, name, values)} |" for name in sorted(module.__all__, key=str.lower)
    ]
    return "\n".join([f"## {module.__name__}", "", _plain(_first_line(module)), "", "| name | |", "|---|---|", *rows])


def _linked(module: ModuleType, name: str) -> str:
    known = {one.name: one.definition for one in names_of(module.__name__)}
    return f"[`{name}`][{known[name]}]" if name in known else f"`{name}`"


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
    for name in _within(module):
        found |= {key: text for key, text in _assignments(name).items() if text}
    return found


def _within(module: ModuleType) -> list[str]:
    """Return the names of a module and of those inside, it last."""
    inner = pkgutil.walk_packages(getattr(module, "__path__", ()), f"{module.__name__}.")
    return [*(one.name for one in inner), module.__name__]


@functools.cache
def _assignments(module: str) -> dict[str, str]:
    """Return what a module assigns at its top level, with the text that stands below each, if any does."""
    found = {}
    body = ast.parse(inspect.getsource(importlib.import_module(module))).body
    for statement, below in itertools.zip_longest(body, body[1:]):
        target = getattr(statement, "target", None) or (getattr(statement, "targets", None) or [None])[0]
        text = getattr(getattr(below, "value", None), "value", None) if isinstance(below, ast.Expr) else None
        for one in getattr(target, "elts", [target]):
            if isinstance(one, ast.Name):
                found[one.id] = " ".join(text.split("\n\n")[0].split()) if isinstance(text, str) else ""
    return found
