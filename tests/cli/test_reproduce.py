import dataclasses

import pytest

from sottovoce.lab import Result, Sweep
from sottovoce.lab.reproduction.extent import Base, Extent, reproduction_grid
from sottovoce.lab.sweeps.running import Outcome

COMMAND = ("reproduce",)
TINY = Extent(
    Base(dimension=2, horizon=300, epsilon=1.0),
    horizons=(100, 300),
    dimensions=(2, 3),
    epsilons=(1.0, 3.0),
    huge_epsilons=(100.0, 1_000.0),
    slow_horizons=(100, 300),
    seeds=2,
)


@pytest.fixture(autouse=True)
def invented(monkeypatch):
    """Results in place of runs: here it matters what becomes of them."""

    def results(cells, task, jobs):
        for cell in cells:
            dimension = int(cell.problem.partition("dimension=")[2].partition(",")[0] or 19)
            lost = (0.9 if cell.algorithm.startswith("paper") else 0.1) * cell.horizon * (1 + 0.01 * cell.seed)
            figures = {"regret": lost, "never_learning": 0.5 * cell.horizon, "seconds": 1.0}
            yield Outcome(Result(cell, "done", dimension=dimension, **figures))

    monkeypatch.setattr("sottovoce.lab.sweeps.sweeping._over_processes", results)
    monkeypatch.setattr("sottovoce.cli.reproduce.SMALL", TINY)
    monkeypatch.setattr("sottovoce.cli.reproduce.LARGE", TINY)


def test_claims_are_printed_and_written_and_nothing_is_run_twice(command, tmp_path):
    code, out, err = command()
    assert (code, err) == (0, "")
    for words in ("Regret grows at most as T^(3/4)", "Theorem 1.1", "NOT PRIVATE"):
        assert words in out
    sweep = Sweep.load(tmp_path / "results" / "reproduction")
    assert [result.status for result in sweep.results] == ["done"] * len(reproduction_grid(TINY))
    assert sweep.command == "sottovoce reproduce"
    assert (sweep.folder / "reproduction-evidence.csv").exists()
    before = {cell: sweep.record_path(cell).stat().st_mtime_ns for cell in sweep.cells}
    code, _, _ = command()
    assert code == 0
    assert {cell: sweep.record_path(cell).stat().st_mtime_ns for cell in sweep.cells} == before


def test_the_two_sizes_do_not_share_a_folder(command, tmp_path, monkeypatch):
    """Each grid has cells that the other has not, so one could not go on in the folder of the other."""
    monkeypatch.setattr("sottovoce.cli.reproduce.LARGE", dataclasses.replace(TINY, horizons=(100, 300, 900)))
    monkeypatch.setattr("sottovoce.cli.reproduce.SMALL", dataclasses.replace(TINY, horizons=(100, 300, 600)))
    assert [command()[0], command("--large")[0], command()[0]] == [0, 0, 0]
    assert {path.name for path in (tmp_path / "results").iterdir()} == {"reproduction", "reproduction-large"}


def test_what_is_interrupted_says_how_to_go_on(command, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("sottovoce.cli.compare.sweep", interrupted)
    code, out, _ = command("--large", "--out", "some where", "--jobs", "1")
    assert code == 130
    assert "to go on: sottovoce reproduce --large --out 'some where' --jobs 1" in out
