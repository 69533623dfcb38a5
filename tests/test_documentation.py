"""What the README and docs/ show: code runs and prints what is shown, commands and files that are named exist."""

import itertools
import re
import shlex
from pathlib import Path

import pytest
import typer

from sottovoce.cli import main, parsing
from sottovoce.cli.app import app

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SHOWN = 'title="prints"'  # ```text title="prints" holds exactly what the Python block before it prints


def name_of(page):
    return page.relative_to(ROOT).as_posix()


def blocks(page, *languages):
    """Yield (line number of the first line, what stands after the language, content)."""
    text = page.read_text(encoding="utf-8")
    for found in BLOCK.finditer(text):
        if found[1] in languages:
            yield text[: found.start(3)].count("\n"), found[1] + found[2], found[3]


@pytest.mark.parametrize("page", [page for page in PAGES if next(blocks(page, "python"), None)], ids=name_of)
def test_python_blocks_run_and_print_what_is_shown(page, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    space = {}  # a page is read from top to bottom: later blocks know what earlier ones made
    printed = ""
    for line, header, content in blocks(page, "python", "text"):
        if header.startswith("python"):
            # Empty lines in front, so that a traceback names the line of the page.
            exec(compile("\n" * line + content, name_of(page), "exec"), space)
            printed = capsys.readouterr().out
        elif SHOWN in header:
            assert printed.split("\n") == content.split("\n"), f"{name_of(page)}:{line} shows what is not printed"


def test_there_are_blocks_to_run_and_all_of_them_are_found():
    for page in PAGES:
        fences = re.findall(r"```(\w+)", page.read_text(encoding="utf-8"))
        found = [header.split()[0] for _, header, _ in blocks(page, *fences)]
        assert found == fences, f"{name_of(page)} has a block that is not seen, because it is indented or not closed"
    assert sum(1 for page in PAGES for _ in blocks(page, "python")) > 10
    assert any(SHOWN in header for page in PAGES for _, header, _ in blocks(page, "text"))


def commands_on(page):
    """Yield the arguments of every `sottovoce ...` line in the page's shell blocks."""
    for _, _, content in blocks(page, "sh", "bash", "console", "shell"):
        lines = content.replace("\\\n", " ").splitlines()
        for one in itertools.chain.from_iterable(re.split(r"\s(?:\||&&|;|>>?|<)\s", line) for line in lines):
            command = one.strip().removeprefix("$ ")
            if command.startswith("sottovoce "):  # all else is other programs, or what this one prints
                yield tuple(shlex.split(command, comments=True)[1:])


COMMANDS = {arguments: name_of(page) for page in reversed(PAGES) for arguments in commands_on(page)}


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_commands_on_the_pages_exist_with_their_options(arguments):
    command, context, rest = typer.main.get_command(app), None, list(arguments)
    try:
        while True:
            context = command.make_context(command.name, rest, parent=context)
            if not hasattr(command, "commands"):
                return
            _, command, rest = command.resolve_command(context, [*context._protected_args, *context.args])
    except typer.Exit:
        return  # it asked for the help or the version
    except typer.TyperException as problem:
        pytest.fail(f"{COMMANDS[arguments]} shows `sottovoce {' '.join(arguments)}`: {problem.format_message()}")


def is_quick(arguments):
    options = dict(itertools.pairwise(arguments))
    if arguments[0] == "run":
        return parsing.count("horizon", options.get("--horizon", "1M")) <= 100_000
    if arguments[0] == "audit":
        return "--mechanism" in options and parsing.count("runs", options.get("--runs", "20k")) <= 1000
    return arguments[0] in ("domains", "plan", "--version", "--help") or "--help" in arguments


@pytest.mark.parametrize("arguments", [*filter(is_quick, COMMANDS)], ids=" ".join)
def test_quick_commands_on_the_pages_run(arguments, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    assert ended.value.code == 0, capsys.readouterr().err


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#\s]+)", text):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


def test_the_papers_map_names_files_that_exist():
    text = (ROOT / "docs" / "paper-to-code.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:tests|learning|privacy|exploration|projection)/[\w/]+\.py)(?:::(\w+))?`", text))
    assert len(named) > 10
    for path, test in named:
        file = ROOT / path if path.startswith("tests/") else ROOT / "src" / "sottovoce" / path
        assert file.exists(), path
        assert not test or re.search(rf"(def|class) {test}\b", file.read_text(encoding="utf-8")), f"{path}::{test}"
