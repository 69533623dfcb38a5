"""The page of the paper's claims says what the results say, and nothing else."""

import csv
import math

import pytest

from sampling import every
from sottovoce.lab import Result, Sweep
from sottovoce.lab.reproduction.extent import Extent, judge, reproduction_grid
from sottovoce.lab.reproduction.paper_claims import WORDS, Base
from sottovoce.lab.sweeps.records import write_record
from sottovoce.report._palette import algorithm_colours, colour
from sottovoce.report._reproduction_page import reproduction_page, write_reproduction
from sottovoce.report.figures._reproduction import draw

SCALE = Extent(
    Base(dimension=4, horizon=1_000, epsilon=1.0),
    horizons=(1_000, 10_000),
    dimensions=(4, 8),
    epsilons=(0.1, 1.0),
    huge_epsilons=(100.0, 1_000.0),
    slow_horizons=(1_000, 10_000),
    seeds=2,
    longest=(100_000,),
    longest_seeds=1,
    hindsight_horizons=(10_000,),
    slow_hindsight_horizons=(1_000,),
)


def regret_of(cell):
    """The paper's private algorithms learn nothing unless epsilon is huge; the others as T^(1/2)."""
    lost = 0.9 * cell.horizon if cell.algorithm.startswith(("paper-l", "paper-g")) else cell.horizon**0.5
    return (0.1 * lost if 10 < cell.epsilon < math.inf else lost) * (1 + 0.01 * cell.seed)


@pytest.fixture
def sweep(tmp_path):
    made = Sweep.create(tmp_path / "sweep", reproduction_grid(SCALE), command="sottovoce reproduce")
    for cell in made.cells:
        dimension = int(cell.problem.partition("dimension=")[2].partition(",")[0] or 19)
        result = Result(
            cell, "done", dimension=dimension, regret=regret_of(cell), never_learning=0.5 * cell.horizon, seconds=60.0
        )
        write_record(made.record_path(cell), result)
    return made.refreshed()


def test_the_page_holds_every_row_and_how_it_was_made(sweep):
    found = judge(sweep.results, SCALE)
    page = reproduction_page(sweep, found, SCALE)
    flat = " ".join(page.split())
    for claim in found:
        assert f"## {claim.title}\n" in page
        for group in ("paper", "needed", "here"):
            verdicts = {row.verdict for row in claim.rows if row.group == group}
            line = next(line for line in page.splitlines() if line.startswith(f"| [{claim.title}]("))
            assert all(verdict in line for verdict in verdicts)
        for row in [row for row in claim.rows if row.group]:
            assert f"| {row.who} | {row.level or row.measured} |" in page
    assert "Made by `sottovoce reproduce` with sottovoce " in flat
    assert f"{len(sweep.cells)} runs, seeds 0 to 1, {len(sweep.cells)} minutes of computing" in flat
    assert "NOT PRIVATE" in page
    assert "missing" not in page
    assert "(Laplace) or more events than can be planned for (Gaussian) with the paper's noise" in flat
    assert "The paper has no experiments. The setting is ours" in flat
    assert "are run to T = 10,000 only" in flat


def test_headings_and_links_of_the_page_agree(sweep):
    page = reproduction_page(sweep, judge(sweep.results, SCALE), SCALE)
    assert "[Regret grows at most as T^(3/4)](#regret-grows-at-most-as-t34)" in page
    assert "[Regret grows at most as 1/epsilon](#regret-grows-at-most-as-1epsilon)" in page


def test_the_files_that_the_page_names_are_written(sweep, tmp_path):
    paths = write_reproduction(sweep, judge(sweep.results, SCALE), SCALE, tmp_path / "docs" / "reproduction.md")
    page = paths[0].read_text()
    assert [path.name for path in paths[1:3]] == ["reproduction.csv", "reproduction-evidence.csv"]
    assert all(f"]({path.name})" in page for path in paths[1:3])
    reasons = {
        (row["claim"], row["algorithm"], row["why"]) for row in csv.DictReader(paths[2].read_text().splitlines())
    }
    assert reasons == {(one.title, row.who, row.why) for one in judge(sweep.results, SCALE) for row in one.rows}
    numbers = list(csv.DictReader(paths[1].read_text().splitlines()))
    assert len(numbers) == len({(cell.problem, cell.algorithm, cell.epsilon, cell.horizon) for cell in sweep.cells})
    assert {row["regret"] for row in numbers} >= {f"{regret_of(sweep.cells[0]) * 1.005 / sweep.cells[0].horizon:.4f}"}
    names = {path.name for path in paths[3:]}
    assert names == {f"reproduction-{name}.png" for name in ("horizon", "dimension", "epsilon")}
    for path in paths[3:]:
        assert f"](figures/{path.name})" in page
        assert path.parent == tmp_path / "docs" / "figures"
        assert path.stat().st_size > 10_000


def test_a_figure_has_a_line_for_every_algorithm_and_the_values_of_the_results(sweep):
    axes = draw(sweep.results, SCALE, "horizon").axes[0]
    names = {text.get_text() for text in axes.texts}
    assert {"never learning", "this library, pure privacy", "Garber-Kretzu", "Smith-Thakurta, pure"} <= names
    lines = {tuple(line.get_ydata().round(6)) for line in axes.lines if len(line.get_xdata()) == 3}
    expected = [round(1.005 * horizon**0.5 / horizon, 6) for horizon in SCALE.horizons]
    expected += [round(horizon**0.5 / horizon, 6) for horizon in SCALE.longest]  # which has one seed
    assert tuple(expected) in lines
    never = next(line for line in axes.lines if set(line.get_ydata()) == {0.5} and len(line.get_xdata()) > 2)
    assert list(never.get_xdata()) == [*SCALE.horizons, *SCALE.longest]


def test_missing_runs_are_counted(sweep):
    sweep.record_path(sweep.cells[0]).unlink()
    page = reproduction_page(sweep.refreshed(), judge(sweep.refreshed().results, SCALE), SCALE)
    assert f"{len(sweep.cells) - 1} runs, 1 missing" in " ".join(page.split())


def test_nothing_at_all_can_be_drawn_and_written(tmp_path):
    empty = Sweep.create(tmp_path, reproduction_grid(SCALE), command="sottovoce reproduce")
    paths = write_reproduction(empty, judge((), SCALE), SCALE, tmp_path / "page.md")
    assert "no runs were finished" in paths[2].read_text()


@every("axis", ["horizon", "dimension", "1/epsilon"])
def test_algorithms_have_the_colours_of_all_other_pictures(sweep, axis):
    (axes,) = draw(sweep.results, SCALE, axis).axes
    drawn = {text.get_text(): text.get_color() for text in axes.texts}
    numbers = algorithm_colours(WORDS)
    named = {words: colour(numbers[name]) for name, words in WORDS.items() if words in drawn}
    assert len(named) >= 3
    assert {words: drawn[words] for words in named} == named
