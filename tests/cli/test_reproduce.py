import dataclasses

import pytest

from reproduced import SMALL, invented
from sottovoce.lab import Sweep
from sottovoce.lab.reproduction.extent import reproduction_grid
from sottovoce.lab.sweeps.running import Outcome

COMMAND = ("reproduce",)


@pytest.fixture(autouse=True)
def results(monkeypatch):
    """Results in place of runs: here it matters what becomes of them."""
    over = "sottovoce.lab.sweeps.sweeping._over_processes"
    monkeypatch.setattr(over, lambda cells, task, jobs: (Outcome(invented(cell)) for cell in cells))
    monkeypatch.setattr("sottovoce.cli.reproduce.SMALL", SMALL)
    monkeypatch.setattr("sottovoce.cli.reproduce.LARGE", SMALL)


def test_claims_are_printed_and_written_and_nothing_is_run_twice(command, tmp_path):
    code, out, err = command()
    assert (code, err) == (0, "")
    for words in ("Regret grows at most as T^(3/4)", "Theorem 1.1", "NOT PRIVATE"):
        assert words in out
    sweep = Sweep.load(tmp_path / "results" / "reproduction")
    assert [result.status for result in sweep.results] == ["done"] * len(reproduction_grid(SMALL))
    assert sweep.command == "sottovoce reproduce"
    assert (sweep.folder / "reproduction-evidence.csv").exists()
    before = {cell: sweep.record_path(cell).stat().st_mtime_ns for cell in sweep.cells}
    code, _, _ = command()
    assert code == 0
    assert {cell: sweep.record_path(cell).stat().st_mtime_ns for cell in sweep.cells} == before


def test_the_two_sizes_do_not_share_a_folder(command, tmp_path, monkeypatch):
    """Each grid has cells that the other has not, so one could not go on in the folder of the other."""
    monkeypatch.setattr("sottovoce.cli.reproduce.LARGE", dataclasses.replace(SMALL, horizons=(*SMALL.horizons, 9)))
    monkeypatch.setattr("sottovoce.cli.reproduce.SMALL", dataclasses.replace(SMALL, horizons=(*SMALL.horizons, 6)))
    assert [command()[0], command("--large")[0], command()[0]] == [0, 0, 0]
    assert {path.name for path in (tmp_path / "results").iterdir()} == {"reproduction", "reproduction-large"}


def test_what_is_interrupted_says_how_to_go_on(command, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("sottovoce.cli.compare.sweep", interrupted)
    code, out, _ = command("--large", "--out", "some where", "--jobs", "1")
    assert code == 130
    assert "to go on: sottovoce reproduce --large --out 'some where' --jobs 1" in out
