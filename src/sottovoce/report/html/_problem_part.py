"""What a sweep's page says about one problem."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from sottovoce._written import read
from sottovoce.lab import Cell, Sweep
from sottovoce.lab.problems import DecisionProblem
from sottovoce.lab.problems.naming import make_problem
from sottovoce.lab.seeding import streams
from sottovoce.lab.summary import Summary, price_of
from sottovoce.report._charts import swatch
from sottovoce.report._numbers import epsilon_name, significant
from sottovoce.report.html._decisions import Decision, decide, plain_point
from sottovoce.report.html._pieces import Chart, ColumnHead, Table, Tile, epsilon_cell, heads, number, text
from sottovoce.report.html._problem_charts import curves, in_figures

__all__ = ["ProblemPart", "problem_part"]


@dataclass(frozen=True, slots=True)
class ProblemPart:
    """Everything that is shown about a problem."""

    anchor: str
    title: str
    story: str
    setting: str
    tiles: list[Tile]
    legend: list[tuple[str, str]]
    curves: list[Chart]
    charts: list[Chart]
    prices: Table
    decision: Decision | None = field(repr=False)


def problem_part(sweep: Sweep, groups: list[Summary], colours: dict[str, int], *, anchor: str) -> ProblemPart:
    """Put together what is known of one problem; a problem that cannot be built has no picture, the rest stays."""
    name = groups[0].problem
    featured = _featured(groups)
    problem = _problem(featured.done[0].cell)
    dimension = featured.done[0].dimension
    title = _title(name, problem)
    return ProblemPart(
        anchor=anchor,
        title=title,
        story=problem.story if problem else "",
        setting=f"{name}; {dimension} dimensions." if problem else f"{dimension} dimensions.",
        tiles=_tiles(title, featured, groups),
        legend=_legend(groups, colours),
        curves=curves(sweep, groups, colours),
        charts=in_figures(groups, colours),
        prices=_prices(groups, anchor),
        decision=_decision(sweep, featured, problem),
    )


def _title(name: str, problem: DecisionProblem | None) -> str:
    """Return the headline; two settings of one problem must not share it."""
    if problem is None:
        return name
    written = read(name).written
    return f"{problem.title} ({written})" if written else problem.title


def _problem(cell: Cell) -> DecisionProblem | None:
    try:
        return make_problem(cell.problem, seed=streams(cell.seed).environment)
    except (ValueError, TypeError, ImportError):
        return None


def _legend(groups: Sequence[Summary], colours: dict[str, int]) -> list[tuple[str, str]]:
    """Return the keys of the lines that this problem has."""
    names = {one.algorithm for one in groups}
    mine = [(swatch(number, markers=True), name) for name, number in colours.items() if name in names]
    return [*mine, (swatch(-1), "never learning")]


def _featured(groups: Sequence[Summary]) -> Summary:
    """Return what the headline is about: the default algorithm, over the longest horizon, at an epsilon next to 1."""
    names = {one.algorithm for one in groups}
    pool = [one for one in groups if one.algorithm == "default"] if "default" in names else list(groups)
    longest = max(one.horizon for one in pool)
    return min(
        (one for one in pool if one.horizon == longest),
        key=lambda one: abs(math.log(one.epsilon)) if 0 < one.epsilon < math.inf else math.inf,
    )


def _tiles(title: str, featured: Summary, groups: Sequence[Summary]) -> list[Tile]:
    cost = price_of(featured, groups)
    where = f"{title}; {featured.algorithm}, {featured.horizon:,} events"
    if cost is not None:
        error = "" if math.isnan(cost.error) else f" Standard error {significant(cost.error, 2)}."
        say = f"At {epsilon_name(featured.epsilon)} the price of privacy is"
        return [Tile(say, f"{cost.ratio:.2f}×", f"{where}. Regret relative to {cost.relative_to}.{error}")]
    never = featured.never_learning
    share = f" Never learning loses {significant(never)}." if never > 0 else ""
    say = f"At {epsilon_name(featured.epsilon)} the regret per event is"
    return [Tile(say, significant(featured.regret), f"{where}.{share}")]


def _prices(groups: Sequence[Summary], anchor: str) -> Table:
    rows = []
    for one in sorted(groups, key=lambda one: (one.algorithm, one.horizon, one.epsilon)):
        cost = price_of(one, groups)
        rows.append(
            (
                text(one.algorithm),
                number(one.horizon),
                epsilon_cell(one.epsilon),
                number(len(one.done)),
                number(one.regret, error=one.regret_error),
                number(one.regret / one.never_learning if one.never_learning > 0 else math.nan, times=True),
                number(math.nan) if cost is None else number(cost.ratio, error=cost.error, times=True),
                text("" if cost is None else cost.relative_to),
            )
        )
    names = [
        "algorithm",
        "events",
        "epsilon",
        "seeds",
        "regret per event",
        "of never learning",
        "price of privacy",
    ]
    caption = (
        "Means over seeds ± one standard error. The price of privacy is the regret relative to that of the same "
        "algorithm without privacy, seed by seed; an algorithm that learns nothing pays nothing."
    )
    return Table(f"prices-{anchor}", caption, (*heads(names, 1), ColumnHead("against")), tuple(rows), sortable=True)


def _decision(sweep: Sweep, featured: Summary, problem: DecisionProblem | None) -> Decision | None:
    cell = featured.done[0].cell
    who = f"{cell.algorithm}, {epsilon_name(cell.epsilon)}, {cell.horizon:,} events, seed {cell.seed}"
    try:
        point = sweep.point_of(cell)
    except (LookupError, ValueError, OSError):
        return None
    if problem is None:
        return plain_point(point, None, who=who)
    return decide(problem, point, problem.environment.comparator(cell.horizon).point, who=who)
