import json
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import sottovoce as sv
from sampling import every
from sottovoce.cli import running
from sottovoce.lab.simulation import Run

NAME = "slate:items=6,slots=2"
SMALL = ("--horizon", "2k", "--simulated-noise")


def test_version(command):
    assert command("--version") == (0, f"sottovoce {sv.__version__}\n", "")


def test_domains_are_listed_with_their_geometry(command):
    code, out, _ = command("domains")
    assert code == 0
    for family in sv.domains.all_domains():
        assert family.__name__ in out
        assert family.summary() in out
    simplex = next(line for line in out.splitlines() if "simplex:10" in line).split()
    assert simplex[:4] == ["Simplex", "simplex:10", "10", "9"]


def test_a_run_shows_a_table_and_writes_results_that_agree(command, tmp_path):
    code, out, err = command("run", NAME, *SMALL, "--seed", "3", "--out", "here")
    assert (code, err) == (0, "")
    for words in ("never learning", "regret", "per event", "oracle calls", "learned", "SIMULATED NOISE: NOT PRIVATE"):
        assert words in out
    folder = tmp_path / "here"
    written = {path.name for path in folder.iterdir()}
    runs = {"run-epsilon-1-simulated-noise.npz", "run-no-privacy.npz"}
    assert written == {"report.html", "regret.png", "summary.json", *runs}
    assert all(f"here{os.sep}{name}" in out for name in written)
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["settings"] == {
        "name": NAME,
        "horizon": 2000,
        "epsilon": 1.0,
        "seed": 3,
        "simulated_noise": True,
    }
    for entry in summary["runs"]:
        run = Run.load(folder / entry["file"])
        assert (run.final_regret, run.events_finished) == (entry["regret"], 2000)
        assert f"{run.final_regret:,.0f}" in out
        assert entry["finished"]


def test_the_same_command_gives_the_same_curve_in_a_folder_of_the_runs_name(command, tmp_path):
    for out in ((), ("--out", "b")):
        assert command("run", NAME, *SMALL, *out)[0] == 0
    first, second = (Run.load(tmp_path / out / "run-epsilon-1-simulated-noise.npz") for out in ("results/slate", "b"))
    np.testing.assert_array_equal(first.regret, second.regret)


def test_the_demo_shows_every_plan_in_a_world_and_in_one_that_changes_once(command, tmp_path):
    code, out, err = command("run", "demo", "--horizon", "400", "--simulated-noise", "--out", "here")
    assert (code, err) == (0, "")
    worlds = [json.loads((tmp_path / "here" / folder / "summary.json").read_text()) for folder in (".", "switching")]
    names = [{one["details"]["environment"].split("(")[0] for one in world["runs"]} for world in worlds]
    assert names == [{"NoisyLinear"}, {"Switching"}]
    usual = "epsilon = 1, simulated noise"
    for world in worlds:
        assert [one["label"] for one in world["runs"]] == [
            usual,
            "no privacy",
            "epsilon = 0.1, simulated noise",
            f"{usual}, worst-case plan",
            f"{usual}, paper's plan",
        ]
    assert f"drew both worlds in here{os.sep}regret.png" in out
    alone, both = (
        int.from_bytes((tmp_path / "here" / folder / "regret.png").read_bytes()[20:24]) for folder in ("switching", ".")
    )
    assert both > 1.5 * alone  # in height: one below the other
    events = running.DEMO_HORIZON
    whole = running.Settings(name="demo", horizon=events, epsilon=1.0, seed=running.DEMO_SEED, simulated_noise=False)
    (change,) = np.flatnonzero(np.diff(running.worlds_of(whole)[1].environment.moods_of(0, events)))
    assert 0.4 < change / events < 0.6


@every(
    ("arguments", "words"),
    [
        (("run", "nothing"), "NAME must be demo or a problem"),
        (("run",), "NAME"),
        (("run", "demo", "--epsilon", "-1"), "epsilon must be greater than 0"),
        (("run", "demo", "--epsilon", "x"), "epsilon"),
        (("run", "demo", "--horizon", "soon"), "horizon must be a whole number"),
        (("run", "demo", "--colour", "red"), "--colour"),
        (("dance",), "dance"),
    ],
)
def test_errors_of_use_are_one_line_and_code_2(command, arguments, words):
    code, out, err = command(*arguments)
    assert code == 2
    assert words in err
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert "wrote" not in out


