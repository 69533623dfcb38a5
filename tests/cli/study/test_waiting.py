"""From a shell, too, no id is lost: what is outstanding can be listed, forgotten, and is not asked for nobody."""

import io
import json
import os
import signal
import subprocess
import sys
import traceback
from pathlib import Path

import pytest

import sottovoce as sv
from sampling import every
from sottovoce.cli import main
from sottovoce.cli.rows import LineError
from sottovoce.cli.study_stream import read_ids

URL = "sqlite:///study.db"
SECRET = "0.123456789"


@pytest.fixture
def spring(found):
    """A study that has room for many actions, in rounds of 8."""
    with sv.Study.open(
        URL,
        name="spring",
        domain=sv.domains.Ball(3),
        horizon=10**6,
        loss_range=(0, 1),
        privacy=sv.NoPrivacy(),
        plan="worst-case",
        batch_size=8,
    ):
        pass


class Process:
    """The command in a process of its own, its standard output a real pipe (or a file), without importing anew."""

    def __init__(self, *arguments, out=None):
        self.reading, writing = os.pipe() if out is None else (None, out)
        self.pid = os.fork()
        if not self.pid:
            try:
                os.dup2(writing, 1)
                os.dup2(os.open("errors", os.O_CREAT | os.O_TRUNC | os.O_WRONLY), 2)
                os.closerange(3, 200)
                sys.stdout, sys.stderr = os.fdopen(1, "w", closefd=False), os.fdopen(2, "w", closefd=False)
                signal.signal(signal.SIGINT, signal.default_int_handler)
                main(["study", *map(str, arguments)])
            except SystemExit as ended:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(ended.code)
            except BaseException:
                os.write(2, traceback.format_exc().encode())
            finally:
                os._exit(99)
        if out is None:
            os.close(writing)

    def line(self):
        """Read one line and not a byte more."""
        text = b""
        while not text.endswith(b"\n"):
            one = os.read(self.reading, 1)
            if not one:
                break
            text += one
        return text

    def rest(self):
        pieces = []
        while piece := os.read(self.reading, 65536):
            pieces.append(piece)
        return b"".join(pieces)

    def end(self):
        """Return the code it ended with, and what it said on the standard error."""
        _, status = os.waitpid(self.pid, 0)
        return os.waitstatus_to_exitcode(status), Path("errors").read_text()


def ids_of(text):
    return [json.loads(line)["id"] for line in text.splitlines()]


def test_a_reader_that_goes_away_leaves_the_rest_unasked(spring, found):
    """`ask --lines | head -1` handed out two thousand ids, which nobody ever saw."""
    asking = Process("ask", "spring", "--size", 2000, "--lines")
    first = json.loads(asking.line())
    os.close(asking.reading)
    code, err = asking.end()
    assert code == 141
    status = found("status", "spring")
    assert 1 <= status["asked"] <= 16
    assert status["outstanding"] + status["forgotten"] == status["asked"]
    assert err.startswith("the reader has gone away: ")
    assert (
        f"{status['outstanding']} losses are outstanding in all: list them with `sottovoce study outstanding spring`"
        in err
    )
    assert found("outstanding", "spring", "--limit", 1)["actions"][0]["id"] == first["id"]


def test_a_reader_that_takes_everything_gets_everything(spring, found):
    asking = Process("ask", "spring", "--size", 300, "--lines")
    ids = ids_of(asking.rest())
    assert asking.end() == (0, "")
    assert len(set(ids)) == 300
    assert found("status", "spring")["outstanding"] == 300


def test_lines_are_asked_for_as_they_are_read(spring, found):
    asking = Process("ask", "spring", "--size", 2000, "--lines")
    ids = ids_of(b"".join(asking.line() for _ in range(15)))
    assert found("status", "spring")["asked"] == 16  # the next ones when the last of these is taken
    ids += ids_of(asking.line() + b"".join(asking.line() for _ in range(3)))
    assert found("status", "spring")["asked"] == 48
    os.kill(asking.pid, signal.SIGINT)
    code, err = asking.end()
    whole = asking.rest().rpartition(b"\n")[0]  # of the last line, a part may be there
    os.close(asking.reading)
    assert code == 130
    status = found("status", "spring")
    assert err.startswith(f"interrupted: {status['outstanding']} actions were printed, ")
    assert status["outstanding"] + status["forgotten"] == status["asked"] == 48
    listed = ids_of("\n".join(json.dumps(one) for one in found("outstanding", "spring")["actions"]))
    assert listed[: len(ids) + len(ids_of(whole))] == ids + ids_of(whole)


