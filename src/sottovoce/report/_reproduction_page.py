"""The paper's claims, measured: figures, and a page in Markdown."""

import math
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path

from sottovoce.experiments.algorithms import DELTA
from sottovoce.experiments.grouping import gather
from sottovoce.experiments.reproduction.extent import Extent, events_needed
from sottovoce.experiments.reproduction.paper_claims import PaperClaim
from sottovoce.experiments.summary import Summary, summarise
from sottovoce.experiments.sweeps.sweep import Sweep, read_about
from sottovoce.privacy import ApproxDP, PureDP
from sottovoce.report.figures._reproduction import reproduction_figures

__all__ = ["reproduction_page", "write_reproduction"]


def write_reproduction(sweep: Sweep, claims: Sequence[PaperClaim], scale: Extent, path: Path) -> list[Path]:
    """Write the page and its figures, in a folder `figures` beside it; return the paths, the page first."""
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
            ["claim", "with the paper's constants", "by this library's default"],
            [[f"[{claim.title}](#{_anchor(claim.title)})", claim.of_paper, claim.of_default] for claim in claims],
        ),
        _filled(_need(scale)),
        _READING,
    ]
    shown: set[str] = set()
    for claim in claims:
        parts += _claim_parts(claim, figure=claim.axis not in shown)
        shown.add(claim.axis)
    parts += ["## All numbers", _NUMBERS, *_number_tables(summarise(sweep.results))]
    return "\n\n".join(parts) + "\n"


_READING = """**How to read it.** The claims are upper bounds up to constants, for sizes without end; what is judged is
how regret grows over the sizes measured *here*. A claim does not hold here if the whole 95% interval of the measured
power, over seeds, lies above what the bound allows over this range, its logarithms included; at a power that is exactly
the claimed one this happens by chance once in 40 times. It does not refute the theorem: regret that is far below its
bound may rise towards it faster than the bound does, and the column "regret / own bound" shows how far below it is. A
claim cannot be seen where an algorithm does not learn: its regret is then about as large as it can be, whatever grows,
and a slope would say nothing. An algorithm learns at a value if its regret is below that of never learning (playing the
centre for ever) by two standard errors; slopes are fitted where it does."""

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
        "The setting is the paper's: the unit ball, losses ||x - target||, actions on a sphere around the point; n = "
        f"{scale.base.dimension}, T = {scale.base.horizon:,} and epsilon = {scale.base.epsilon:g} unless they vary. "
        "Garber-Kretzu and Smith-Thakurta play inside the ball, as they are defined. "
        "All noise is simulated: NOT PRIVATE."
    )


def _need(scale: Extent) -> str:
    base = scale.base
    parts = []
    for noise, privacy in (("Laplace", PureDP(base.epsilon)), ("Gaussian", ApproxDP(base.epsilon, DELTA))):
        events = events_needed(scale, privacy)
        parts.append(
            f"{'more than can be planned for' if events is None else f'about {events:.0e}'} with {noise} noise"
        )
    return (
        "How many events would the paper's constants need? By their explicit bound, to fall below what never learning "
        f"can cost at n = {base.dimension} and epsilon = {base.epsilon:g}: {', and '.join(parts)}."
    )


def _claim_parts(claim: PaperClaim, *, figure: bool) -> list[str]:
    rows = [
        [row.who, row.level, row.share_of_bound, row.measured or "none", row.verdict, row.why] for row in claim.rows
    ]
    parts = [
        f"## {claim.title}",
        _filled(f"{claim.statement} ({claim.source}.)"),
        _filled(f"**{claim.verdict}**"),
        _table(["", "regret / never learning", "regret / own bound", claim.measured, "verdict", "why"], rows),
    ]
    if figure:
        name = claim.axis.replace("1/", "")
        parts.append(f"![Regret per event against {name}](figures/reproduction-{name}.png)")
    return parts


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