def test_a_result_that_cannot_be_written_is_one_line_and_code_1(command, tmp_path):
    (tmp_path / "here" / "regret.png").mkdir(parents=True)
    code, out, err = command("run", NAME, *SMALL, "--out", "here")
    assert code == 1
    assert "regret.png" in err
    assert err.count("\n") == 1
    assert "Traceback" not in out + err


def test_brackets_in_an_error_are_shown_as_they_are(command):
    assert "[red]" in command("run", "[red]")[2]


def test_without_arguments_the_help_is_shown(command):
    code, out, err = command()
    assert code == 2
    assert "domains" in out + err
    assert "error" not in err


def interrupt_after(monkeypatch, rounds, *, run=0):
    """Press Ctrl-C, so to speak, within a run (counted from 0), before it asks for its next round."""
    asked, made = [0], []
    create, ask = sv.PrivateBandit.__init__, sv.PrivateBandit.ask_round

    def counted(self, *arguments, **options):
        made.append(self)
        create(self, *arguments, **options)

    def interrupted(self, most=None):
        if self is made[run]:
            asked[0] += 1
            if asked[0] > rounds:
                raise KeyboardInterrupt
        return ask(self, most)

    monkeypatch.setattr(sv.PrivateBandit, "__init__", counted)
    monkeypatch.setattr(sv.PrivateBandit, "ask_round", interrupted)


def test_an_interruption_keeps_and_writes_what_was_finished(command, monkeypatch, tmp_path):
    interrupt_after(monkeypatch, 3, run=1)
    code, out, _ = command("run", NAME, *SMALL)
    assert code == 130
    assert "interrupted" in out
    folder = tmp_path / "results" / "slate"
    summary = json.loads((folder / "summary.json").read_text())
    first, second = summary["runs"]
    assert (first["events"], first["finished"], second["finished"]) == (2000, True, False)
    assert 0 < second["events"] < 2000
    assert (folder / "regret.png").is_file()


def test_an_interruption_before_the_first_round_writes_nothing(command, monkeypatch, tmp_path):
    interrupt_after(monkeypatch, 0)
    code, out, _ = command("run", NAME, *SMALL)
    assert code == 130
    assert "nothing was finished" in out
    assert not (tmp_path / "results").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="signals of another kind")
def test_ctrl_c_ends_the_real_program_cleanly(tmp_path):
    program = subprocess.Popen(
        [sys.executable, "-m", "sottovoce", "run", NAME, "--horizon", "100M"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TTY_COMPATIBLE": "1", "TTY_INTERACTIVE": "1"},
    )
    assert program.stdout is not None
    started = time.monotonic()
    seen = ""
    while not re.search(r"round \D*[1-9]", seen) and time.monotonic() < started + 600:  # rounds are running
        seen += program.stdout.read(1)
    program.send_signal(signal.SIGINT)
    out, err = program.communicate(timeout=600)
    assert program.returncode == 130
    assert "Traceback" not in out + err
    assert "what was finished is kept" in out
    summary = json.loads((tmp_path / "results" / "slate" / "summary.json").read_text())
    assert 0 < summary["runs"][0]["events"] < 10**8


@pytest.mark.parametrize("name", ["routing", "ball:dimension=3,play=around"])
def test_a_problem_is_run_with_its_own_settings_and_its_decision_is_drawn(command, tmp_path, name):
    code, out, _ = command("run", name, *SMALL, "--out", str(tmp_path / "here"))
    assert code == 0
    assert "no privacy" in out
    report = (tmp_path / "here" / "report.html").read_text(encoding="utf-8")
    assert "Best in hindsight" in report
    assert "<figcaption>Learned" in report
    assert "<figcaption>The best fixed decision" in report


@every(("name", "words"), [("slate:itms=3", "no setting 'itms'"), ("sleet", "slate")])
def test_a_problem_that_makes_no_sense_is_refused(command, name, words):
    code, _, error = command("run", name)
    assert code == 2
    assert words in error


def test_a_command_starts_without_what_few_commands_need():
    """Figures, statistics and noise take longer to import than most commands take to run."""
    look = "import sys, sottovoce.cli; print({'matplotlib', 'scipy.stats', 'opendp'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", look], capture_output=True, text=True).stdout == "set()\n"
