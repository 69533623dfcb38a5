"""Folders are looked at before anything is simulated: no other run is lost, and no work."""

import json
import os

import pytest

from sampling import every
from sottovoce.cli import main

QUICK = ("--horizon", "300", "--simulated-noise")
COMMANDS = [
    ("run", "slate", *QUICK),
    ("plan",),
    ("audit", "--runs", "20"),
    ("compare", "slate", "--horizon", "100", "--seeds", "1"),
    ("reproduce",),
]


def call(*words):
    with pytest.raises(SystemExit) as end:
        main([*map(str, words)])
    return end.value.code


def test_the_same_run_may_be_run_again(tmp_path, capsys):
    for _ in range(2):
        assert call("run", "slate", *QUICK, "--out", tmp_path / "one") == 0
    assert json.loads((tmp_path / "one" / "summary.json").read_text())["settings"]["horizon"] == 300


def test_another_run_is_not_overwritten(tmp_path, capsys):
    call("run", "slate", *QUICK, "--out", tmp_path)
    before = (tmp_path / "summary.json").read_bytes()
    assert call("run", "slate", *QUICK, "--epsilon", "0.5", "--out", tmp_path) == 2
    assert "holds another run, which would be overwritten: choose another folder (--out), or pass --force" in " ".join(
        capsys.readouterr().err.split()
    )
    assert (tmp_path / "summary.json").read_bytes() == before
    assert call("run", "slate", *QUICK, "--epsilon", "0.5", "--out", tmp_path, "--force") == 0
    assert (tmp_path / "summary.json").read_bytes() != before


def test_nor_is_the_report_of_another_command(tmp_path, capsys):
    (tmp_path / "report.html").write_text("precious")
    assert call("run", "slate", *QUICK, "--out", tmp_path) == 2
    assert (tmp_path / "report.html").read_text() == "precious"


@every("words", COMMANDS)
def test_a_folder_that_cannot_be_is_refused_before_anything_runs(words, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    for out in (tmp_path / "file", tmp_path / "file" / "below"):
        assert call(*words, "--out", out) == 2
        assert "out must be a folder" in " ".join(capsys.readouterr().err.split())
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="a folder that not even root can write to")
@every("words", COMMANDS)
def test_a_folder_that_cannot_be_written_is_refused_before_anything_runs(words, capsys):
    assert call(*words, "--out", "/proc/self/results") == 1
    assert "cannot be written to" in capsys.readouterr().err