def test_what_does_not_fit_into_a_pipe_that_is_broken_is_forgotten(found):
    """Lines of 20,000 bytes: a pipe holds three of them, and a part of the next."""
    with sv.Study.open(
        URL, name="wide", domain=sv.domains.Ball(1000), horizon=10**5, loss_range=(0, 1), privacy=sv.NoPrivacy()
    ):
        pass
    asking = Process("ask", "wide", "--size", 16, "--lines")
    first = asking.line()
    os.close(asking.reading)
    code, err = asking.end()
    assert code == 141
    status = found("status", "wide")
    assert status["asked"] == 16
    assert 1 <= status["outstanding"] < 16
    assert status["forgotten"] == 16 - status["outstanding"]
    assert f"{status['outstanding']} actions were printed, {status['forgotten']} that were not are forgotten." in err
    assert found("outstanding", "wide", "--limit", 1)["actions"][0]["id"] == json.loads(first)["id"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a disk that is always full")
@pytest.mark.parametrize("options", [("--lines",), (), ("--text",), ("--round",), ("--round", "--lines")])
def test_a_full_disk_gives_everything_back(options, spring, found):
    size = () if "--round" in options else ("--size", 40)
    with open("/dev/full", "wb") as full:
        code, err = Process("ask", "spring", *size, *options, out=full.fileno()).end()
    assert code == 1
    assert "the output cannot be written (No space left on device): 0 actions were printed" in err
    assert "0 losses are outstanding in all" in err
    status = found("status", "spring")
    assert status["outstanding"] == 0
    assert status["asked"] == status["forgotten"] <= 40


def test_a_document_that_was_cut_short_is_taken_back_whole(found):
    """Half a JSON object is of no use to anybody."""
    with sv.Study.open(
        URL, name="wide", domain=sv.domains.Ball(1000), horizon=10**5, loss_range=(0, 1), privacy=sv.NoPrivacy()
    ):
        pass
    asking = Process("ask", "wide", "--size", 16)
    assert os.read(asking.reading, 100).startswith(b'{"study": "wide", "actions": [{"id": "1.0.')
    os.close(asking.reading)
    code, err = asking.end()
    assert code == 141
    assert "0 actions were printed, 16 that were not are forgotten. 0 losses are outstanding in all" in err
    assert found("status", "wide")["forgotten"] == 16


def test_an_interrupt_before_a_document_is_read_takes_it_back(found):
    with sv.Study.open(
        URL, name="wide", domain=sv.domains.Ball(1000), horizon=10**5, loss_range=(0, 1), privacy=sv.NoPrivacy()
    ):
        pass
    asking = Process("ask", "wide", "--size", 16)
    os.read(asking.reading, 1)  # it waits for room in the pipe now, or will
    os.kill(asking.pid, signal.SIGINT)
    code, err = asking.end()
    os.close(asking.reading)
    assert code == 130
    assert err.startswith("interrupted: 0 actions were printed, 16 that were not are forgotten.")
    assert found("status", "wide")["outstanding"] == 0


def test_one_command_is_one_call_for_patience(found, command):
    """However long the list, none of its own positions count against its rounds."""
    found("create", "short", "--domain", "ball:3", "--horizon", "1000", "--patience", "5")
    _, out, _ = command("ask", "short", "--size", 600, "--lines")
    lines = [json.dumps({**json.loads(line), "loss": 0.5}) for line in out.splitlines()]
    Path("losses.jsonl").write_text("\n".join(lines))
    assert found("tell", "short", "--file", "losses.jsonl")["accepted"] == 600
    assert found("status", "short")["forgotten"] == 0


def test_a_closed_standard_output_is_refused_before_anything_is_asked(spring, found):
    command = [sys.executable, "-m", "sottovoce", "study", "ask", "spring", "--lines"]
    shell = " ".join(command) + " >&-"
    ended = subprocess.run(["sh", "-c", shell], stderr=subprocess.PIPE, text=True, timeout=600)
    assert ended.returncode == 1
    assert "there is no standard output to print to; nothing was asked" in ended.stderr
    assert found("status", "spring")["asked"] == 0


def test_the_real_command_and_the_real_head(spring, found):
    command = f"{sys.executable} -m sottovoce study ask spring --size 2000 --lines | head -1"
    ended = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=600)
    assert len(ids_of(ended.stdout)) == 1
    assert ended.stderr.startswith("the reader has gone away: ")
    assert "Traceback" not in ended.stderr
    assert found("status", "spring")["asked"] <= 16 + 32  # it may have been gone a moment later


