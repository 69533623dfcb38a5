"""`sottovoce plan`: what to expect, before anything is run."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
from rich.table import Table

from sottovoce import __version__
from sottovoce.cli.folders import can_draw, check_folder
from sottovoce.cli.options import Options, with_options
from sottovoce.learning import Plan
from sottovoce.plans.options import separate
from sottovoce.plans.problem import Problem
from sottovoce.rehearsal import NotRehearsed, Prices, plan, prices_of, rehearsed

UNIT = (0.0, 1.0)  # the usual range of losses


@with_options(without=("patience", "seed"))
def plan_command(
    options: Options,
    contrast: Annotated[
        float | None,
        typer.Option(help="If you know it: how much better the best decision is than an average one, of the range."),
    ] = None,
    scatter: Annotated[
        float | None, typer.Option(help="If you know it: deviation of people's losses at one decision, of the range.")
    ] = None,
    rehearse: Annotated[bool, typer.Option(help="Play the plan in invented worlds, and say what to expect.")] = True,
    out: Annotated[Path, typer.Option(help="Folder for the figure.")] = Path("results/plan"),
) -> None:
    """Say what to expect, by rehearsal, and what privacy costs; show the plan that would be followed, and draw it."""
    check_folder(out)
    options = options.or_else(horizon="1M", domain=None if options.domain_json else "ball:10")
    arguments, choices = separate(options.arguments)
    wanted = arguments.pop("plan", "auto")
    problem = Problem(
        options.feasible_set, options.events_needed, options.clipping or UNIT, options.guarantee, **arguments
    )
    console = Console()
    given = (problem.domain, problem.horizon, options.clipping or UNIT, problem.privacy)
    made, prices = plan(*given, rehearse=False, **options.arguments), None
    if rehearse:
        made, prices = _rehearsed(console, made, problem, wanted, choices, contrast=contrast, scatter=scatter)
    _show(console, made)
    if problem.privacy.private:  # or there is no budget to draw a curve over, and no price
        for path in _write(console, out, made, problem, prices):
            console.print(f"wrote {path}", soft_wrap=True, highlight=False)


def _show(console: Console, made: Plan) -> None:
    """Print a plan, and what else was considered."""
    console.print(str(replace(made, alternatives=())), soft_wrap=True, highlight=False, markup=False)
    if made.alternatives:
        console.print(considered(made))


def _rehearsed(
    console: Console, made: Plan, problem: Problem, wanted: str, choices: dict[str, Any], **known: Any
) -> tuple[Plan, Prices | None]:
    """Rehearse the plan, and with other budgets, with progress; a plan that is not rehearsed says why."""
    try:
        with _progress(console, "rehearsing in invented worlds") as show:
            rehearsal, forecast = rehearsed(problem, wanted, choices, **known, progress=show)
    except NotRehearsed as why:
        return replace(made, notes=(*made.notes, str(why))), None
    prices = None
    if problem.privacy.private:
        with _progress(console, "rehearsing with other budgets") as show:
            prices = prices_of(rehearsal, forecast, progress=show)
    return replace(made, forecast=forecast), prices


@contextmanager
def _progress(console: Console, what: str) -> Iterator[Callable[[int, int], None]]:
    columns = TextColumn("{task.description}"), BarColumn(bar_width=12), TaskProgressColumn()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        task = bars.add_task(what, total=None)
        yield lambda done, total: bars.update(task, completed=done, total=total)


def considered(made: Plan) -> Table:
    """Return a table of what was considered; the first is what was chosen."""
    table = Table(title="Considered: bounds on the regret per event", title_justify="left", box=SIMPLE_HEAD)
    table.add_column("", overflow="fold")
    for name in ("private", "without privacy", "ratio"):
        table.add_column(name, justify="right", no_wrap=True)
    for number, other in enumerate(made.alternatives):
        ratio = f"{other.bound / other.bound_without_privacy:.2f}"
        row = (other.what, made.shown(other.bound), made.shown(other.bound_without_privacy), ratio)
        table.add_row(*row, style="bold" if number == 0 else None)
    return table


def _write(console: Console, folder: Path, made: Plan, problem: Problem, prices: Prices | None) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    written, forecast = [], made.forecast
    title = ", ".join([repr(problem.domain), f"{problem.losses} losses", *(["integral"] if problem.integral else [])])
    if forecast is not None and can_draw(console):
        from sottovoce.report import plan_figure  # figures are slow to import, and most commands draw none

        written = [plan_figure(forecast, problem.privacy, folder / "plan.png", title=title, prices=prices)]
    content: dict[str, Any] = {
        "sottovoce": __version__,
        "decision": title,
        "privacy": str(problem.privacy),
        "forecast": None if forecast is None else forecast.to_dict(),
        "price_forecast": None if prices is None else prices.to_dict(),
        "plan": replace(made, forecast=None).to_dict(),
        "vacuous": made.vacuous,
    }
    data = folder / "plan.json"
    data.write_text(json.dumps(content, indent=2, allow_nan=False) + "\n", encoding="utf-8")
    return [*written, data]
