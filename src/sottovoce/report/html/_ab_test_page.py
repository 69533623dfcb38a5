"""The page of an A/B test: differences and means with their intervals, the looks that were made, and the promise."""

import os
from pathlib import Path

from sottovoce.privacy import PrivacyStatement
from sottovoce.report._forest import Interval, forest
from sottovoce.report._numbers import significant
from sottovoce.report._promises import promise_of
from sottovoce.report.html._page import write_page
from sottovoce.report.html._pieces import Chart, Table, TableCell, Tile, heads, number, text
from sottovoce.stats import ABTestResult, Difference

__all__ = ["ab_test_report"]

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
        "levels": comparison.correction[0].upper() + comparison.correction[1:] + ".",
        "differences": _difference_chart(comparison),
        "difference_table": _difference_table(comparison),
        "means": _mean_chart(comparison),
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
    shown, best = comparison.shown, min(comparison.arms, key=lambda one: one.mean)
    return [
        Tile("differences shown", f"{len(shown)} of {len(comparison.differences)}", "whose interval does not hold 0"),
        Tile("least loss", significant(min(max(best.mean, best.low), best.high)), f"{best.name}, as released"),
        Tile("events", f"{sum(one.events for one in comparison.arms):,}", f"in {len(comparison.arms)} arms"),
    ]


def _contents(comparison: ABTestResult) -> list[tuple[str, str]]:
    looks = [("looks", "Look by look")] if comparison.schedule else []
    return [("differences", "Differences"), ("means", "Means"), *looks, ("privacy", "What is promised")]


def _difference_chart(comparison: ABTestResult) -> Chart:
    found = [
        Interval(f"{one.arm} less {one.against}", one.estimate, one.low, one.high, 2 if one.high < 0 else 1, one.shown)
        for one in comparison.differences
    ]
    return Chart(
        "Differences of mean losses",
        forest(found, "difference: below 0 loses less", "Differences of mean losses, with their intervals"),
        "An interval that does not touch the line at 0 shows a difference: in green one that loses less, in orange one "
        "that loses more. Grey intervals hold 0. The noise of privacy is in all of them.",
    )


def _mean_chart(comparison: ABTestResult) -> Chart:
    found = [Interval(one.name, one.mean, one.low, one.high) for one in comparison.arms]
    return Chart(
        "Mean losses",
        forest(found, "mean loss", "Mean losses of the arms, with their intervals", zero=False),
        "As released, with noise. Two intervals that overlap may still belong to means whose difference is shown: "
        "the differences above say so.",
    )


def _path_chart(one: Difference) -> Chart:
    found = [
        Interval(
            f"look {look.look}, {look.events:,} events",
            look.estimate,
            look.low,
            look.high,
            2 if look.high < 0 else 1,
            look.shown,
        )
        for look in one.looks
    ]
    return Chart(
        f"{one.arm} less {one.against}",
        forest(found, "difference: below 0 loses less", f"{one.arm} less {one.against}, look by look"),
        "All of these intervals hold together: early ones are wide, since little may be spent on them.",
    )


def _difference_table(comparison: ABTestResult) -> Table:
    rows = [
        (
            text(f"{one.arm} less {one.against}"),
            number(one.estimate),
            number(one.low),
            number(one.high),
            TableCell("yes" if one.shown else "no"),
            text(one.words, long=True),
        )
        for one in comparison.differences
    ]
    names = ("difference", "estimate", "at least", "at most", "shown", "in words")
    return Table(
        "difference-table",
        "Differences of mean losses",
        heads(names[:1], 1) + heads(names[1:4], 0) + heads(names[4:], 2),
        tuple(rows),
    )


def _mean_table(comparison: ABTestResult) -> Table:
    rows = [
        (
            text(one.name + (" (control)" if one.name == comparison.control else "")),
            number(one.events),
            number(one.mean),
            number(one.low),
            number(one.high),
            number(one.noise_error),
        )
        for one in comparison.arms
    ]
    names = ("arm", "events", "mean", "at least", "at most", "deviation of privacy noise")
    return Table("mean-table", "Mean losses", heads(names, 1), tuple(rows))


def _schedule(comparison: ABTestResult) -> str:
    if not comparison.schedule:
        return ""
    sizes = ", ".join(f"{size:,}" for size in comparison.schedule)
    return (
        f"The schedule, {sizes} events an arm, was fixed before the start, and {comparison.looks} of its "
        f"{len(comparison.schedule)} looks were made. Stopping at any of them, for any reason, is valid."
    )
