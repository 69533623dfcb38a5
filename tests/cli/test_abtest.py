"""`sottovoce abtest`: releasing once, and never a loss in what is said."""

import contextlib
import io
import json
import os
import subprocess
import sys
import traceback

import numpy as np
import pytest

import sottovoce as sv
from children import forked_at_once
from sampling import every
from sottovoce.cli import main
from sottovoce.cli.abtest_release import read_losses
from sottovoce.privacy import read_ledger

RUN = ("abtest", "events.csv", "--arms", "A,B")


def write(path, rows, head="arm,loss"):
    path.write_text("\n".join([head, *(",".join(map(str, row)) for row in rows)]) + "\n", encoding="utf-8")


def people(events, means=None, seed=0):
    """Rows of events an arm, in turn."""
    coins, means = np.random.default_rng(seed), means or {"A": 0.5, "B": 0.3}
    return [(name, int(coins.random() < mean)) for _ in range(events) for name, mean in means.items()]


@pytest.fixture
def events(tmp_path):
    write(tmp_path / "events.csv", people(500))
    return tmp_path / "events.csv"


def test_it_says_what_ab_test_says_of_the_same_losses(found, events):
    plain = found(*RUN, "--no-privacy")
    evaluations = sv.PrivateEvaluations((0.0, 1.0), sv.NoPrivacy())
    arms = {}
    for name in "AB":
        arms[name] = evaluations.open(500)
        arms[name].tell([loss for arm, loss in people(500) if arm == name])
    expected = sv.ab_test(arms).to_dict()
    assert {key: plain[key] for key in expected} == json.loads(json.dumps(expected))


def test_the_text_has_means_words_levels_and_the_promise(command, events, tmp_path):
    code, out, err = command(*RUN, "--text", "--pairs", "all", "--confidence", "0.9")
    assert (code, err) == (0, "")
    for words in ("B: 0.", "B loses 0.", "less than A, between 0.", "at 90%", "Levels: the interval", "epsilon = 1"):
        assert words in out
    assert "kept in events.csv.released.json" in out
    assert (tmp_path / "events.csv.released.json").stat().st_mode & 0o777 == 0o600


def test_squares_are_released_and_kept_if_that_is_said(found, command, events, tmp_path):
    assert found(*RUN, "--variance") == found(*RUN, "--variance")
    kept = json.loads((tmp_path / "events.csv.released.json").read_text())["released"]
    assert set(kept["A"]) == {"events", "total", "squares"}
    assert "another variance" in command(*RUN)[2]


# ---------------------------------------------------------------------- once


def test_a_second_run_releases_nothing_and_says_the_same(found, refused, events, tmp_path):
    """With real noise: drawn again it would differ. Neither settings nor rows that were added make a difference."""
    real = (*RUN, "--epsilon", "0.1")
    first = found(*real)
    assert found(*real) == first
    for change in (("--epsilon", "2"), ("--loss-range", "0,2")):
        assert "costs the guarantee again" in refused(*real, *change)
    write(events, people(500) + [("A", 1)] * 7)
    again = found(*real)
    assert again["arms"] == first["arms"]
    assert again["notes"] == ["The file has 1,007 rows by now: 1,000 are in what was released."]
    (tmp_path / "events.csv.released.json").unlink()
    assert found(*real)["arms"] != first["arms"]


def test_a_ledger_is_charged_once_and_not_for_rows_of_which_one_is_bad(refused, found, command, events, tmp_path):
    real = (*RUN, "--epsilon", "0.4")
    sv.Ledger(sv.PureDP(0.5), tmp_path / "ledger.db")
    write(events, [*people(50), ("A", "nan")])
    code, _, err = command(*real, "--ledger", "ledger.db")
    assert (code, err) == (2, "error: line 102: its loss is not a finite number\n")
    assert not read_ledger(tmp_path / "ledger.db").entries
    assert not list(tmp_path.glob("*.json*"))
    write(events, people(500))
    for _ in range(2):
        found(*real, "--ledger", "ledger.db", "--name", "spring")
    (entry,) = read_ledger(tmp_path / "ledger.db").entries
    assert (entry.name, entry.guarantee) == ("spring", sv.PureDP(0.4))
    (tmp_path / "events.csv.released.json").unlink()
    assert "only 0.1 is left" in refused(*real, "--ledger", "ledger.db", "--name", "other")
    assert not list(tmp_path.glob("*.json*"))


def test_many_runs_at_once_release_once(events, tmp_path):
    """With real noise: numbers that were drawn twice would differ."""

    def run(_, report):
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said), pytest.raises(SystemExit) as ended:
            main([*RUN, "--json"])
        if not ended.value.code:
            report("arms", json.loads(said.getvalue())["arms"])

    shown = [arms for reported in forked_at_once(run) for _, arms in reported]
    assert shown
    assert all(one == shown[0] for one in shown)
    assert not (tmp_path / "events.csv.released.json.partial").exists()


