import os
import re
import shlex
import signal
import subprocess
import sys

import numpy as np

import sottovoce as sv
from sampling import every
from sottovoce.lab import Run

NAME = "slate:items=6,slots=2"
SMALL = ("--horizon", "2k", "--simulated-noise")


def test_version(command):
    assert command("--version") == (0, f"sottovoce {sv.__version__}\n", "")


def test_domains_are_listed_as_they_are_written(command):
    code, out, _ = command("domains")
    assert code == 0
    for family in sv.domains.all_domains():
        assert family.__name__ in out
        assert (family.written or "in Python") in out
        assert family.summary().split()[-1] in out


def test_runs_are_shown_and_written_and_their_command_does_them_again(command, tmp_path):
    code, out, err = command("run", NAME, *SMALL, "--seed", "3", "--out", "here")
    assert (code, err) == (0, "")
    folder = tmp_path / "here"
    written = {path.name for path in folder.iterdir()}
    files = [f"run-{name}.npz" for name in ("epsilon-1-simulated-noise", "epsilon-0.1-simulated-noise", "no-privacy")]
    assert written == {"report.html", "regret.png", *files}
    assert all(f"here{os.sep}{name}" in out for name in written)
    runs = [Run.load(folder / name) for name in files]
    for run in runs:
        assert run.events_finished == 2000
        assert str(run).splitlines()[1] in out
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "<figcaption>The best fixed decision" in page
    (again,) = re.findall('<pre class="command"><code>(.*)</code>', page)
    (folder / "report.html").unlink()
    assert command(*shlex.split(again)[1:])[0] == 0
    assert (folder / "report.html").is_file()
    for name, run in zip(files, runs, strict=True):
        np.testing.assert_array_equal(Run.load(folder / name).regret, run.regret)


@every(
    ("arguments", "words"),
    [
        (("run", "nothing"), "NAME must be a problem"),
        (("run",), "NAME"),
        (("run", "slate", "--horizon", "soon"), "horizon must be a whole number"),
        (("run", "slate", "--colour", "red"), "--colour"),
        (("run", "slate:itms=3"), "no setting 'itms'"),
        (("[red]",), "[red]"),
        (("compare", "cube"), "problem must be one of"),
        (("compare", "ball", "--epsilon", "small"), "epsilon must be numbers"),
        (("compare", "ball", "--seeds", "0"), "seeds must be at least 1"),
        (("compare", "ball", "--jobs", "0", "--horizon", "10"), "jobs must be at least 1"),
        (("audit", "--only", "bush"), "only must be a part of a name"),
        (("audit", "--runs", "10"), "runs must be at least 400"),
        (("plan",), "pass either --domain or --domain-json"),
    ],
)
def test_errors_of_use_are_one_line_and_code_2(refused, arguments, words):
    assert words in refused(*arguments)


def test_a_result_that_cannot_be_written_is_one_line_and_code_1(command, tmp_path):
    (tmp_path / "here" / "regret.png").mkdir(parents=True)
    code, out, err = command("run", NAME, *SMALL, "--out", "here")
    assert code == 1
    assert "regret.png" in err
    assert err.count("\n") == 1
    assert "Traceback" not in out + err


def test_without_arguments_the_help_is_shown(command):
    code, out, err = command()
    assert code == 2
    assert "domains" in out + err
    assert "error" not in err


def test_ctrl_c_ends_the_real_program_cleanly(tmp_path):
    program = subprocess.Popen(
        [sys.executable, "-m", "sottovoce", "run", NAME, "--horizon", "100M"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TTY_COMPATIBLE": "1", "TTY_INTERACTIVE": "1"},
    )
    seen = ""
    while not re.search(r"round \D*[1-9]", seen):  # rounds are running
        seen += program.stdout.read(1)
    program.send_signal(signal.SIGINT)
    out, err = program.communicate(timeout=600)
    assert program.returncode == 130
    assert "Traceback" not in out + err
    assert "what was finished is kept" in out
    assert (tmp_path / "results" / "slate" / "regret.png").is_file()
    assert 0 < Run.load(tmp_path / "results" / "slate" / "run-epsilon-1.npz").events_finished < 10**8


# ---------------------------------------------------------------------- folders, made before anything is simulated

WRITING = [
    ("run", "slate", "--horizon", "300", "--simulated-noise"),
    ("audit", "--runs", "20"),
    ("compare", "slate", "--horizon", "100", "--seeds", "1"),
    ("reproduce",),
]


@every("words", WRITING)
def test_a_folder_that_cannot_be_or_be_written_is_refused_before_anything_runs(words, refused, command, tmp_path):
    (tmp_path / "file").write_text("")
    for out in (tmp_path / "file", tmp_path / "file" / "below"):
        assert "out must be a folder" in refused(*words, "--out", str(out))
    assert os.listdir(tmp_path) == ["file"]
    if os.path.isdir("/proc/self"):  # a folder that not even root can write to
        code, _, err = command(*words, "--out", "/proc/self/results")
        assert code == 1
        assert "/proc/self/results" in err
