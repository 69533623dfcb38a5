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
from sottovoce.cli.folders import can_draw, check_writable
from sottovoce.cli.options import Options, with_options
from sottovoce.learning import Plan
from sottovoce.plans.choosing import make_plan
from sottovoce.plans.options import separate
from sottovoce.plans.outlook import Outlook, horizon_needed, outlook, too_short
from sottovoce.plans.problem import Problem
from sottovoce.privacy.promise import cautions_of
from sottovoce.rehearsal import Hints, NotRehearsed, Prices, hints_of, prices_of, rehearsed

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
    check_writable(out)
    options = options.or_else(horizon="1M", domain=None if options.domain_json else "ball:10")
    arguments, choices = separate(options.arguments)
    wanted = arguments.pop("plan", "auto")
    hints = hints_of(contrast, scatter)
    problem = Problem(
        options.feasible_set, options.events_needed, options.clipping or UNIT, options.guarantee, **arguments
    )
    console = Console()
    made, prices = make_plan(problem, wanted, **choices), None
    made = replace(made, notes=(*cautions_of(problem.privacy, problem.horizon), *made.notes))
    if rehearse:
        made, prices = _rehearsed(console, made, problem, wanted, choices, hints)
    _show(console, made)
    if not problem.privacy.private:  # there is no budget to draw a curve over, and no price
        return
    found = replace(_look(console, problem, wanted, choices), plan=made)
    needed = None
    if made.vacuous and not made.options.order_only:
        needed = horizon_needed(problem, wanted, **choices)
        console.print(f"[yellow]{made.horizon:,} events:[/] {too_short(needed)}.", soft_wrap=True, highlight=False)
    for path in _write(console, out, found, prices, needed, _title(problem)):
        console.print(f"wrote {path}", soft_wrap=True, highlight=False)


def _show(console: Console, made: Plan) -> None:
    """Print a plan, and what else was considered."""
    console.print(str(replace(made, alternatives=())), soft_wrap=True, highlight=False, markup=False)
    if made.alternatives:
        console.print(considered(made))


def _rehearsed(
    console: Console, made: Plan, problem: Problem, plan: str, choices: dict[str, Any], hints: Hints
) -> tuple[Plan, Prices | None]:
    """Rehearse the plan, and with other budgets, with progress; a plan that is not rehearsed says why."""
    try:
        with _progress(console, "rehearsing in invented worlds") as show:
            rehearsal, forecast = rehearsed(problem, plan, choices, hints=hints, progress=show)
    except NotRehearsed as why:
        return replace(made, notes=(*made.notes, str(why))), None
    prices = None
    if problem.privacy.private:
        with _progress(console, "rehearsing with other budgets") as show:
            prices = prices_of(rehearsal, forecast, progress=show)
    return replace(made, forecast=forecast), prices


def _look(console: Console, problem: Problem, plan: str, choices: dict[str, Any]) -> Outlook:
    """Plan for other budgets and horizons too, with progress."""
    with _progress(console, "planning for other budgets and horizons") as show:
        return outlook(problem, plan, progress=show, **choices)


@contextmanager
def _progress(console: Console, what: str) -> Iterator[Callable[[int, int], None]]:
    columns = TextColumn("{task.description}"), BarColumn(bar_width=12), TaskProgressColumn()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        task = bars.add_task(what, total=None)
        yield lambda done, total: bars.update(task, completed=done, total=total)


def considered(plan: Plan) -> Table:
    """Return a table of what was considered; the first is what was chosen."""
    table = Table(title="Considered: bounds on the regret per event", title_justify="left", box=SIMPLE_HEAD)
    table.add_column("", overflow="fold")
    for name in ("private", "without privacy", "ratio"):
        table.add_column(name, justify="right", no_wrap=True)
    for number, other in enumerate(plan.alternatives):
        ratio = f"{other.bound / other.bound_without_privacy:.2f}"
        row = (other.what, plan.shown(other.bound), plan.shown(other.bound_without_privacy), ratio)
        table.add_row(*row, style="bold" if number == 0 else None)
    return table


def _title(problem: Problem) -> str:
    words = [repr(problem.domain), f"{problem.losses} losses", *(["integral"] if problem.integral else [])]
    return ", ".join(words)


def _write(
    console: Console, folder: Path, found: Outlook, prices: Prices | None, needed: int | None, title: str
) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    if can_draw(console):
        from sottovoce.report import plan_figure  # figures are slow to import, and most commands draw none

        written = [plan_figure(found, folder / "plan.png", title=title, prices=prices)]
    content: dict[str, Any] = {
        "sottovoce": __version__,
        "decision": title,
        "privacy": str(found.privacy),
        "forecast": None if found.plan.forecast is None else found.plan.forecast.to_dict(),
        "price_forecast": None if prices is None else prices.to_dict(),
        "plan": replace(found.plan, forecast=None).to_dict(),
        "vacuous": found.plan.vacuous,
        "horizon_needed": needed,
        found.budget_name: found.budgets.tolist(),
        f"bound_per_event_by_{found.budget_name}": found.by_budget.tolist(),
        "horizon": found.horizons.tolist(),
        "bound_per_event_by_horizon": found.by_horizon.tolist(),
        "bound_per_event_without_privacy": found.without_privacy.tolist(),
        "never_learning_per_event": found.never_learning,
    }
    data = folder / "plan.json"
    data.write_text(json.dumps(content, indent=2, allow_nan=False) + "\n", encoding="utf-8")
    return [*written, data]
