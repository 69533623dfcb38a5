"""What the README and docs/ show: code runs and prints what is shown, commands and files that are named exist."""

import itertools
import re
import runpy
import shlex
from pathlib import Path

import pytest
import typer

from sampling import every, sampled
from sottovoce.cli import main, parsing
from sottovoce.cli.app import app

ROOT = Path(__file__).parents[1]
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LIVE = {
    "docs/how-to/service.md"
}  # needs a service that runs: tests/service/test_service_page.py runs it, from its top to its end
SHOWN = 'title="prints"'  # ```text title="prints" holds exactly what the Python block before it prints


def name_of(page):
    return page.relative_to(ROOT).as_posix()


def blocks(page, *languages):
    """Yield (line number of the first line, what stands after the language, content)."""
    text = page.read_text(encoding="utf-8")
    for found in BLOCK.finditer(text):
        if found[1] in languages:
            yield text[: found.start(3)].count("\n"), found[1] + found[2], found[3]


CONTINUED = 'title="continues the blocks above"'  # shown above the block, so that nobody pastes it alone
IMPORTS = re.compile(r"^(?:import|from) ", re.MULTILINE)


@every("page", PAGES)
def test_python_blocks_begin_with_their_imports_or_say_that_they_continue(page):
    """The rule for all pages: what imports something is complete, and runs alone; what does not says what it needs."""
    for line, header, content in blocks(page, "python"):
        place = f"{name_of(page)}:{line}"
        if CONTINUED in header:
            assert not IMPORTS.search(content), f"{place} continues others, but its import makes it look complete"
        else:
            assert IMPORTS.match(content), f"{place} begins without imports: add them, or ```python {CONTINUED}"


def run(page, parts, capsys):
    """Execute blocks in one namespace, and compare what is printed with what is shown."""
    space, printed = {}, ""
    for line, header, content in parts:
        if header.startswith("python"):
            # Empty lines in front, so that a traceback names the line of the page.
            exec(compile("\n" * line + content, name_of(page), "exec"), space)
            printed = capsys.readouterr().out
        elif SHOWN in header:
            assert printed.split("\n") == content.split("\n"), f"{name_of(page)}:{line} shows what is not printed"


def beginnings(page):
    """Return the page's blocks, cut before each that is complete; the first stretch begins at the top."""
    stretches = []
    for block in blocks(page, "python", "text"):
        if (block[1].startswith("python") and CONTINUED not in block[1]) or not stretches:
            stretches.append([])
        stretches[-1].append(block)
    return stretches


STRETCHES = [
    (page, stretch)
    for page in PAGES
    if name_of(page) not in LIVE
    for stretch in beginnings(page)
    if any(header.startswith("python") for _, header, _ in stretch)
]


@pytest.mark.parametrize(
    ("page", "stretch"), sampled(STRETCHES, 7, [f"{name_of(page)}:{stretch[0][0]}" for page, stretch in STRETCHES])
)
def test_python_blocks_run_and_print_what_is_shown(page, stretch, capsys, monkeypatch, tmp_path):
    """Each that is complete begins anew, with nothing of what stands before it on the page, nor its files."""
    monkeypatch.chdir(tmp_path)
    run(page, stretch, capsys)


@pytest.mark.parametrize("example", sampled(sorted((ROOT / "examples").glob("*.py")), [1], name_of))
def test_examples_run(example, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(example), run_name="__main__")


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


@every("arguments", COMMANDS)
def test_commands_on_the_pages_exist_with_their_options(arguments):
    command, context, rest = typer.main.get_command(app), None, list(arguments)
    try:
        while True:
            context = command.make_context(command.name, rest, parent=context)
            left = [*context._protected_args, *context.args]
            if not hasattr(command, "commands") or (command.invoke_without_command and not left):
                return
            _, command, rest = command.resolve_command(context, left)
    except typer.Exit:
        return  # it asked for the help or the version
    except typer.TyperException as problem:
        pytest.fail(f"{COMMANDS[arguments]} shows `sottovoce {' '.join(arguments)}`: {problem.format_message()}")


def is_quick(arguments):
    options = dict(itertools.pairwise(arguments))
    if arguments[0] == "run":
        return parsing.count("horizon", options.get("--horizon", "1M")) <= 100_000
    return arguments[0] in ("domains", "plan", "--version", "--help") or "--help" in arguments


@pytest.mark.parametrize(
    "arguments", sampled([(one,) for one in COMMANDS if is_quick(one)], 3, lambda one: " ".join(*one))
)
def test_quick_commands_on_the_pages_run(arguments, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    assert ended.value.code == 0, capsys.readouterr().err


@every("page", PAGES)
def test_links_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#\s]+)", text):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


SOURCE = ROOT / "src" / "sottovoce"
FILE = re.compile(r"(?<![\w/.-])((?:[\w.-]+/)*[\w-]+\.py)(?:::(\w+))?(?![\w/])")
TO_BE_WRITTEN = {"src/sottovoce/domains/choices/prefixes.py"}  # by who follows CONTRIBUTING


def missing(text, *folders):
    """Return what a text names and nothing has: files, seen from one of the folders, and tests in them."""
    found = []
    for path, test in sorted(set(FILE.findall(text))):
        file = next((folder / path for folder in folders if (folder / path).exists()), None)
        if file is None or (test and not re.search(rf"(def|class) {test}\b", file.read_text(encoding="utf-8"))):
            found.append(f"{path}::{test}" if test else path)
    return found


@every("page", [*PAGES, CONTRIBUTING])
def test_files_and_tests_that_a_page_names_exist(page):
    text = page.read_text(encoding="utf-8").replace(house_map(), "")
    assert set(missing(text, ROOT, SOURCE, SOURCE.parent, SOURCE / "rounds")) <= TO_BE_WRITTEN


def test_files_and_tests_that_docstrings_name_exist():
    for module in SOURCE.rglob("*.py"):
        text = module.read_text(encoding="utf-8")
        assert not missing(text, module.parent, module.parent.parent, SOURCE, ROOT), module
    assert missing("Tests: tests/nowhere.py.", ROOT) == ["tests/nowhere.py"]  # or nothing above would ever be missing
    assert missing("`tests/test_documentation.py::test_nothing`", ROOT) == ["tests/test_documentation.py::test_nothing"]


def house_map():
    return CONTRIBUTING.read_text(encoding="utf-8").split("```\nsrc/sottovoce/\n")[1].split("```")[0]


def test_the_map_of_the_house_shows_the_rooms_that_there_are():
    rooms = dict(re.findall(r"^  (\w+)/ +(.*(?:\n {3,}.*)*)", house_map(), re.MULTILINE))
    assert set(rooms) == {file.parent.name for file in SOURCE.glob("*/__init__.py")}
    for room, words in rooms.items():
        assert missing(words, SOURCE / room) == [], room
        named = set(re.findall(r"(?<![\w/])(\w+)/", words))
        folders = {file.parent.name for file in (SOURCE / room).glob("*/__init__.py")}
        assert {one for one in folders if not one.startswith("_")} <= named <= folders, room
