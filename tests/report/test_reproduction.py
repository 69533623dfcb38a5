"""Tables and figures of the paper's claims say what the results say, and the documentation what they say."""

import csv
import re
from pathlib import Path

import pytest

from reproduced import SMALL, invented, regret_of
from sampling import every
from sottovoce.lab import Sweep, make_problem
from sottovoce.lab.reproduction.claims import WORDS, claims
from sottovoce.lab.reproduction.extent import reproduction_grid
from sottovoce.lab.sweeps.swept import write_record
from sottovoce.plans.choosing import make_plan
from sottovoce.plans.paper import paper_draft
from sottovoce.plans.problem import Problem
from sottovoce.privacy import PureDP
from sottovoce.report._palette import colour
from sottovoce.report._reproduction import draw, write_reproduction

DOCS = Path(__file__).parents[2] / "docs" / "reference"


@pytest.fixture
def sweep(tmp_path):
    made = Sweep.create(tmp_path / "sweep", reproduction_grid(SMALL), command="sottovoce reproduce")
    for cell in made.cells:
        write_record(made.record_path(cell), invented(cell))
    return made.refreshed()


def test_tables_hold_every_verdict_and_every_number_and_the_figures_are_beside_them(sweep, tmp_path):
    found = claims(sweep.results, SMALL.base)
    paths = write_reproduction(sweep, found, SMALL, tmp_path)
    assert [path.name for path in paths] == [
        *("reproduction.csv", "reproduction-evidence.csv"),
        *(f"reproduction-{name}.png" for name in ("horizon", "dimension", "epsilon")),
    ]
    numbers, evidence = (list(csv.DictReader(path.read_text().splitlines())) for path in paths[:2])
    assert [(row["claim"], row["algorithm"], row["verdict"], row["why"]) for row in evidence] == [
        (one.title, row.who, row.verdict, row.why) for one in found for row in one.rows
    ]
    assert len(numbers) == len({(cell.problem, cell.algorithm, cell.epsilon, cell.horizon) for cell in sweep.cells})
    assert {row["regret"] for row in numbers} >= {f"{regret_of(sweep.cells[0]) * 1.005 / sweep.cells[0].horizon:.4f}"}
    assert all(path.stat().st_size > 10_000 for path in paths[2:])


def test_the_documentation_shows_what_its_tables_say():
    page = (DOCS / "reproduction.md").read_text()
    rows = list(csv.DictReader((DOCS / "reproduction-evidence.csv").read_text().splitlines()))
    private = re.compile(r"(the paper's noise|the needed noise|this library, pure)((?!, epsilon ).)*$")
    shown = [row for row in rows if private.match(row["algorithm"])]
    assert len(shown) > 25
    for row in shown:
        assert f"| {row['algorithm']} | {row['of never'] or row['measured']} |" in page
        assert row["measured"] in page
    for path in re.findall(r"\]\(((?:figures/)?reproduction[^)#]*)\)", page):
        assert (DOCS / path).exists()


def test_how_many_events_the_bounds_ask_for_is_as_the_documentation_says():
    page = " ".join((DOCS / "reproduction.md").read_text().split())
    made = make_problem("ball:dimension=8,play=around", seed=0)
    known = made.settings()
    given = known.pop("loss_range"), PureDP(1.0)
    plans = {
        "the paper's noise": lambda problem: make_plan(problem, "paper"),
        "the needed noise": lambda problem: paper_draft(problem, needed_noise=True).finish(),
    }
    for words, plan in plans.items():
        (found,) = re.findall(f"about (\\S+) events with {words}|about (\\S+) with {words}", page)
        needed = float("".join(found))
        learns = [not plan(Problem(made.domain, int(part * needed), *given, **known)).vacuous for part in (0.8, 1.2)]
        assert learns == [False, True]


def test_a_figure_has_a_line_for_every_algorithm_and_the_values_of_the_results(sweep):
    axes = draw(sweep.results, SMALL, "horizon").axes[0]
    names = {text.get_text() for text in axes.texts}
    assert {"never learning", "this library, pure privacy", "Garber-Kretzu", "Smith-Thakurta, pure"} <= names
    lines = {tuple(line.get_ydata().round(6)) for line in axes.lines if len(line.get_xdata()) == 2}
    expected = [round(1.005 * horizon**0.5 / horizon, 6) for horizon in SMALL.horizons]
    assert tuple(expected) in lines
    never = next(line for line in axes.lines if set(line.get_ydata()) == {0.5} and len(line.get_xdata()) > 1)
    assert tuple(never.get_xdata()) == SMALL.horizons


@every("axis", ["horizon", "dimension", "1/epsilon"])
def test_algorithms_have_one_colour_in_all_three(sweep, axis):
    (axes,) = draw(sweep.results, SMALL, axis).axes
    drawn = {text.get_text(): text.get_color() for text in axes.texts}
    named = {words: colour(number) for number, words in enumerate(WORDS.values()) if words in drawn}
    assert len(named) >= 3
    assert {words: drawn[words] for words in named} == named
