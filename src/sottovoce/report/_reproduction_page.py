"""The paper's claims, measured: a page in Markdown with figures, and tables of all evidence and all numbers."""

import csv
import io
import math
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path

from sottovoce.lab.algorithms import DELTA
from sottovoce.lab.reproduction.events_needed import (
    READINGS,
    events_needed,
    events_needed_with_needed_noise,
)
from sottovoce.lab.reproduction.evidence import Evidence
from sottovoce.lab.reproduction.extent import Extent, problem_of
from sottovoce.lab.reproduction.hindsight import FACTORS, Hindsight, hindsight
from sottovoce.lab.reproduction.paper_claims import PaperClaim
from sottovoce.lab.summary import Summary, summarise
from sottovoce.lab.sweeps.swept import Sweep, read_about
from sottovoce.privacy import ApproxDP, PureDP
from sottovoce.report.figures._reproduction import reproduction_figures


def write_reproduction(sweep: Sweep, claims: Sequence[PaperClaim], scale: Extent, path: Path) -> list[Path]:
    """Write the page, tables of all evidence and all numbers and, in a folder `figures`, the figures; return the paths.

    The page is the first.

    Parameters
    ----------
    sweep
        What was run.
    claims
        What `judge` made of it.
    scale
        `SMALL` or `LARGE`.
    path
        Of the page.
    """
    folder = path.parent / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    figures = reproduction_figures(sweep.results, scale, folder)
    numbers, evidence = path.with_suffix(".csv"), path.with_name(f"{path.stem}-evidence.csv")
    numbers.write_text(_numbers(summarise(sweep.results)), encoding="utf-8")
    evidence.write_text(_evidence(claims), encoding="utf-8")
    path.write_text(reproduction_page(sweep, claims, scale, path.stem), encoding="utf-8")
    return [path, numbers, evidence, *figures]


def reproduction_page(sweep: Sweep, claims: Sequence[PaperClaim], scale: Extent, stem: str = "reproduction") -> str:
    """Return the page; names of the tables beside it begin with `stem`."""
    parts = [
        "# The paper's claims, measured",
        _filled("Look up what became of each claim of the paper when it was measured, and by which numbers."),
        _table(
            ["claim", "the paper's noise", "the needed noise", "this library's default"],
            [
                [
                    f"[{claim.title}](#{_anchor(claim.title)})",
                    *(_agreed([row for row in claim.rows if row.group == group]) for group in _GROUPS),
                ]
                for claim in claims
            ],
        ),
        _filled(_beginning(sweep, scale)),
        _READING,
        _filled(_need(scale)),
    ]
    shown: set[str] = set()
    for claim in claims:
        parts += _claim_parts(claim, figure=claim.axis not in shown)
        shown.add(claim.axis)
    parts += _baseline_parts(hindsight(sweep.results, scale.base))
    parts += ["## All numbers", _filled(_NUMBERS.format(stem))]
    return "\n\n".join(parts) + "\n"


_GROUPS = ("paper", "needed", "here")

_READING = """How to read it:

- *The paper's noise* is that of Lemmas 5.1 and 5.4 in Algorithm 1, as `plan="paper"` has it. *The needed noise* is the
  least on the same tree that keeps the same promise; all else is the paper's. *This library's default* is another
  algorithm.
- An algorithm *learns* at a value if its regret is below that of never learning (playing the centre for ever) by two
  standard errors. Powers are fitted where it learns, with their standard error over seeds and their 95% interval. Where
  it learns nowhere the claim *cannot be seen here*.
- A claim *does not hold here* if the whole interval lies above what the bound allows over the sizes measured, its
  logarithms included; at exactly the claimed power that happens by chance once in 40 times. It does not refute the
  theorem, which bounds regret up to constants: regret far below its bound may rise towards it faster."""

_NUMBERS = (
    "[{0}-evidence.csv]({0}-evidence.csv) has what each verdict rests on, regret as a share of its own bound, and what "
    "it is made of, also of algorithms without privacy. [{0}.csv]({0}.csv) has the regret per event of every "
    "algorithm, problem, epsilon and length."
)


def _agreed(rows: Sequence[Evidence]) -> str:
    """Return the verdict on some rows; on each, if they differ."""
    verdicts = dict.fromkeys(row.verdict for row in rows)
    if len(verdicts) < 2:
        return next(iter(verdicts), "was not measured")
    return "; ".join(f"{row.who.partition(', against')[0].rpartition(', ')[2]}: {row.verdict}" for row in rows)


def _beginning(sweep: Sweep, scale: Extent) -> str:
    done = [result for result in sweep.results if result.status == "done"]
    failed = len(sweep.cells) - len(done)
    minutes = sum(result.seconds for result in done) / 60
    about = read_about(sweep.folder)
    versions = ", ".join(f"{name} {version}" for name, version in about["environment"].items())
    return (
        f"Made by `{sweep.command}` with sottovoce {about['sottovoce']} ({versions}): {len(done)} runs"
        f"{f', {failed} missing' if failed else ''}, seeds 0 to {scale.seeds - 1}, {minutes:.0f} minutes of computing. "
        "Equal seeds give equal numbers. All noise is simulated: NOT PRIVATE. "
        "The paper has no experiments. The setting is ours, one of those that its theorem covers: the unit ball, "
        "losses ||x - target||, actions on a sphere around the point; n = "
        f"{scale.base.dimension}, T = {scale.base.horizon:,} and epsilon = {scale.base.epsilon:g} unless they vary. "
        "The baselines play inside the ball, as they are defined, each with the radius and step that make its own "
        f"bound least. {_skipped(scale)}"
    )


