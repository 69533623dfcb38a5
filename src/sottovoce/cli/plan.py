"""`sottovoce plan`: what can be expected, before anything is run."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
from rich.table import Table

from sottovoce import __version__
from sottovoce.cli.folders import check_writable
from sottovoce.cli.options import Options, with_options
from sottovoce.learning import Plan
from sottovoce.learning.options import separate
from sottovoce.learning.planning.choosing import make_plan
from sottovoce.learning.planning.outlook import Outlook, horizon_needed, outlook, too_short
from sottovoce.learning.planning.problem import Problem

__all__ = ["considered", "plan_command"]

UNIT = (0.0, 1.0)  # the usual range of losses


@with_options(without=("patience", "seed"))
def plan_command(
    options: Options,
    out: Annotated[Path, typer.Option(help="Folder for the figure.")] = Path("results/plan"),
) -> None:
    """Show the plan that would be followed, what it promises and what privacy costs, and draw it."""
    check_writable(out)
    options = options.or_else(horizon="1M", domain=None if options.domain_json else "ball:10")
    arguments, choices = separate(options.arguments)
    wanted = arguments.pop("plan", "auto")
    problem = Problem(
        options.feasible_set, options.events_needed, options.clipping or UNIT, options.guarantee, **arguments
    )
    console = Console()
    if not problem.privacy.private:  # there is no budget to draw a curve over, and no price
        _show(console, make_plan(problem, wanted, **choices))
        return
    found = _look(console, problem, wanted, choices)
    made = found.plan
    _show(console, made)
    needed = horizon_needed(problem, wanted, **choices) if made.vacuous else None
    console.print(_verdict(found, needed), soft_wrap=True, highlight=False)
    for path in _write(out, found, needed, _title(problem)):
        console.print(f"wrote {path}", soft_wrap=True, highlight=False)


def _show(console: Console, made: Plan) -> None:
    """Print a plan, and what else was considered."""
    console.print(str(replace(made, alternatives=())), soft_wrap=True, highlight=False, markup=False)
    if made.alternatives:
        console.print(considered(made))


def _look(console: Console, problem: Problem, plan: str, choices: dict[str, Any]) -> Outlook:
    """Plan for other budgets and horizons too, with progress."""
    columns = TextColumn("{task.description}"), BarColumn(bar_width=12), TaskProgressColumn()
    with Progress(*columns, console=console, transient=True) as bars:
        task = bars.add_task("planning for other budgets and horizons", total=None)

        def show(done: int, total: int) -> None:
            bars.update(task, completed=done, total=total)

        return outlook(problem, plan, progress=show, **choices)


def considered(plan: Plan) -> Table:
    """Return a table of what was considered; the first is what was chosen."""
    table = Table(title="Considered: bounds on the regret per event", title_justify="left", box=SIMPLE_HEAD)
    table.add_column("", overflow="fold")
    for name in ("private", "without privacy", "price of privacy"):
        table.add_column(name, justify="right", no_wrap=True)
    for number, other in enumerate(plan.alternatives):
        price = f"{other.bound / other.bound_without_privacy:.2f}"
        row = (other.what, f"{other.bound:.4g}", f"{other.bound_without_privacy:.4g}", price)
        table.add_row(*row, style="bold" if number == 0 else None)
    return table


def _verdict(found: Outlook, needed: int | None) -> str:
    plan = found.plan
    if plan.vacuous:
        return f"[yellow]{plan.horizon:,} events:[/] {too_short(needed)}."
    words, measure = "is promised to stay below", "The bound"
    if plan.order_only:
        words, measure = "should be of the order of", "It"
    return (
        f"[green]{plan.horizon:,} events:[/] regret {words} {plan.bound / plan.no_learning:.0%} of what never "
        f"learning can cost. {measure} is {plan.price_of_privacy:.2f} times that of the same plan without "
        f"noise, and {found.bound / found.without_privacy_here:.2f} times that of the best plan without privacy."
    )


def _title(problem: Problem) -> str:
    words = [repr(problem.domain), f"{problem.losses} losses", *(["integral"] if problem.integral else [])]
    return ", ".join(words)


def _write(folder: Path, found: Outlook, needed: int | None, title: str) -> list[Path]:
    from sottovoce.report import plan_figure  # figures are slow to import, and most commands draw none

    folder.mkdir(parents=True, exist_ok=True)
    figure = plan_figure(found, folder / "plan.png", title=title)
    content: dict[str, Any] = {
        "sottovoce": __version__,
        "decision": title,
        "privacy": str(found.privacy),
        "plan": found.plan.to_dict(),
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
    return [figure, data]
