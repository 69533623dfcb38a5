"""Losses from a shell: one, a file, a pipe. A bad line is named, never what it holds; what was told is on record."""

import json
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest

from sampling import every, sampled
from sottovoce.cli import study_tell
from sottovoce.cli.rows import LineError
from sottovoce.cli.study_tell import read_lines

SECRET = 0.123456789  # a loss that nothing may echo

SMALL = ("--domain", "hypersimplex:6,2", "--horizon", "1k", "--seed", "3")


def write(path, actions, losses, kind, head="id,loss"):
    with open(path, "w", encoding="utf-8") as file:
        if kind == "csv":
            file.write(f"{head}\n")
        for action, loss in zip(actions, losses, strict=True):
            values = {"id": action["id"], "loss": str(loss), "when": " now"}
            row = ",".join(values[name.strip("\ufeff ").lower()] for name in head.split(","))
            file.write((row if kind == "csv" else json.dumps({**action, "loss": loss})) + "\n")
    return path


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_a_round_trip_in_json(kind, found, place):
    made = found("create", "spring", *SMALL)
    assert made == {
        "study": "spring",
        "created": True,
        "privacy": "epsilon = 1, pure differential privacy",
        "remaining": 1000,
    }
    actions = found("ask", "spring", "--size", 200)["actions"]
    assert len({one["id"] for one in actions}) == 200
    assert all(abs(sum(one["x"]) - 2) < 1e-9 and one["wants_loss"] is True for one in actions)
    file = write(place / f"losses.{kind}", actions, np.linspace(0, 1, 200), kind, "\ufeffID ,when, Loss")
    told = found("tell", "spring", "--file", file)
    assert told == {"study": "spring", "accepted": 200, "without_loss": 0, "refused": 0}
    status = found("status", "spring")
    assert (status["asked"], status["told"], status["outstanding"]) == (200, 200, 0)
    assert status["round"] > 0
    exported = found("export", "spring")
    assert exported["status"] == status
    assert len(exported["rounds"]) == status["round"]
    verified = found("verify", "spring")
    assert verified["ok"] is True
    assert verified["released"] == status["round"]


def test_a_negative_loss_is_no_option(found):
    found("create", "spring", *SMALL, "--loss-range", "-1,1")
    (one,) = found("ask", "spring")["actions"]
    assert found("tell", "spring", one["id"], "-0.5")["accepted"] == 1


@every(
    "header, option, words",
    [
        ("id,loss,more", ("--report",), "with one report, such as id,report; there are id, loss, more."),
        (
            f"id,{SECRET},more",
            (),
            "line 1: the first line must name the columns, with one loss, such as id,loss; there",
        ),
        (f"id,{SECRET},wants_loss", (), "line 2: it has no loss."),
        (f"1.0.0.ab,{SECRET}", (), "line 1: the first line must name the columns"),
        (b"id,loss\n\xff\xfe,1\n", (), "not text in UTF-8"),
    ],
)
def test_a_missing_column_is_blamed_on_the_line_that_names_them(header, option, words, refused, command, place):
    command("create", "spring", *SMALL)
    text = header if isinstance(header, bytes) else f"{header}\n1.0.0.ab,{SECRET},true\n".encode()
    (place / "losses.csv").write_bytes(text)
    assert words in refused("tell", "spring", "--file", "losses.csv", *option)


BAD_LINES = [
    ("csv", f"{{ids[3]}},{SECRET}x", "its loss is not a number"),
    ("csv", f",{SECRET}", "it has no id"),
    ("csv", f"{SECRET},{{ids[3]}}", "its loss is not a number"),
    ("csv", "{ids[3]},nan", "finite"),
    ("csv", f"{{ids[0]}},{SECRET}", "has its loss already"),
    ("csv", f"1.0.000000000000,{SECRET}", "was not handed out here"),
    ("jsonl", f'{{{{"id": "{{ids[3]}}", "loss": {SECRET}', "it is not a JSON object"),
    ("jsonl", f"[{SECRET}]", "it is not a JSON object"),
    ("jsonl", f'{{{{"id": "{{ids[3]}}", "loss": [{SECRET}]}}}}', "its loss is not a number"),
    ("jsonl", '{{"id": "{ids[3]}"}}', "it has no loss"),
    ("jsonl", f'{{{{"loss": {SECRET}}}}}', "it has no id"),
]


@pytest.mark.parametrize(("kind", "bad", "words"), sampled(BAD_LINES, 4))
def test_a_bad_line_is_named_and_what_stands_before_it_is_on_record(kind, bad, words, refused, command, found, place):
    found("create", "spring", *SMALL)
    actions = found("ask", "spring", "--size", 8)["actions"]
    ids = [one["id"] for one in actions]
    lines = write(place / "losses", actions[:3], [0.5] * 3, kind).read_text().splitlines()
    after = write(place / "after", actions[4:], [0.5] * 4, kind).read_text().splitlines()[kind == "csv" :]
    (place / "losses").write_text("\n".join([*lines, bad.format(ids=ids), *after]) + "\n")
    err = refused("tell", "spring", "--file", "losses")
    assert f"line {len(lines) + 1}: " in err
    assert words in err
    assert err.strip().endswith("3 losses are on record")
    assert "of this call" not in err  # which says of one call what is not true of the whole stream
    assert found("status", "spring")["told"] == 3
    # Mended, the stream is told again from its beginning.
    (place / "losses").write_text("\n".join([*lines, *after]) + "\n")
    assert command("tell", "spring", "--file", "losses")[0] == 2
    assert found("tell", "spring", "--file", "losses", "--repeat", "ignore")["accepted"] == 7
    assert found("status", "spring")["told"] == 7


