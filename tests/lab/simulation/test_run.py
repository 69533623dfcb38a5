import io
import json
import zipfile
from dataclasses import replace

import numpy as np
import pytest

from sampling import every
from sottovoce.domains import Ball
from sottovoce.lab.simulation import MovingTarget, Run, simulate


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
    assert [file.name for file in tmp_path.iterdir()] == ["run.npz"]


def test_an_interrupted_empty_run_can_be_saved(run, tmp_path):
    curves = ("events", "rounds", "simulation_only_loss", "simulation_only_best_loss", "simulation_only_center_loss")
    empty = replace(run, **{name: getattr(run, name)[:0] for name in curves})
    assert Run.load(empty.save(tmp_path / "run.npz")).events_finished == 0


def test_no_pickle_is_written_and_none_is_read(run, tmp_path):
    path = run.save(tmp_path / "run.npz")
    with np.load(path, allow_pickle=False) as stored:
        assert all(stored[name].dtype != object for name in stored)
    evil = tmp_path / "evil.npz"
    np.savez(evil, about=np.array([{"format": "sottovoce run"}], dtype=object), events=np.arange(3))
    with pytest.raises(ValueError, match="not a run saved by sottovoce"):
        Run.load(evil)


def rewritten(path, target, **changes):
    with np.load(path, allow_pickle=False) as stored:
        arrays = dict(stored)
    about = json.loads(str(arrays["about"]))
    about.update(changes)
    arrays["about"] = np.array(json.dumps(about))
    np.savez(target, **arrays)
    return target


@every(
    "changes, words", [({"version": 99}, "version 99"), ({"format": "something else"}, "not a run saved by sottovoce")]
)
def test_another_version_and_another_kind_of_file_are_refused(run, tmp_path, changes, words):
    path = rewritten(run.save(tmp_path / "run.npz"), tmp_path / "other.npz", **changes)
    with pytest.raises(ValueError, match=words):
        Run.load(path)


def test_damaged_files_are_refused_clearly(run, tmp_path):
    whole = run.save(tmp_path / "run.npz").read_bytes()
    path = tmp_path / "damaged.npz"
    single = io.BytesIO()
    np.save(single, np.arange(3))
    empty_archive = io.BytesIO()
    zipfile.ZipFile(empty_archive, "w").close()
    middle = whole.index(run.simulation_only_loss.tobytes()) + 5
    flipped = whole[:middle] + bytes([whole[middle] ^ 255]) + whole[middle + 1 :]
    for content in (
        b"",
        b"text",
        whole[:100],
        whole[: len(whole) - 30],
        flipped,
        single.getvalue(),
        empty_archive.getvalue(),
    ):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="not a run saved by sottovoce, or is damaged"):
            Run.load(path)


def test_curves_of_unequal_length_are_refused(run, tmp_path):
    path = replace(run, rounds=run.rounds[:-1]).save(tmp_path / "run.npz")
    with pytest.raises(ValueError, match="differ in length"):
        Run.load(path)


def test_a_missing_file_is_said_to_be_missing(tmp_path):
    with pytest.raises(FileNotFoundError):
        Run.load(tmp_path / "nothing.npz")


def test_what_was_learned_is_said_in_words(run):
    none, best = run.simulation_only_center_loss, run.simulation_only_best_loss
    assert replace(run, simulation_only_loss=best + 0.25 * (none - best)).learned.startswith("75% of")
    assert replace(run, simulation_only_loss=best + 2 * (none - best)).learned.startswith("nothing: 2.0 times")
    assert "nothing to learn" in replace(run, simulation_only_center_loss=best).learned


def test_the_summary_holds_what_a_reader_needs(run):
    text = str(run)
    for part in ("3,000 events", "regret", "per event", "never learning", "learned", "NOT PRIVATE", "oracle calls"):
        assert part in text