def test_killed_while_it_releases_it_leaves_nothing_half(found, command, events, tmp_path):
    """Killed after the numbers are drawn, before they are kept: nothing is there, and the next run is told why."""
    script = (
        "import os, signal\n"
        "from sottovoce.cli import main\n"
        "from sottovoce.cli import abtest_release\n"
        "abtest_release.write_atomically = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "main(['abtest', 'events.csv', '--arms', 'A,B'])\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, env=os.environ, check=False
    )
    assert ended.returncode == -9
    assert ended.stdout == b""
    assert not (tmp_path / "events.csv.released.json").exists()
    said = command(*RUN)[2]
    assert "another run is releasing these rows" in said
    assert "remove it" in said
    (tmp_path / "events.csv.released.json.partial").unlink()
    found(*RUN)


def test_a_damaged_record_is_refused(refused, events, tmp_path):
    for text in (
        "",
        "[]",
        '{"settings": {"arms": ["A", "B"]}, "released": {"A": {"events": 1, "total": "x"}, "B": {}}}',
    ):
        (tmp_path / "events.csv.released.json").write_text(text)
        assert "or is damaged" in refused(*RUN)


# ---------------------------------------------------------------------- what is refused

SECRET = "0.7351946"


@every(
    ("text", "where"),
    [
        (f"arm,loss\nA,{SECRET}x\n", "line 2: its loss is not a finite number"),
        (f"arm,loss\n{SECRET},A\n", "line 2: its arm is none of A, B"),
        (f"arm,{SECRET}\nA,1\n", "line 1: the first line must name the columns, with one loss"),
        (f"{SECRET}\n", "line 1: the first line must name the columns, with one arm"),
        ("arm,loss\nA,\n", "line 2: it has no loss"),
        (f'{{"arm": "A", "loss": {SECRET}}}\n{{"arm": "A", "loss": [{SECRET}]}}\n', "line 2: its loss is not a finite"),
        (f'{{"arm": "A"\n"loss": {SECRET}}}', "line 1: it is not a JSON object"),
        ('{"arm": "A", "loss": 1' + "0" * 400 + "}", "line 1: its loss is not a finite number"),
        (f'arm,loss\nA,"{SECRET}' + "1" * 200_000 + "\n", "it is not CSV"),
        ("arm,loss\nA,1\n", "arm B has no rows"),
    ],
)
def test_bad_rows_are_refused_without_what_they_hold(refused, tmp_path, text, where):
    (tmp_path / "events.csv").write_text(text, encoding="utf-8")
    err = refused(*RUN)
    assert where in err
    assert "7351946" not in err
    assert [path.name for path in tmp_path.iterdir()] == ["events.csv"]
    with pytest.raises(ValueError, match=r"line|arm") as it:
        read_losses(tmp_path / "events.csv", ["A", "B"])
    assert "7351946" not in "".join(traceback.format_exception(it.value))
    assert "7351946" not in repr(it.value.__context__)  # which some print even so


def test_losses_are_nowhere_in_what_is_written(command, events, tmp_path):
    """Two losses alone in an otherwise even file: not one of their digits is printed or kept."""
    write(events, [*people(200), ("A", SECRET), ("B", "0.2468357")])
    code, out, err = command(*RUN, "--text")
    assert code == 0
    for text in (out, err, *(path.read_text() for path in tmp_path.iterdir() if path.name != "events.csv")):
        assert "7351946" not in text
        assert "2468357" not in text


def test_reports_of_local_privacy_are_told_as_such(found, command, events, tmp_path):
    channel = sv.local.OneBitChannel((0.0, 1.0), 1.0)
    reports = sv.local.simulate_reports(np.full(400, 0.5), channel, np.random.default_rng(0))
    write(events, [("AB"[i % 2], int(one)) for i, one in enumerate(reports)], head="arm,report")
    plain = found(*RUN, "--local")
    assert plain["privacy"].startswith("epsilon = 1, local")
    assert [one["noise_error"] for one in plain["arms"]] == [0.0, 0.0]
    write(events, [("A", 0.5)], head="arm,report")
    (tmp_path / "events.csv.released.json").unlink()
    code, _, err = command(*RUN, "--local")
    assert (code, err) == (2, "error: line 2: its report is not a report that the channel sends\n")


@every(
    ("change", "message"),
    [
        (("--arms", "A"), "arms must be two names at least"),
        (("--arms", "A,A"), "each once"),
        (("--pairs", "some"), "pairs must be one of"),
        (("--confidence", "95"), "confidence must be"),
        (("--rho", "1", "--epsilon", "1"), "exclude each other"),
    ],
)
def test_options_that_make_no_sense_are_refused_before_anything_is_released(refused, events, tmp_path, change, message):
    assert message in refused(*RUN, *change)
    assert not (tmp_path / "events.csv.released.json").exists()
