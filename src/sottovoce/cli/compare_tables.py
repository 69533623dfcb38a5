"""What `sottovoce compare` prints."""

import math
from collections.abc import Iterable

from rich.box import SIMPLE_HEAD
from rich.console import Group
from rich.table import Table
from rich.text import Text

from sottovoce.lab import Result
from sottovoce.lab.grouping import gather
from sottovoce.lab.slopes import Slope
from sottovoce.lab.summary import Summary

__all__ = ["failures", "slope_tables", "summary_tables", "with_error"]


def summary_tables(summaries: Iterable[Summary]) -> list[Group]:
    """Return one table per problem, with its title: a row for each algorithm, epsilon and horizon."""
    return [_summary_table(*one) for one in gather(summaries, lambda summary: summary.problem).items()]


def _summary_table(problem: str, group: list[Summary]) -> Group:
    table = _table("epsilon", "events", "per event", "of never", "runs")
    for one in group:
        table.add_row(
            one.algorithm,
            _epsilon(one.epsilon),
            f"{one.horizon:,}",
            with_error(one.regret, one.regret_error) if one.runs else "failed",
            "" if math.isnan(one.ratio) else f"{one.ratio:.0%}",
            f"{one.runs}/{one.runs + one.failed}",
        )
    never = {one.horizon: one.never_learning for one in group if one.runs}
    for horizon, regret in sorted(never.items()):
        table.add_row("never learning", "", f"{horizon:,}", f"{regret:.4f}", "", "")
    return _titled(f"{problem}: regret in simulation", table)


def slope_tables(slopes: Iterable[Slope]) -> list[Group]:
    """Return one table per problem and quantity, with its title: a row for each slope."""
    tables: dict[str, Table] = {}
    for one in slopes:
        title = f"{one.problem}: regret grows as this power of {one.against} (95% interval)"
        tables.setdefault(title, _table("epsilon", "events", "power")).add_row(
            one.algorithm,
            "" if one.epsilon is None else _epsilon(one.epsilon),
            "" if one.horizon is None else f"{one.horizon:,}",
            one.reason if one.fit is None else str(one.fit),
        )
    return [_titled(title, table) for title, table in tables.items()]


def failures(results: Iterable[Result]) -> list[str]:
    """Return why cells failed: each reason once, with how many it took."""
    failed = [result for result in results if result.status != "done"]
    reasons = gather(failed, lambda result: (result.cell.problem, result.cell.algorithm, result.error))
    return [f"failed: {problem} / {name}, {len(ones)} cells: {why}" for (problem, name, why), ones in reasons.items()]


def with_error(mean: float, error: float) -> str:
    """Write a mean with its standard error, if it has one.

    Examples
    --------
    >>> with_error(0.12345, 0.00321), with_error(0.12345, float("nan"))
    ('0.1235 ± 0.0032', '0.1235')
    """
    return f"{mean:.4f}" + ("" if math.isnan(error) else f" ± {error:.4f}")


def _titled(title: str, table: Table) -> Group:
    return Group(Text(title, style="bold"), table)  # a title of its own may be wider than its table


def _table(*columns: str) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("algorithm", overflow="fold", min_width=14)
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _epsilon(epsilon: float) -> str:
    return "none" if math.isinf(epsilon) else f"{epsilon:g}"