def test_refused_lines_can_be_skipped(found, place):
    found("create", "spring", *SMALL)
    actions = found("ask", "spring", "--round")["actions"]
    found("forget", "spring", *(one["id"] for one in actions[:2]))
    found("tell", "spring", "--file", write(place / "first.csv", actions[2:], [0.5] * len(actions[2:]), "csv"))
    more = found("ask", "spring", "--size", 4)["actions"]
    file = write(place / "late.csv", [*more[:2], *actions[:2], *more[2:]], [0.5] * 6, "csv")  # two come too late
    assert found("tell", "spring", "--file", file, "--refused", "skip") == {
        "study": "spring",
        "accepted": 4,
        "without_loss": 0,
        "refused": 2,
    }


def test_lines_of_actions_come_back_with_losses(found, command, place):
    """The losses of actions that want none may be left out."""
    found("create", "spring", *SMALL, "--losses", "linear", "--plan", "worst-case")
    code, out, _ = command("ask", "spring", "--size", 300, "--lines")
    assert code == 0
    actions = [json.loads(line) for line in out.splitlines()]
    wanted = sum(one["wants_loss"] for one in actions)
    assert 0 < wanted < 300
    lines = [json.dumps({**one, **({"loss": 0.5} if one["wants_loss"] else {})}) for one in actions]
    (place / "lines.jsonl").write_text("\n".join(lines) + "\n\n")
    told = found("tell", "spring", "--file", "lines.jsonl")
    assert (told["accepted"], told["without_loss"]) == (wanted, 300 - wanted)
    assert found("status", "spring")["told"] == wanted


def test_reports_under_local_privacy(found, command, place):
    found("create", "spring", *SMALL, "--local")
    actions = found("ask", "spring", "--size", 3)["actions"]
    assert "raw loss is refused" in command("tell", "spring", actions[0]["id"], 0.5)[2]
    assert found("tell", "spring", actions[0]["id"], 1, "--report")["accepted"] == 1
    lines = [f"{one['id']},-1" for one in actions[1:]]
    (place / "reports.csv").write_text("\n".join(["id,report", *lines]))
    assert found("tell", "spring", "--file", "reports.csv", "--report")["accepted"] == 2


def test_an_interrupt_says_how_much_is_on_record(command, found, place, monkeypatch):
    found("create", "spring", *SMALL)
    actions = found("ask", "spring", "--size", 6)["actions"]
    file = write(place / "losses.csv", actions, [0.5] * 6, "csv")

    def interrupted(*arguments, **options):
        yield from list(read_lines(*arguments, **options))[:4]
        raise KeyboardInterrupt

    monkeypatch.setattr(study_tell, "BLOCK", 2)
    monkeypatch.setattr(study_tell, "read_lines", interrupted)
    code, out, _ = command("tell", "spring", "--file", file)
    assert code == 130
    assert json.loads(out)["accepted"] == 4
    assert found("status", "spring")["told"] == 4


def test_the_real_command_reads_a_pipe_and_prints_json(found):
    """Through processes, as a script would do it."""

    def run(*arguments, **options):
        command = [sys.executable, "-m", "sottovoce", "study", *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=600, **options)

    found("create", "spring", *SMALL)
    asked = run("ask", "spring", "--size", "40", "--lines").stdout.splitlines()
    lines = "".join(json.dumps({**json.loads(line), "loss": SECRET}) + "\n" for line in asked)
    told = run("tell", "spring", "--file", "-", input=lines + lines.splitlines()[0])
    assert (told.stdout, told.returncode) == ("", 2)
    assert told.stderr.startswith("error: line 41: id '1.0.")
    assert str(SECRET) not in told.stderr
    assert found("status", "spring")["told"] == 40


def test_lines_are_numbered_as_an_editor_would():
    lines = ["\n", "id,loss\n", "a,1\n", '"b\n', 'c",2\n', "d,x\n"]
    reading = read_lines(lines, "loss", Counter())
    assert [next(reading).number, next(reading).number] == [3, 5]
    with pytest.raises(LineError, match="line 6: "):
        next(reading)


def test_losses_of_items_are_json(found, refused, place):
    options = ("--domain", "hypersimplex:6,2", "--labels", "tea,coffee,cocoa,milk,juice,water", "--horizon", "1k")
    items = ("--integral", "--loss-range=-1,0", "--feedback", "items", "--most", "1")
    found("create", "menu", *options, *items)
    first, second, third = (found("ask", "menu")["actions"][0] for _ in range(3))
    assert found("tell", "menu", first["id"], json.dumps({first["chosen"][0]: -1.0}))["accepted"] == 1
    lines = [{"id": second["id"], "loss": {}}, {"id": third["id"], "loss": [0.0, -1.0]}]
    (place / "told.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert found("tell", "menu", "--file", "told.jsonl")["accepted"] == 2
    fourth = found("ask", "menu")["actions"][0]
    err = refused("tell", "menu", fourth["id"], '{"no drink": -1.0}')
    assert "no drink" not in err
