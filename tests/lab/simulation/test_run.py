import io
from dataclasses import replace

import numpy as np
import pytest

from sottovoce.domains import Ball
from sottovoce.lab import MovingTarget, Run, simulate


@pytest.fixture
def run(steadfast):
    environment = MovingTarget(Ball(2), seed=2)
    return simulate(steadfast(environment.domain, [0.1, 0.0], 3000, 50), environment)


def test_a_saved_run_comes_back_as_it_was(run, tmp_path):
    path = run.save(tmp_path / "run.npz")
    again = Run.load(path)
    assert again.details == run.details
    for name in ("events", "rounds", "regret", "no_learning", "simulation_only_loss"):
        np.testing.assert_array_equal(getattr(again, name), getattr(run, name))
    assert str(again) == str(run)
    for part in ("3,000 events", "regret", "per event", "never learning", "learned", "NOT PRIVATE", "oracle calls"):
        assert part in str(run)
    assert [file.name for file in tmp_path.iterdir()] == ["run.npz"]


def test_an_interrupted_empty_run_can_be_saved(run, tmp_path):
    curves = ("events", "rounds", "simulation_only_loss", "simulation_only_best_loss", "simulation_only_center_loss")
    empty = replace(run, **{name: getattr(run, name)[:0] for name in curves})
    assert Run.load(empty.save(tmp_path / "run.npz")).events_finished == 0


def test_other_kinds_of_files_damaged_ones_and_pickles_are_refused_clearly(run, tmp_path):
    whole = run.save(tmp_path / "run.npz").read_bytes()
    path, other, evil = tmp_path / "damaged.npz", io.BytesIO(), io.BytesIO()
    with np.load(io.BytesIO(whole), allow_pickle=False) as stored:
        assert all(stored[name].dtype != object for name in stored)
        about = str(stored["about"]).replace("version 1", "version 99")
        np.savez(other, **{**stored, "about": np.array(about)})
    np.savez(evil, about=np.array([{"format": "sottovoce run, version 1"}], dtype=object), events=np.arange(3))
    middle = whole.index(run.simulation_only_loss.tobytes()) + 5
    flipped = whole[:middle] + bytes([whole[middle] ^ 255]) + whole[middle + 1 :]
    for content in (b"", b"text", whole[:100], whole[: len(whole) - 30], flipped, other.getvalue(), evil.getvalue()):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="not a run saved by this version of sottovoce, or is damaged"):
            Run.load(path)
    with pytest.raises(FileNotFoundError):
        Run.load(tmp_path / "nothing.npz")


def test_what_was_learned_is_said_in_words(run):
    none, best = run.simulation_only_center_loss, run.simulation_only_best_loss
    assert replace(run, simulation_only_loss=best + 0.25 * (none - best)).learned.startswith("75% of")
    assert replace(run, simulation_only_loss=best + 2 * (none - best)).learned.startswith("nothing: 2.0 times")
    assert "nothing to learn" in replace(run, simulation_only_center_loss=best).learned
