"""Sweeps: resumed equals uninterrupted; what is finished is not run again; nothing takes the others down."""

import csv
import math
import random
import signal
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest
import standins
from hypothesis import given
from hypothesis import strategies as st

from sottovoce import lab
from sottovoce.lab import Cell, Result, Sweep
from sottovoce.lab.sweeps.swept import read_record, row_of, write_record

SMALL = tuple(
    Cell("toy", algorithm, epsilon, 500, seed)
    for algorithm, epsilon in (("default", 1.0), ("no-privacy", math.inf))
    for seed in range(2)
)


def sweep(folder, cells=SMALL, **options):
    """In this process: what is on disk is the same, and starting processes is most of their time."""
    options = {"command": "redo", "executor": standins.Inline(), "task": standins.run_toy, **options}
    return lab.sweep(folder, cells, **options)


def table_without_seconds(folder):
    with open(folder / "results.csv", newline="") as file:
        rows = list(csv.reader(file))
    place = rows[0].index("seconds")
    return [row[:place] + row[place + 1 :] for row in rows]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return sweep(tmp_path_factory.mktemp("finished"))


# ---------------------------------------------------------------------- what is on disk


class TestFolder:
    def test_everything_that_was_run_reads_back_and_the_table_has_a_row_for_each_cell(self, finished):
        loaded = Sweep.load(finished.folder)
        assert loaded == finished
        assert loaded.cells == SMALL
        assert loaded.command == "redo"
        assert [result.cell for result in loaded.results] == list(SMALL)
        for result in loaded.results:
            run = loaded.run_of(result.cell)
            assert result.status == "done"
            assert (result.regret, result.never_learning) == (run.final_regret, run.final_no_learning)
            assert result.regret_per_event == run.regret_per_event
            assert result.rounds == run.details.rounds
            assert run.point.shape == (3,)
            assert np.linalg.norm(run.point) <= 1 + 1e-9
            assert result.dimension == 3
        with open(finished.folder / "results.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        assert rows == [{name: str(value) for name, value in row_of(one).items()} for one in finished.results]
        assert all("NOT PRIVATE" in row["privacy"] for row in rows)
        assert [float(row["epsilon"]) for row in rows] == [1.0, 1.0, math.inf, math.inf]
        assert float(rows[0]["predicted"]) > 0

    def test_a_folder_that_holds_no_sweep_says_so_and_a_damaged_record_names_its_file(self, tmp_path):
        with pytest.raises(FileNotFoundError, match="holds no sweep"):
            Sweep.load(tmp_path)
        copy = Sweep.create(tmp_path, SMALL, command="redo")
        copy.record_path(SMALL[0]).write_text("{}")
        with pytest.raises(ValueError, match="delete it to run it again"):
            _ = copy.results
        (tmp_path / "sweep.json").write_text('{"what": "sottovoce sweep", "version": 99}')
        with pytest.raises(ValueError, match="does not describe a sweep"):
            Sweep.load(tmp_path)


words = st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=12)
cells = st.builds(Cell, words, words, st.floats(min_value=0), st.integers(1, 10**12), st.integers(0, 2**40))


@given(
    st.builds(
        Result,
        cells,
        st.sampled_from(["done", "failed"]),
        error=words,
        regret=st.floats(allow_nan=False),
        seconds=st.floats(allow_nan=False),
        predicted=st.floats(allow_nan=False),
        never_learning=st.floats(allow_nan=False),
        certificate=st.floats(allow_nan=False),
        privacy=words,
    )
)
def test_records_round_trip_bit_for_bit(result):
    with tempfile.TemporaryDirectory() as folder:
        write_record(Path(folder) / "record", result)
        assert read_record(Path(folder) / "record") == result


@given(st.sets(cells, min_size=2, max_size=5))
def test_cells_that_differ_have_files_that_differ(some):
    assert len({cell.key for cell in some}) == len(some)
    assert all(len(cell.key) < 200 and "/" not in cell.key for cell in some)


# ---------------------------------------------------------------------- equal seeds, equal outcomes


class TestSeeds:
    def test_all_algorithms_meet_the_same_losses_and_other_seeds_meet_others(self, finished):
        default, other_seed, no_privacy, _ = finished.results
        assert default.never_learning == pytest.approx(no_privacy.never_learning, rel=1e-12)  # summed in another order
        assert default.never_learning != pytest.approx(other_seed.never_learning, rel=1e-4)
        assert default.regret != no_privacy.regret


