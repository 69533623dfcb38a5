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
from sottovoce.cli import parsing
from sottovoce.learning import Plan
from sottovoce.learning.planning.outlook import Outlook, horizon_needed, outlook, too_short
from sottovoce.learning.planning.problem import Problem
from sottovoce.privacy import ApproxDP, PureDP

__all__ = ["considered", "plan_command"]


def plan_command(
    domain: Annotated[str, typer.Option(help="Such as ball:10, box:5, simplex:10 or hypersimplex:20,5.")] = "ball:10",
    horizon: Annotated[str, typer.Option(help="Events, such as 1000000, 1e6, 100k or 1M.")] = "1M",
    epsilon: Annotated[float, typer.Option(help="Privacy budget; smaller is more private.")] = 1.0,
    delta: Annotated[float, typer.Option(help="0 is pure differential privacy.")] = 0.0,
    losses: Annotated[str, typer.Option(help="convex, or linear in the action.")] = "convex",
    integral: Annotated[bool, typer.Option("--integral", help="Play vertices instead of points between them.")] = False,
    plan: Annotated[str, typer.Option(help="auto or paper.")] = "auto",
    play: Annotated[str, typer.Option(help="inside (every action feasible) or around.")] = "inside",
    loss_range: Annotated[str, typer.Option(help="Losses are clipped to it.")] = "0,1",
    lipschitz: Annotated[float | None, typer.Option(help="Lipschitz constant of the losses, if known.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for the figure.")] = Path("results/plan"),
) -> None:
    """Show the plan that would be followed, what it promises and what privacy costs, and draw it."""
    if out.exists() and not out.is_dir():
        raise ValueError(f"out must be a folder, and {out} is a file")
    problem = Problem(
        parsing.domain(domain),
        parsing.count("horizon", horizon),
        parsing.pair("loss-range", loss_range),
        ApproxDP(epsilon, delta) if delta else PureDP(epsilon),
        lipschitz=lipschitz,
        play=play,
        losses=losses,
        integral=integral,
    )
    console = Console()
    found = _look(console, problem, plan)
    made = found.plan
    console.print(str(replace(made, alternatives=())), soft_wrap=True, highlight=False, markup=False)
    if made.alternatives:
        console.print(considered(made))
    needed = horizon_needed(problem, plan) if made.vacuous else None
    console.print(_verdict(found, needed), soft_wrap=True, highlight=False)
    for path in _write(out, found, needed, _title(problem)):
        console.print(f"wrote {path}", soft_wrap=True, highlight=False)


def _look(console: Console, problem: Problem, plan: str) -> Outlook:
    """Plan for other budgets and horizons too, with progress."""
    columns = TextColumn("{task.description}"), BarColumn(bar_width=12), TaskProgressColumn()
    with Progress(*columns, console=console, transient=True) as bars:
        task = bars.add_task("planning for other budgets and horizons", total=None)

        def show(done: int, total: int) -> None:
            bars.update(task, completed=done, total=total)

        return outlook(problem, plan, progress=show)


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
    words = "should be of the order of" if plan.order_only else "is promised to stay below"
    return (
        f"[green]{plan.horizon:,} events:[/] regret {words} {plan.bound / plan.no_learning:.0%} of what never "
        f"learning can cost. The bound is {plan.price_of_privacy:.2f} times that of the same plan without "
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
