"""The commands."""

import importlib
import warnings
from functools import cache
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from typer.core import TyperCommand, TyperGroup

from sottovoce import __version__
from sottovoce.errors import SottovoceError, StudyNotFound

INTERRUPTED = 130  # 128 + SIGINT, as shells report it

# The first words of each command's help. Only the one that is called is loaded, with what it needs: `abtest_command` of
# `abtest.py`, for instance.
COMMANDS = {
    "abtest": "Compare the arms of a test by their losses, privately; what is released is kept, and released once.",
    "domains": "Show the feasible sets that can be optimised over, and how they are written.",
    "run": "Simulate private bandits, and write their regret curves beside those of never learning and of no privacy.",
    "audit": "Attack the privacy claim of everything that ships; ends with code 1 if a claim is refuted.",
    "compare": "Run algorithms on problems, over processes, and compare; what is finished is not run again.",
    "plan": "Say what to expect, by rehearsal, and what privacy costs; show the plan that would be followed.",
    "reproduce": "Measure what the paper claims, with its noise, the needed noise and this library's default; "
    "minutes on a core.",
    "serve": "Serve studies over HTTP, with a dashboard; `serve key` makes the keys that callers need.",
    "statement": "State what is promised, to whom, against whom, what is spent and what is not covered: one page to "
    "sign.",
    "study": "Durable studies: ask and tell that survive. Prints JSON, or words if the output is a terminal.",
}


class _Group(TyperGroup):
    """The commands, each loaded when it is called; the page that lists them loads none."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = dict.fromkeys(COMMANDS)  # type: ignore[assignment]  # names alone, for what is mistyped
        self._listing = False

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        return TyperCommand(cmd_name, help=COMMANDS[cmd_name]) if self._listing else _load(cmd_name)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        self._listing = True
        try:
            super().format_help(ctx, formatter)
        finally:
            self._listing = False


@cache
def _load(name: str) -> Any:
    """Return a command, as its module has it: a function, or an application with commands of its own."""
    found = getattr(importlib.import_module(f"sottovoce.cli.{name}"), f"{name}_command")
    if isinstance(found, typer.Typer):
        return typer.main.get_command(found)
    alone = typer.Typer(add_completion=False)
    alone.command(name)(found)
    return typer.main.get_command(alone)


app = typer.Typer(
    name="sottovoce",
    cls=_Group,
    help="Private, projection-free bandit optimisation.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; errors of use are one line, and end with code 2."""
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _warn
            code = app(args=arguments, prog_name="sottovoce", standalone_mode=False)
    except typer.TyperException as problem:
        code = _complain(problem.format_message(), 2)
    except StudyNotFound as problem:  # what the library says goes on with arguments for Python
        code = _complain(problem.fact + "; see `sottovoce study create`", 2)
    except (SottovoceError, ValueError, TypeError) as problem:
        code = _complain(str(problem), 2)
    except OSError as problem:
        about = f"{problem.filename}: {problem.strerror}" if problem.filename and problem.strerror else str(problem)
        code = _complain(about, 1)
    except (KeyboardInterrupt, typer.Abort):
        code = _complain("interrupted", INTERRUPTED)
    raise SystemExit(code or 0)


def _complain(message: str, code: int) -> int:
    line = " ".join(message.encode("utf-8", "backslashreplace").decode().split())  # arguments may be any bytes
    if not line:  # the help was shown instead
        return code
    Console(stderr=True, soft_wrap=True, highlight=False).print(f"[bold red]error:[/] [red]{escape(line)}[/]")
    return code


def _warn(
    message: Warning | str, category: Any, filename: Any, lineno: Any, file: Any = None, line: Any = None
) -> None:
    """Show a warning as a line of its own, without the place in the program."""
    Console(stderr=True, soft_wrap=True, highlight=False).print(f"[bold yellow]warning:[/] {escape(str(message))}")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"sottovoce {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    pass
