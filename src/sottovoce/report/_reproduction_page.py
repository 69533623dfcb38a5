"""The paper's claims, measured: figures, and a page in Markdown."""

import math
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path

from sottovoce.lab.algorithms import DELTA
from sottovoce.lab.grouping import gather
from sottovoce.lab.reproduction.events_needed import (
    READINGS,
    events_needed,
    events_needed_with_needed_noise,
)
from sottovoce.lab.reproduction.extent import Extent, problem_of
from sottovoce.lab.reproduction.hindsight import FACTORS, Hindsight, hindsight
from sottovoce.lab.reproduction.paper_claims import PaperClaim
from sottovoce.lab.summary import Summary, summarise
from sottovoce.lab.sweeps.swept import Sweep, read_about
from sottovoce.privacy import ApproxDP, PureDP
from sottovoce.report.figures._reproduction import reproduction_figures

__all__ = ["reproduction_page", "write_reproduction"]


def write_reproduction(sweep: Sweep, claims: Sequence[PaperClaim], scale: Extent, path: Path) -> list[Path]:
    """Write the page and its figures, in a folder `figures` beside it; return the paths, the page first.

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
    path.write_text(reproduction_page(sweep, claims, scale), encoding="utf-8")
    return [path, *figures]


def reproduction_page(sweep: Sweep, claims: Sequence[PaperClaim], scale: Extent) -> str:
    """Return the page."""
    parts = [
        "# The paper's claims, measured",
        _filled(_beginning(sweep, scale)),
        _table(
            ["claim", "with the noise of the paper's lemmas", "with the needed noise", "by this library's default"],
            [
                [f"[{claim.title}](#{_anchor(claim.title)})", claim.of_paper, claim.of_needed, claim.of_default]
                for claim in claims
            ],
        ),
        _filled(_need(scale)),
        _READING,
    ]
    shown: set[str] = set()
    for claim in claims:
        parts += _claim_parts(claim, figure=claim.axis not in shown)
        shown.add(claim.axis)
    parts += _baseline_parts(hindsight(sweep.results, scale.base))
    parts += ["## All numbers", _NUMBERS, *_number_tables(summarise(sweep.results))]
    return "\n\n".join(parts) + "\n"


_READING = """**How to read it.** *The noise of the paper's lemmas* is Algorithm 1 with the scales of Lemmas 5.1 and
5.4, as `plan="paper"` has it. *The needed noise* is Algorithm 1 with the paper's radius, step, batches, tree and
conditional gradient, and the least noise on the tree that keeps the same promise: one loss moves one summand of one
round, which the paper's sensitivity argument does not use. *This library's default* is another algorithm. The claims
are upper bounds up to constants, for sizes without end; what is judged is how regret grows over the sizes measured
*here*. A claim does not hold here if the whole 95% interval of the measured power, over seeds, lies above what the
bound allows over this range, its logarithms included; at a power that is exactly the claimed one this happens by
chance once in 40 times. It does not refute the theorem: regret that is far below its bound may rise towards it faster
than the bound does, and the column "regret / own bound" shows how far below it is. A claim cannot be seen where an
algorithm does not learn: its regret is then about as large as it can be, whatever grows, and a slope would say
nothing. An algorithm learns at a value if its regret is below that of never learning (playing the centre for ever) by
two standard errors; slopes are fitted where it does. A power stands with its standard error over seeds, and its 95%
interval."""

_NUMBERS = "Regret per event, mean ± standard error over seeds, and as a share of the regret of never learning."


def _beginning(sweep: Sweep, scale: Extent) -> str:
    done = [result for result in sweep.results if result.status == "done"]
    failed = len(sweep.cells) - len(done)
    minutes = sum(result.seconds for result in done) / 60
    about = read_about(sweep.folder)
    versions = ", ".join(f"{name} {version}" for name, version in about["environment"].items())
    return (
        f"Made by `{sweep.command}` with sottovoce {about['sottovoce']} ({versions}): {len(done)} runs"
        f"{f', {failed} missing' if failed else ''}, seeds 0 to {scale.seeds - 1}, {minutes:.0f} minutes of computing. "
        "Equal seeds give equal numbers. "
        "The paper has no experiments. The setting is ours, one of those that its theorem covers: the unit ball, "
        "losses ||x - target||, actions on a sphere around the point; n = "
        f"{scale.base.dimension}, T = {scale.base.horizon:,} and epsilon = {scale.base.epsilon:g} unless they vary. "
        "The baselines play inside the ball, as they are defined, each with the radius and step that make its own "
        f"bound least. {_skipped(scale)}All noise is simulated: NOT PRIVATE."
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
    with_lemmas = ", and ".join(f"{_range(events)} with {name} noise" for name, events in asked.items())
    with_needed = ", and ".join(f"{_range([events])} with {name} noise" for name, events in needed.items())
    return (
        "How many events until the explicit bound falls below what never learning can cost, at n = "
        f"{base.dimension} and epsilon = {base.epsilon:g}? With the noise of the lemmas {with_lemmas}; the range is "
        f"that of what log T may mean there ({', '.join(READINGS)}; runs take the first). With the needed noise "
        f"{with_needed}."
    )


def _range(counts: list[int | None]) -> str:
    """Say from how many to how many events."""
    known = sorted(one for one in counts if one is not None)
    if not known:
        return "more than can be planned for"
    ends = f"{known[0]:.0e}" if known[0] == known[-1] else f"{known[0]:.0e} to {known[-1]:.0e}"
    return f"about {ends}" if len(known) == len(counts) else f"about {ends}, or more than can be planned for,"


def _claim_parts(claim: PaperClaim, *, figure: bool) -> list[str]:
    columns = ["", "regret / never learning", "regret / own bound", claim.measured, "verdict", "why", "of which"]
    rows = [
        [row.who, row.level, row.share_of_bound, row.measured or "none", row.verdict, row.why, row.parts]
        for row in claim.rows
    ]
    kept = [place for place, name in enumerate(columns) if not name or any(row[place] for row in rows)]
    parts = [
        f"## {claim.title}",
        _filled(f"{claim.statement} ({claim.source}.)"),
        _filled(f"**{claim.verdict}**"),
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
            "Regret per event, mean ± standard error. Each baseline takes the radius that makes its own bound least "
            "(FKM the one of its theorem), and the step that goes with it. Beside it the best of that radius times "
            f"{factors}, chosen by the very losses that it is measured on, which nobody has beforehand."
        ),
        _table(columns, lines),
    ]


def _number_tables(summaries: Iterable[Summary]) -> list[str]:
    columns = ["algorithm", "epsilon", "events", "regret per event", "of never learning", "runs"]
    problems = gather(summaries, lambda one: one.problem).items()
    return [part for problem, ones in problems for part in (f"`{problem}`", _table(columns, list(map(_row, ones))))]


def _row(one: Summary) -> list[str]:
    epsilon = "" if math.isinf(one.epsilon) else f"{one.epsilon:g}"
    numbers = [f"{one.regret:.4f} ± {one.regret_error:.4f}", f"{one.ratio:.0%}"] if one.runs else ["failed", ""]
    return [one.algorithm, epsilon, f"{one.horizon:,}", *numbers, f"{one.runs}"]


def _table(columns: list[str], rows: list[list[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _filled(paragraph: str) -> str:
    return textwrap.fill(paragraph, width=120, break_long_words=False, break_on_hyphens=False)


def _anchor(title: str) -> str:
    """Return the address of a heading, as GitHub and mkdocs both make it."""
    kept = "".join(letter for letter in title.lower() if letter.isalnum() or letter in " -")
    return kept.replace(" ", "-")
