"""Folders are made before anything is simulated: no work is lost for want of one."""

import os

import pytest

from sampling import every

COMMANDS = [
    ("run", "slate", "--horizon", "300", "--simulated-noise"),
    ("audit", "--runs", "20"),
    ("compare", "slate", "--horizon", "100", "--seeds", "1"),
    ("reproduce",),
]


@every("words", COMMANDS)
def test_a_folder_that_cannot_be_is_refused_before_anything_runs(words, command, tmp_path):
    (tmp_path / "file").write_text("")
    for out in (tmp_path / "file", tmp_path / "file" / "below"):
        code, _, err = command(*words, "--out", str(out))
        assert code == 2
        assert "out must be a folder" in err
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="a folder that not even root can write to")
@every("words", COMMANDS)
def test_a_folder_that_cannot_be_written_is_refused_before_anything_runs(words, command):
    code, _, err = command(*words, "--out", "/proc/self/results")
    assert code == 1
    assert "/proc/self/results" in err
