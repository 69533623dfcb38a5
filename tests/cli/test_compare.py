import csv
import os
import signal
import subprocess
import sys
import time

import pytest

from sottovoce.lab import Sweep
from sottovoce.lab.summary import summarise
from sottovoce.lab.sweeps import sweeping


@pytest.fixture(autouse=True)
def narrow(monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")


COMMAND = ("compare",)


GRID = ("ball:dimension=2", "--epsilon", "1,10", "--horizon", "300,1e3", "--seeds", "2", "--out", "here")


def test_the_table_holds_the_results_and_the_folder_holds_everything(refused, command, tmp_path, monkeypatch):
    """Cells run in this process: starting others is most of the time, and has its own tests."""
    here = lambda cells, task, jobs: (sweeping.attempt(task, cell) for cell in cells)  # noqa: E731
    monkeypatch.setattr(sweeping, "_over_processes", here)
    assert command("ball", "--algorithms", "phased-elimination", "--horizon", "100", "--seeds", "1")[0] == 1
    code, out, err = command(*GRID, "--algorithms", "default,garber-kretzu,phased-elimination")
    assert (code, err) == (0, "")
    sweep = Sweep.load(tmp_path / "here")
    assert len(sweep.results) == len(sweep.cells) == 2 * 2 * 2 + 2 * 2 + 2 * 2 * 2
    for one in summarise(sweep.results):
        if one.runs:
            line = next(
                line
                for line in out.splitlines()
                if one.algorithm in line and f"{one.regret:.4f} ± {one.regret_error:.4f}" in line
            )
            assert f"{one.ratio:.0%}" in line
            assert f"{one.horizon:,}" in line
    assert "12 done, 8 failed, 0 left" in out
    assert (
        "failed: ball:dimension=2 / phased-elimination, 8 cells: ValueError: phased-elimination is for linear losses"
        in out
    )
    assert "NOT PRIVATE" in out
    with open("here/results.csv", newline="") as file:
        assert len(list(csv.DictReader(file))) == len(sweep.cells)
    assert (tmp_path / "here" / "report.html").exists()
    again = sweep.command.split()
    assert again[:3] == ["sottovoce", "compare", "ball:dimension=2"]
    times = {result.cell: result.seconds for result in sweep.results if result.status == "done"}
    code, _, _ = command(*again[2:])
    assert code == 0
    assert {result.cell: result.seconds for result in Sweep.load("here").results if result.status == "done"} == times
    assert "holds another sweep" in refused(*again[2:-2], "--horizon", "300", "--out", "here")


def test_an_interrupt_says_how_to_go_on(tmp_path):
    arguments = ["ball:dimension=2", "--horizon", "30000", "--seeds", "60", "--algorithms", "default", "--out", "here"]
    arguments += ["--jobs", "2"]
    program = [sys.executable, "-m", "sottovoce", "compare", *arguments]
    child = subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=dict(os.environ))
    while not list((tmp_path / "here").glob("cells/*.json")):
        time.sleep(0.05)
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=600)
    assert child.returncode == 130
    done = len(Sweep.load("here").results)
    assert 0 < done < 60
    with open("here/results.csv", newline="") as file:
        assert len(list(csv.DictReader(file))) == done
    assert f"interrupted: {done} of 60 cells are finished, and are kept" in out
    assert (
        "to go on: sottovoce compare ball:dimension=2 --algorithms default --epsilon 1.0 --horizon 30000 --seeds 60"
        " --out here --jobs 2\n" in out
    )
    assert "Traceback" not in out