# ---------------------------------------------------------------------- outstanding, forget, set


def test_what_is_outstanding_is_listed(spring, found, command):
    ids = [one["id"] for one in found("ask", "spring", "--size", 12)["actions"]]
    found("tell", "spring", ids[1], 0.5)
    listed = found("outstanding", "spring")
    assert listed["outstanding"] == 11
    assert listed["actions"][:2] == [{"id": ids[0], "round": 0, "age": 11}, {"id": ids[2], "round": 0, "age": 9}]
    few = found("outstanding", "spring", "--limit", 2)
    assert (few["outstanding"], [one["id"] for one in few["actions"]]) == (11, [ids[0], ids[2]])
    _, out, _ = command("outstanding", "spring", "--lines")
    assert ids_of(out) == [ids[0], *ids[2:]]
    _, out, _ = command("outstanding", "spring", "--text", "--limit", 1)
    assert out.startswith(
        f"{ids[0]}  round 0, 11 asked since\n11 losses are outstanding\n  round 0 waits for 7 losses of 8"
    )
    assert "waiting  round 0 waits for 7 of 8 losses; it closes" in command("status", "spring", "--text")[1]
    assert command("outstanding", "spring", "--limit", -1)[0] == 2


@pytest.mark.parametrize("kind", ["plain", "csv", "jsonl", "stdin"])
def test_ids_to_forget_come_in_any_kind_of_file(kind, spring, found, monkeypatch):
    ids = [one["id"] for one in found("ask", "spring", "--size", 12)["actions"]]
    found("tell", "spring", ids[1], 0.5)
    lines = {
        "csv": ["when, ID", *(f"now,{one}" for one in ids)],
        "jsonl": [json.dumps({"id": one, "x": [0]}) for one in ids],
    }.get(kind, ["", *ids, ""])
    Path("ids").write_text("\n".join(lines) + "\n")
    source = "ids"
    if kind == "stdin":
        monkeypatch.setattr("sys.stdin", io.StringIO(Path("ids").read_text()))
        source = "-"
    assert found("forget", "spring", "--file", source) == {"study": "spring", "closed": 11, "skipped": 1}
    assert found("forget", "spring", *ids[:3]) == {"study": "spring", "closed": 0, "skipped": 3}
    assert found("status", "spring")["forgotten"] == 11


def test_the_list_of_outstanding_ids_is_a_file_of_ids_to_forget(spring, found, command):
    found("ask", "spring", "--size", 30)
    Path("lost.jsonl").write_text(command("outstanding", "spring", "--lines", "--limit", 20)[1])
    assert found("forget", "spring", "--file", "lost.jsonl")["closed"] == 20
    assert found("status", "spring")["round"] == 2


def test_what_is_older_than_so_many_positions_is_forgotten(spring, found):
    ids = [one["id"] for one in found("ask", "spring", "--size", 30)["actions"]]
    found("tell", "spring", ids[0], 0.5)
    assert found("forget", "spring", "--older-than", 20) == {"study": "spring", "closed": 9, "skipped": 0}
    assert found("outstanding", "spring", "--limit", 1)["actions"][0] == {"id": ids[10], "round": 1, "age": 19}
    assert found("forget", "spring", "--older-than", 0)["closed"] == 20


