"""The page of an A/B test: differences and means with their intervals, the looks that were made, and the promise."""

import os
from pathlib import Path

from sottovoce.models.published import quantity
from sottovoce.privacy import PrivacyStatement
from sottovoce.report._charts import Interval, forest
from sottovoce.report._promises import promise_of
from sottovoce.report.html.page import write_page
from sottovoce.report.html.pieces import Chart, Table, Tile, table, text
from sottovoce.report.numbers import sentence, significant
from sottovoce.stats import ABTestResult, Difference
from sottovoce.stats.ab_result import Look

_AXES = {"minimize": "difference: below 0 loses less", "maximize": "difference: above 0 gains more"}
_LIMITS = (
    "An average of losses is taken as normal: have some dozens of events in each arm and stage. The variance of losses "
    "is bounded by their mean and range, so losses that are far from all-or-nothing get wider intervals than needed. "
    "A loss that never came counts as the middle of the range, and pulls its arm towards it. What is compared is fair "
    "only if chance decided who met which arm."
)


def ab_test_report(
    path: str | os.PathLike[str],
    comparison: ABTestResult,
    *,
    privacy: PrivacyStatement,
    title: str = "A/B test",
    command: str = "",
) -> Path:
    """Write one HTML page about a test of arms.

    Parameters
    ----------
    path : path
        Of the page.
    comparison : ABTestResult
        What `sv.ab_test` returned.
    privacy : PrivacyStatement
        What is promised: `evaluations.privacy`.
    title : str
        Of the page.
    command : str
        How to do it again.

    Returns
    -------
    Path
        Where the page is.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import sottovoce as sv
    >>> from sottovoce.report import ab_test_report
    >>> evaluations = sv.PrivateEvaluations((0.0, 1.0), sv.PureDP(epsilon=1.0), noise=sv.SimulatedNoise(1))
    >>> a, b = evaluations.open(events=100), evaluations.open(events=100)
    >>> a.tell([0.0, 1.0] * 50), b.tell([0.0, 1.0] * 50)
    (None, None)
    >>> page = pathlib.Path(tempfile.mkdtemp()) / "page.html"
    >>> found = sv.ab_test({"A": a, "B": b})
    >>> "NOT PRIVATE" in ab_test_report(page, found, privacy=evaluations.privacy).read_text()
    True
    """
    content = {
        "title": title,
        "lead": [one.words + "." for one in comparison.differences[:3]],
        "banner": _banner(privacy),
        "tiles": _tiles(comparison),
        "contents": _contents(comparison),
        "levels": sentence(comparison.correction) + ".",
        "differences": _difference_chart(comparison),
        "difference_table": _difference_table(comparison),
        "mean_table": _mean_table(comparison),
        "paths": [_path_chart(one) for one in comparison.differences if one.looks],
        "schedule": _schedule(comparison),
        "promise": promise_of(privacy.guarantee, headline=privacy.headline, simulated=privacy.simulated),
        "statement": privacy.rows,
        "limits": _LIMITS,
        "command": command,
        "again": "What was released is released once: made again from the same released numbers, the page is the same.",
    }
    return write_page(path, "ab_test.html", content)


def _banner(privacy: PrivacyStatement) -> str:
    if privacy.private:
        return ""
    if privacy.simulated:
        return "The noise was simulated from a seed: whoever knows it knows the sums of losses."
    return "Nothing was promised, and no noise was added: these are the means as they are."


def _tiles(comparison: ABTestResult) -> list[Tile]:
    shown, most = comparison.shown, comparison.direction == "maximize"
    best = (max if most else min)(comparison.arms, key=lambda one: one.mean)
    return [
        Tile("differences shown", f"{len(shown)} of {len(comparison.differences)}", "whose interval does not hold 0"),
        Tile(
            "most reward" if most else "least loss",
            significant(min(max(best.mean, best.low), best.high)),
            f"{best.name}, as released",
        ),
        Tile("events", f"{sum(one.events for one in comparison.arms):,}", f"in {len(comparison.arms)} arms"),
    ]


def _contents(comparison: ABTestResult) -> list[tuple[str, str]]:
    looks = [("looks", "Look by look")] if comparison.schedule else []
    return [("differences", "Differences"), ("means", "Means"), *looks, ("privacy", "What is promised")]


def _difference_chart(comparison: ABTestResult) -> Chart:
    title, way = _differences(comparison), comparison.direction
    found = [_interval(f"{one.arm} less {one.against}", one, way) for one in comparison.differences]
    return Chart(
        title,
        forest(found, _AXES[way], f"{title}, with their intervals"),
        "An interval that does not touch the line at 0 shows a difference: in green one for the better, in orange one "
        "for the worse. Grey intervals hold 0. The noise of privacy is in all of them.",
    )


def _interval(name: str, found: Difference | Look, direction: str) -> Interval:
    better = found.low > 0 if direction == "maximize" else found.high < 0
    return Interval(name, found.estimate, found.low, found.high, 2 if better else 1, found.shown)


def _differences(comparison: ABTestResult) -> str:
    return f"Differences in mean {quantity(comparison.direction)}"


def _path_chart(one: Difference) -> Chart:
    found = [_interval(f"look {look.look}, {look.events:,} events", look, one.direction) for look in one.looks]
    return Chart(
        f"{one.arm} less {one.against}",
        forest(found, _AXES[one.direction], f"{one.arm} less {one.against}, look by look"),
        "All of these intervals hold together: early ones are wide, since little may be spent on them.",
    )


def _difference_table(comparison: ABTestResult) -> Table:
    return table(
        "difference-table",
        _differences(comparison),
        comparison.differences,
        {
            "difference": lambda one: f"{one.arm} less {one.against}",
            "estimate": lambda one: one.estimate,
            "at least": lambda one: one.low,
            "at most": lambda one: one.high,
            "shown": lambda one: "yes" if one.shown else "no",
            "in words": lambda one: text(one.words, long=True),
        },
    )


def _mean_table(comparison: ABTestResult) -> Table:
    return table(
        "mean-table",
        f"Mean {quantity(comparison.direction)}",
        comparison.arms,
        {
            "arm": lambda one: one.name + (" (control)" if one.name == comparison.control else ""),
            "events": lambda one: one.events,
            "mean": lambda one: one.mean,
            "at least": lambda one: one.low,
            "at most": lambda one: one.high,
            "deviation of privacy noise": lambda one: one.noise_error,
        },
    )


def _schedule(comparison: ABTestResult) -> str:
    if not comparison.schedule:
        return ""
    sizes = ", ".join(f"{size:,}" for size in comparison.schedule)
    return (
        f"The schedule, {sizes} events an arm, was fixed before the start, and {comparison.looks} of its "
        f"{len(comparison.schedule)} looks were made. Stopping at any of them, for any reason, is valid."
    )