# ---------------------------------------------------------------------- resuming


class TestResuming:
    def test_what_is_finished_is_not_run_again(self, tmp_path):
        first = sweep(tmp_path, SMALL[:2])
        before = {cell: first.record_path(cell).stat().st_mtime_ns for cell in first.cells}
        second = sweep(tmp_path, SMALL)
        assert {cell: second.record_path(cell).stat().st_mtime_ns for cell in before} == before
        assert len(second.results) == len(SMALL)
        assert (tmp_path / "results.csv").read_text().count("\n") == 1 + len(SMALL)

    def test_another_grid_is_refused_and_nothing_changes(self, tmp_path, finished):
        sweep(tmp_path, SMALL[:2])
        before = (tmp_path / "sweep.json").read_bytes()
        with pytest.raises(ValueError, match=r"1 of its cells are not in this grid.*seed=0.*--fresh"):
            sweep(tmp_path, SMALL[1:])
        assert (tmp_path / "sweep.json").read_bytes() == before
        assert len(Sweep.load(tmp_path).results) == 2

    def test_fresh_starts_anew(self, tmp_path):
        first = sweep(tmp_path, SMALL[:1])
        old = first.record_path(SMALL[0]).stat().st_mtime_ns
        second = sweep(tmp_path, SMALL[:1], fresh=True)
        assert second.record_path(SMALL[0]).stat().st_mtime_ns > old
        third = sweep(tmp_path, SMALL[1:2], fresh=True)
        assert {path.name.split(".")[0] for path in (tmp_path / "cells").iterdir()} == {SMALL[1].key.split(".")[0]}
        assert third.cells == SMALL[1:2]

    def test_a_sweep_by_another_version_is_refused(self, tmp_path):
        made = Sweep.create(tmp_path, SMALL, command="")
        text = (made.folder / "sweep.json").read_text()
        (made.folder / "sweep.json").write_text(text.replace('"sottovoce": "', '"sottovoce": "0.0.0-old-'))
        with pytest.raises(ValueError, match=r"by sottovoce 0\.0\.0-old-.*--fresh"):
            sweep(tmp_path)

    def test_what_a_kill_left_half_written_is_cleared_away_and_two_sweeps_in_one_folder_are_refused(self, tmp_path):
        def second(standing):
            with pytest.raises(ValueError, match="another sweep is running"):
                sweep(tmp_path)
            seen.append(standing)

        made, seen = Sweep.create(tmp_path, SMALL[:1], command="redo"), []
        half = made.run_path(SMALL[0]).with_name("half.npz.partial")
        half.write_bytes(b"half")
        sweep(tmp_path, SMALL[:1], progress=second)
        assert not half.exists()
        assert seen

    def test_killed_at_any_moment_and_resumed_it_equals_the_uninterrupted_one(self, tmp_path):
        """Each child is killed after some news from it and a random wait: early, late, and in between."""
        words = "grid(['toy'], ['default', 'no-privacy'], epsilons=[1.0], horizons=[10_000], seeds=range(4))"
        cells = eval(words, vars(lab))
        whole = sweep(tmp_path / "whole", cells)
        again = tmp_path / "killed"
        rng, endings = random.Random(0), []
        for jobs, news in ((2, 3), (1, 2)):
            child = standins.start_sweep(again, words, f"jobs={jobs}, task=standins.run_toy")
            for _ in range(news):
                child.stdout.readline()
            time.sleep(rng.random() * 0.3)
            child.send_signal(signal.SIGKILL)
            endings.append(child.wait())
            child.stdout.close()
        assert -signal.SIGKILL in endings[:2]
        assert Sweep.load(again).results  # something was finished, and is not run again below
        resumed = sweep(again, cells)
        assert resumed.cells == whole.cells
        assert table_without_seconds(again) == table_without_seconds(tmp_path / "whole")
        assert (again / "sweep.json").read_bytes() == (tmp_path / "whole" / "sweep.json").read_bytes()
        for cell in cells:
            one, two = resumed.run_of(cell), whole.run_of(cell)
            assert np.array_equal(one.regret, two.regret)
            assert np.array_equal(one.events, two.events)
            assert np.array_equal(one.point, two.point)
        assert not list(again.rglob("*.partial"))