def test_a_line_that_is_no_id_is_named_and_not_shown(spring, found, command):
    ids = [one["id"] for one in found("ask", "spring", "--size", 4)["actions"]]
    for bad, words in ((SECRET, "line 3: the id is not one that was handed out here. Those before it are forgotten"),):
        Path("ids").write_text("\n".join([*ids[:2], bad, ids[2]]))
        code, _, err = command("forget", "spring", "--file", "ids")
        assert code == 2
        assert words in err
    assert found("status", "spring")["forgotten"] == 2
    Path("ids").write_text('{"id": 7}')
    assert "line 1: it has no id" in command("forget", "spring", "--file", "ids")[2]
    Path("ids").write_bytes(b"\xff\xfe")
    assert "not text in UTF-8" in command("forget", "spring", "--file", "ids")[2]


def test_lines_of_ids_are_numbered_as_an_editor_would():
    reading = read_ids(["\n", '{"id": "a"}\n', "\n", '{"no": "b"}\n'])
    assert next(reading) == (2, "a")
    with pytest.raises(LineError, match="line 4: "):
        next(reading)


def test_patience_and_deadline_are_set_later(found, command):
    found("create", "spring", "--domain", "ball:3", "--horizon", "10k", "--patience", "none", "--deadline", "60")
    status = found("status", "spring")
    assert (status["patience"], status["deadline"]) == (None, 60.0)
    changed = {"study": "spring", "domain": "Ball(3, radius=1)", "patience": 2000, "deadline": 60.0}
    assert found("change", "spring", "--patience", "2k") == changed
    assert found("change", "spring", "--patience", "auto", "--deadline", "none")["patience"] == 1000
    assert found("change", "spring", "--patience", "0")["patience"] == 0
    text = command("change", "spring", "--deadline", "90", "--text")[1]
    assert text == "Ball(3, radius=1); patience 0 events, deadline 90.0 seconds\n"
    code, _, err = command("create", "spring", "--domain", "ball:3", "--horizon", "10k", "--patience", "7")
    assert code == 2
    assert "patience is 0, not 7" in err


def test_a_catalogue_changes_from_a_shell(found, command):
    slates = ("--feedback", "items", "--loss-range", "-1,0", "--integral", "--horizon", "10k")
    found("create", "spring", "--domain", "hypersimplex:3,2", "--labels", "tea,milk,chai", *slates)
    fresh = ("--domain", "hypersimplex:4,2", "--labels", "tea,milk,mate,juice")
    assert found("change", "spring", *fresh)["domain"] == "Hypersimplex(4, 2)"
    assert set(found("ask", "spring", "--json")["actions"][0]["chosen"]) <= {"tea", "milk", "mate", "juice"}
    code, _, err = command("change", "spring", "--domain", "hypersimplex:4,2")
    assert code == 2
    assert "has no names" in err


@every(
    ("arguments", "words"),
    [
        (("change", "spring"), "pass --domain (with --labels), --patience or --deadline"),
        (
            ("change", "spring", "--patience", "soon"),
            "patience must be a whole number such as 0, 500 or 10k, auto or none",
        ),
        (("change", "spring", "--deadline", "soon"), "deadline must be a number of seconds, or none, got 'soon'"),
        (("change", "spring", "--deadline", "-1"), "deadline must be"),
        (("create", "other", "--domain", "ball:3", "--patience", "-1"), "patience must be"),
        (("forget", "spring"), "pass ID..., --file or --older-than: one of them"),
        (("forget", "spring", "a", "--older-than", "3"), "one of them"),
        (("forget", "spring", "--older-than", "old"), "older-than must be a whole number"),
        (("forget", "spring", "--file", "none"), "there is no file none"),
        (("forget", "spring", "1.0.0.ab"), "the id is not one that was handed out here"),
        (("outstanding", "autumn"), "no such study"),
    ],
)
def test_bad_use_is_one_line_and_code_2(arguments, words, spring, command):
    code, out, err = command(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert words in err
