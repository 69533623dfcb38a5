"""The page of a sweep: headline numbers, then each problem, then every cell."""

import math
import os
import re
from collections import Counter
from pathlib import Path
from typing import Any

from sottovoce.experiments import Result, Sweep
from sottovoce.experiments.records import COLUMNS, row_of
from sottovoce.report.groups import Group, group
from sottovoce.report.html import write_page
from sottovoce.report.predictions import predictions
from sottovoce.report.problem_part import epsilon_name, problem_part
from sottovoce.report.scales import joined, significant
from sottovoce.report.slope_part import slope_part
from sottovoce.report.tables import Cell, Head, Table, text
from sottovoce.report.words import promise_of, statement_rows

__all__ = ["sweep_report"]

_TEXTS = ("problem", "algorithm", "status", "error", "privacy")
_WORDY = ("error", "privacy")


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
    >>> from sottovoce.experiments import Cell, Sweep
    >>> from sottovoce.report import sweep_report
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sweep = Sweep.create(folder, [Cell("ball", "default", 1.0, 1_000, 0)], command="sottovoce compare ball")
    ...     page = sweep_report(sweep, pathlib.Path(folder) / "report.html")
    ...     print(page.name, "1 of 1 cells has not been run" in page.read_text())
    report.html True
    """
    results = sweep.results
    groups = group(results)
    colours = {name: number for number, name in enumerate(dict.fromkeys(cell.algorithm for cell in sweep.cells))}
    parts = [
        problem_part(sweep, [one for one in groups if one.problem == name], colours, anchor=f"problem-{i}")
        for i, name in enumerate(dict.fromkeys(one.problem for one in groups))
    ]
    predicted, sloped = predictions(groups, colours), slope_part(results)
    content = {
        "title": _title(sweep, parts),
        "lead": [_lead(sweep, results)],
        "banner": _banner(results),
        "tiles": [tile for part in parts for tile in part.tiles][:6],
        "contents": _contents(parts, bool(predicted), bool(sloped)),
        "reading": _reading(groups),
        "problems": parts,
        "promises": _promises(sweep, groups),
        "predictions": predicted,
        "slopes": sloped,
        "failed": _failed(results),
        "missing": _missing(sweep, results),
        "cells": _cells(results),
        "command": sweep.command,
        "again": "Equal seeds give the same figures bit for bit, except for the times.",
    }
    return write_page(path, "sweep.html", content)


def _title(sweep: Sweep, parts: list[Any]) -> str:
    if len(parts) == 1:
        return f"{parts[0].title}: what privacy costs"
    names = dict.fromkeys(re.split("[: ]", cell.problem)[0] for cell in sweep.cells)
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


def _banner(results: tuple[Result, ...]) -> str:
    if any(promise_of(result.privacy).simulated for result in results):
        return (
            "The noise in these runs was simulated from seeds, so that they can be repeated. Whoever knows a seed "
            "knows the losses. The page shows what privacy would cost, and protects nobody."
        )
    return ""


def _contents(parts: list[Any], predicted: bool, sloped: bool) -> list[tuple[str, str]]:
    return [
        *((part.anchor, part.title) for part in parts),
        ("privacy", "What is promised"),
        *([("plan", "Predicted and happened")] if predicted else []),
        *([("slopes", "Slopes")] if sloped else []),
        ("failed", "Failures"),
        ("cells-section", "Every cell"),
        ("again", "Do it again"),
    ]


def _reading(groups: list[Group]) -> str:
    seeds = max((len(one.results) for one in groups), default=0)
    words = (
        "Regret is what was lost beyond the fixed decision that is best in hindsight; lower is better. The same colour "
        "is the same algorithm everywhere. "
    )
    if seeds > 1:
        return (
            words + f"Lines are means over seeds ({seeds} at most); bands and bars are one standard error to each side."
        )
    return words + "There is a single seed, so no error is known: run more seeds before believing small differences."


def _promises(sweep: Sweep, groups: list[Group]) -> list[tuple[str, Any, Any]]:
    """Return each promise once, with the algorithms that run under it and one full statement."""
    under: dict[str, list[Group]] = {}
    for one in groups:
        under.setdefault(one.results[0].privacy, []).append(one)
    found = []
    for headline, members in sorted(under.items(), key=lambda item: item[1][0].epsilon):
        try:
            statement = statement_rows(sweep.run_of(members[0].results[0].cell).details.privacy)
        except (LookupError, ValueError, OSError):
            statement = []
        found.append((joined(dict.fromkeys(one.algorithm for one in members)), promise_of(headline), statement))
    return found


def _failed(results: tuple[Result, ...]) -> Table:
    rows = tuple(
        (
            text(one.cell.problem),
            text(one.cell.algorithm),
            *(Cell(row_of(one)[name], value=row_of(one)[name], style="n") for name in ("epsilon", "horizon", "seed")),
            text(one.error, long=True),
        )
        for one in results
        if one.status != "done"
    )
    names = tuple(
        Head(word, number=word in ("epsilon", "horizon", "seed"))
        for word in ("problem", "algorithm", "epsilon", "horizon", "seed", "why")
    )
    return Table("failures", "Cells that failed, and why. The same command tries them again.", names, rows)


def _missing(sweep: Sweep, results: tuple[Result, ...]) -> str:
    count = len(sweep.cells) - len(results)
    verb = "has" if count == 1 else "have"
    return f"{count:,} of {len(sweep.cells):,} cells {verb} not been run: the same command goes on." if count else ""


def _cells(results: tuple[Result, ...]) -> Table:
    names = tuple(Head(name.replace("_", " "), number=name not in _TEXTS) for name in COLUMNS)
    rows = tuple(tuple(_entry(name, value) for name, value in row_of(result).items()) for result in results)
    return Table("cells", f"{len(rows):,} cells. Press a head to sort.", names, rows, sortable=True)


def _entry(name: str, exact: str) -> Cell:
    """Return a value of results.csv: shortened for people, exact in the attribute."""
    if name in _TEXTS:
        return Cell(exact, value=exact, style="long" if name in _WORDY and len(exact) > 40 else "")
    value = float(exact)
    words = f"{int(exact):,}" if re.fullmatch(r"-?\d+", exact) else significant(value)
    if name == "epsilon" and math.isfinite(value):
        words = f"{value:g}"
    return Cell("" if math.isnan(value) else words, value=exact, style="n")