def _skipped(scale: Extent) -> str:
    """Say what was not run because it would take too long."""
    few = ""
    if scale.longest:
        lengths = " and ".join(f"{one:,}" for one in scale.longest)
        few = f"T = {lengths} has {scale.longest_seeds} seeds: it is reported, and slopes are judged without it. "
    but = ""
    if scale.approximate_horizons:
        but = f", Smith-Thakurta under approximate privacy to T = {scale.approximate_horizons[-1]:,}"
    return (
        f"{few}Algorithms with a round per event (Smith-Thakurta, Chen-Zhang-Karbasi, FKM) are run to "
        f"T = {scale.slow_horizons[-1]:,} only{but}. "
    )


def _need(scale: Extent) -> str:
    base, here = scale.base, problem_of(scale.base.dimension)
    promises = {"Laplace": PureDP(base.epsilon), "Gaussian": ApproxDP(base.epsilon, DELTA)}
    asked = {
        name: [events_needed(here, privacy, reading) for reading in READINGS] for name, privacy in promises.items()
    }
    needed = {name: events_needed_with_needed_noise(here, privacy) for name, privacy in promises.items()}
    with_lemmas = " or ".join(f"{_range(events)} ({name})" for name, events in asked.items())
    with_needed = " or ".join(f"{_range([events])} ({name})" for name, events in needed.items())
    return (
        f"At n = {base.dimension} and epsilon = {base.epsilon:g} the explicit bound falls below what never learning "
        f"can cost after {with_lemmas} with the paper's noise, and after {with_needed} with the needed noise. (A "
        "range: the paper's log T can be read in three ways.)"
    )


def _range(counts: list[int | None]) -> str:
    """Say from how many to how many events."""
    known = sorted(one for one in counts if one is not None)
    if not known:
        return "more events than can be planned for"
    ends = f"{known[0]:.0e}" if known[0] == known[-1] else f"{known[0]:.0e} to {known[-1]:.0e}"
    return f"about {ends} events" + ("" if len(known) == len(counts) else ", or more than can be planned for,")


def _claim_parts(claim: PaperClaim, *, figure: bool) -> list[str]:
    columns = ["", "regret / never learning", claim.measured]
    rows = [[row.who, row.level, row.measured or "none"] for row in claim.rows if row.group]
    kept = [place for place, name in enumerate(columns) if not name or any(row[place] for row in rows)]
    parts = [
        f"## {claim.title}",
        _filled(f"{claim.statement} ({claim.source}.)"),
        _table([columns[place] for place in kept], [[row[place] for place in kept] for row in rows]),
    ]
    if figure:
        name = claim.axis.replace("1/", "")
        parts.append(f"![Regret per event against {name}](figures/reproduction-{name}.png)")
    return parts


def _baseline_parts(rows: Sequence[Hindsight]) -> list[str]:
    """Return the baselines with the constants of their bounds, and with those that turn out best."""
    if not rows:
        return []
    lines = [
        [
            row.who,
            f"{row.horizon:,}",
            f"{row.own:.4f} ± {row.own_error:.4f}",
            f"{row.best:.4f} ± {row.best_error:.4f}",
            f"{row.factor:g}",
            f"{row.own / row.never:.0%} and {row.best / row.never:.0%}",
        ]
        for row in rows
    ]
    columns = ["", "events", "its own bound's constant", "its best constant in hindsight", "radius times", "of never"]
    factors = ", ".join(f"{factor:g}" for factor in FACTORS)
    return [
        "## Baselines at their best",
        _filled(
            "Regret per event, mean ± standard error, with the radius that makes its own bound least, and with the "
            f"best of that radius times {factors}, chosen by the very losses that it is measured on."
        ),
        _table(columns, lines),
    ]


def _numbers(summaries: Iterable[Summary]) -> str:
    """Return all numbers."""
    columns = ["problem", "algorithm", "epsilon", "events", "regret", "standard error", "of never", "runs"]
    rows = []
    for one in sorted(summaries, key=lambda one: one.problem):
        epsilon = "" if math.isinf(one.epsilon) else f"{one.epsilon:g}"
        measured = [f"{one.regret:.4f}", f"{one.regret_error:.4f}", f"{one.ratio:.2f}"] if one.runs else ["failed"] * 3
        rows.append([one.problem, one.algorithm, epsilon, f"{one.horizon}", *measured, f"{one.runs}"])
    return _separated(columns, rows)


def _evidence(claims: Sequence[PaperClaim]) -> str:
    """Return what each verdict rests on."""
    columns = ["claim", "algorithm", "of never", "of own bound", "measured", "verdict", "why", "made of"]
    rows = [
        [claim.title, row.who, row.level, row.share_of_bound, row.measured, row.verdict, row.why, row.parts]
        for claim in claims
        for row in claim.rows
    ]
    return _separated(columns, rows)


def _separated(columns: list[str], rows: list[list[str]]) -> str:
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows([columns, *rows])
    return file.getvalue()


def _table(columns: list[str], rows: list[list[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _filled(paragraph: str) -> str:
    return textwrap.fill(paragraph, width=120, break_long_words=False, break_on_hyphens=False)


def _anchor(title: str) -> str:
    """Return the address of a heading, as GitHub and mkdocs both make it."""
    kept = "".join(letter for letter in title.lower() if letter.isalnum() or letter in " -")
    return kept.replace(" ", "-")
