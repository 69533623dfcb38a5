"""The page of a sweep: headline numbers, then each problem, then every cell."""

import math
import os
from collections import Counter
from pathlib import Path
from typing import Any

from sottovoce._written import bare_name
from sottovoce.lab import Sweep
from sottovoce.lab.summary import Summary, failures, gather, summarise
from sottovoce.lab.sweeps.cell import Result
from sottovoce.report.html._problem_part import problem_part
from sottovoce.report.html.page import write_page
from sottovoce.report.numbers import epsilon_name, joined

_SIMULATED = (
    "The noise in these runs was simulated from seeds, so that they can be repeated. Whoever knows a seed knows the "
    "losses. The page shows what privacy would cost, and protects nobody."
)


def sweep_report(sweep: Sweep, path: str | os.PathLike[str]) -> Path:
    """Write one HTML page about a sweep, finished or not.

    Parameters
    ----------
    sweep : Sweep
        What to show; as much of it as is there.
    path : path
        Of the page.

    Returns
    -------
    Path
        Where the page is.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sottovoce.lab import Cell, Sweep
    >>> from sottovoce.report import sweep_report
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sweep = Sweep.create(folder, [Cell("ball", "default", 1.0, 1_000, 0)], command="sottovoce compare ball")
    ...     page = sweep_report(sweep, pathlib.Path(folder) / "report.html")
    ...     print(page.name, "1 of 1 cells has not been run" in page.read_text())
    report.html True
    """
    results = sweep.results
    groups = [one for one in summarise(results) if one.runs]
    colours = {name: number for number, name in enumerate(dict.fromkeys(cell.algorithm for cell in sweep.cells))}
    parts = [
        problem_part(sweep, mine, colours, anchor=f"problem-{i}")
        for i, mine in enumerate(gather(groups, lambda one: one.problem).values())
    ]
    places = [(part["anchor"], part["title"]) for part in parts]
    content = {
        "title": _title(sweep, parts),
        "lead": [_lead(sweep, results)],
        "banner": _SIMULATED if any(math.isfinite(cell.epsilon) for cell in sweep.cells) else "",
        "tiles": [part["tile"] for part in parts][:6],
        "contents": [*places, ("failed", "Failures"), ("again", "Do it again")],
        "reading": _reading(groups),
        "problems": parts,
        "failed": failures(results),
        "missing": _missing(sweep, results),
        "command": sweep.command,
        "again": "Equal seeds give the same figures bit for bit, except for the times.",
    }
    return write_page(path, "sweep.html", content)


def _title(sweep: Sweep, parts: list[dict[str, Any]]) -> str:
    if len(parts) == 1:
        return f"{parts[0]['title']}: what privacy costs"
    names = dict.fromkeys(bare_name(cell.problem) for cell in sweep.cells)
    return f"What privacy costs on {joined(names)}"


def _lead(sweep: Sweep, results: tuple[Result, ...]) -> str:
    cells = sweep.cells
    algorithms = list(dict.fromkeys(cell.algorithm for cell in cells))
    epsilons = [epsilon_name(value) for value in sorted({cell.epsilon for cell in cells})]
    horizons = [f"{value:,}" for value in sorted({cell.horizon for cell in cells})]
    seeds = len({cell.seed for cell in cells})
    counts = Counter(result.status for result in results)
    return (
        f"{counts['done']:,} finished runs of {len(cells):,}: {joined(algorithms)}; at {joined(epsilons)}; over "
        f"{joined(horizons)} events; {seeds} {'seed' if seeds == 1 else 'seeds'} each."
    )


def _reading(groups: list[Summary]) -> str:
    seeds = max((one.runs for one in groups), default=0)
    words = (
        "Regret is what was lost beyond the fixed decision that is best in hindsight; lower is better. The same colour "
        "is the same algorithm everywhere. "
    )
    if seeds > 1:
        return (
            words + f"Lines are means over seeds ({seeds} at most); bands and bars are one standard error to each side."
        )
    return words + "There is a single seed, so no error is known: run more seeds before believing small differences."


def _missing(sweep: Sweep, results: tuple[Result, ...]) -> str:
    count = len(sweep.cells) - len(results)
    verb = "has" if count == 1 else "have"
    return f"{count:,} of {len(sweep.cells):,} cells {verb} not been run: the same command goes on." if count else ""
