"""Fills the page of the command line when the site is built, from the commands themselves: it cannot go stale.

A heading ``## sottovoce plan`` is followed by what the help of the command says; ``<!-- sottovoce plan -->`` becomes a
table of what it takes, ``<!-- all other commands -->`` a section for each that has no mark. Options that
many commands share stand at ``<!-- options in Privacy -->``, for each group of the help, and are named and linked where
a command has them.
"""

import inspect
import re
from collections.abc import Iterator
from typing import Any

import typer

from sottovoce.cli.app import app

HEADING = re.compile(r"^## (sottovoce [\w -]+)$", re.MULTILINE)
COMMAND = re.compile(r"<!-- (sottovoce [\w -]+) -->")
GROUP = re.compile(r"<!-- options in ([\w ]+) -->")
OTHERS = "<!-- all other commands -->"
SHARED = ("What is decided", "Privacy", "How it is learned")
FEW = 3  # of a shared group, so many are described where they are


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put words and tables where the marks are (called by mkdocs for every page)."""
    if OTHERS in markdown:
        others = [words for words in commands() if words not in COMMAND.findall(markdown)]
        markdown = markdown.replace(OTHERS, "\n\n".join(f"## {words}\n\n{of_command(words)}" for words in others))
    markdown = HEADING.sub(lambda found: f"{found[0]}\n\n{inspect.cleandoc(commands()[found[1]].help)}", markdown)
    markdown = COMMAND.sub(lambda mark: of_command(mark[1]), markdown)
    return GROUP.sub(lambda mark: in_group(mark[1]), markdown)


def commands() -> dict[str, Any]:
    """Return every command that can be typed, by the words that name it."""
    return dict(_leaves(typer.main.get_command(app), ("sottovoce",)))


def _leaves(command: Any, words: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    inner = getattr(command, "commands", None)
    if inner is None or (len(words) > 1 and command.invoke_without_command):  # `sottovoce serve` has others below it
        yield " ".join(words), command
    for name in inner or ():
        yield from _leaves(command.get_command(None, name), (*words, name))


def of_command(words: str) -> str:
    """Return the table of what a command takes."""
    taken = commands()[words].params
    rows = [(f"`{one.metavar}`", one.help) for one in taken if one.param_type_name == "argument"]
    options = [one for one in taken if one.param_type_name == "option" and "--help" not in one.opts]
    for group in SHARED:
        found = [one for one in options if one.rich_help_panel == group]
        if len(found) > FEW:
            options = [one for one in options if one not in found]
            link = f"[{group[0].lower()}{group[1:]}](#{group.lower().replace(' ', '-')})"
            rows.append((", ".join(map(_names, found)), link))
    return _table([*rows, *map(_row, options)])


def in_group(group: str) -> str:
    """Return the table of a shared group, each option once."""
    options = {one.opts[0]: one for command in commands().values() for one in command.params if _panel(one) == group}
    return _table([_row(one) for one in options.values()])


def _panel(parameter: Any) -> str | None:
    found: str | None = getattr(parameter, "rich_help_panel", None)
    return found


def _names(option: Any) -> str:
    return ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))


def _row(option: Any) -> tuple[str, str]:
    default = option.default
    known = default not in (None, False, "") and not callable(default)
    shown = "on" if default is True else f"{default:g}" if isinstance(default, float) else f"`{default}`"
    return _names(option), option.help.rstrip(".") + (f" ({shown})" if known else "")


def _table(rows: list[tuple[str, str]]) -> str:
    lines = [f"| {names} | {_plain(words)} |" for names, words in rows]
    return "\n".join(["| | |", "|---|---|", *lines]) if rows else ""


def _plain(words: str) -> str:
    return words.rstrip(".").replace("|", "\\|").replace("<", "&lt;")
