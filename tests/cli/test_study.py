import json
import os
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.cli import main, study_stream
from sottovoce.cli.study_stream import LineError, StreamReport, read_lines
from sottovoce.domains.specification import specify

SECRET = 0.123456789  # a loss that nothing may echo


@pytest.fixture(autouse=True)
def place(monkeypatch):
    """A folder of its own, in memory where there is any (disks are slow), with the storage named by the environment."""
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("SOTTOVOCE_STORAGE", "sqlite:///study.db")
    base = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=base if os.access(base, os.W_OK) else None) as folder:
        monkeypatch.chdir(folder)
        yield Path(folder)
        monkeypatch.undo()


@pytest.fixture
def command(capsys):
    def call(*arguments):
        with pytest.raises(SystemExit) as ended:
            main(["study", *map(str, arguments)])
        printed = capsys.readouterr()
        assert str(SECRET) not in printed.out + printed.err
        return ended.value.code, printed.out, printed.err

    return call


@pytest.fixture
def found(command):
    """Call a command that succeeds, and return the JSON that it prints."""

    def call(*arguments):
        code, out, err = command(*arguments)
        assert (code, err) == (0, "")
        return json.loads(out)

    return call


SMALL = ("--domain", "hypersimplex:6,2", "--horizon", "1k", "--seed", "3")


def write(path, actions, losses, kind):
    with open(path, "w") as file:
        if kind == "csv":
            file.write("id,loss\n")
        for action, loss in zip(actions, losses, strict=True):
            line = f"{action['id']},{loss}" if kind == "csv" else json.dumps({**action, "loss": loss})
            file.write(line + "\n")
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
    file = write(place / f"losses.{kind}", actions, np.linspace(0, 1, 200), kind)
    told = found("tell", "spring", "--file", file, "--block", 64)
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


def test_one_at_a_time_and_the_rest_of_a_round(found):
    found("create", "spring", *SMALL)
    (one,) = found("ask", "spring")["actions"]
    assert found("tell", "spring", one["id"], 0.5)["accepted"] == 1
    rest = found("ask", "spring", "--round")["actions"]
    found("forget", "spring", *(action["id"] for action in rest))
    status = found("status", "spring")
    assert (status["told"], status["forgotten"], status["round"]) == (1, len(rest), 1)


def test_a_negative_loss_is_no_option(found):
    found("create", "spring", *SMALL, "--loss-range", "-1,1")
    (one,) = found("ask", "spring")["actions"]
    assert found("tell", "spring", one["id"], "-0.5")["accepted"] == 1


def test_words_for_people(command, found, place):
    code, out, err = command("create", "spring", *SMALL, "--text")
    assert (code, err) == (0, "")
    assert out.startswith("Created study 'spring'.\nPrivacy: epsilon = 1, pure differential privacy\n")
    assert command("create", "spring", *SMALL, "--text")[1].startswith("There already is study 'spring'.")
    _, out, _ = command("ask", "spring", "--text")
    assert out.startswith("1.0.0.")
    assert "1 outstanding" in command("status", "spring", "--text")[1]
    assert command("verify", "spring", "--text")[1].startswith("Study 'spring': ok\n")
    assert command("export", "spring", "--out", "here.json", "--text")[1] == "wrote here.json: 0 rounds\n"


def test_every_domain_can_come_from_a_file(found, place):
    (place / "domain.json").write_text(json.dumps(specify(sv.domains.Birkhoff(3))))
    found("create", "ranks", "--domain-json", "domain.json", "--losses", "linear", "--integral", "--horizon", "1000")
    (one,) = found("ask", "ranks")["actions"]
    assert sorted(set(one["x"])) == [0.0, 1.0]


GUARANTEES = [
    ((), sv.PureDP(1.0)),
    (("--epsilon", "0.5", "--contributions", "2"), sv.PureDP(0.5, contributions=2)),
    (("--epsilon", "2", "--delta", "1e-6"), sv.ApproxDP(2.0, 1e-6)),
    (("--rho", "0.1"), sv.ZCDP(0.1)),
    (("--local", "--epsilon", "2"), sv.LocalDP(2.0)),
    (("--no-privacy",), sv.NoPrivacy()),
]


@pytest.mark.parametrize(("options", "expected"), GUARANTEES)
def test_every_guarantee_can_be_asked_for(options, expected, found):
    found("create", "spring", *SMALL, *options)
    with sv.Study.open("sqlite:///study.db", name="spring", privacy=expected) as study:  # refused if it is another
        assert study.horizon == 1000


def test_all_options_reach_the_study(found):
    options = ("--losses", "linear", "--drift", "--play", "around", "--deadline", "60", "--loss-range", "0,2")
    found("create", "spring", "--domain", "ball:3", "--horizon", "unknown", *options, "--plan", "auto", "--seed", "5")
    with sv.Study.open(
        "sqlite:///study.db",
        name="spring",
        domain=sv.domains.Ball(3),
        horizon=None,
        loss_range=(0.0, 2.0),
        losses="linear",
        drift=True,
        play="around",
        plan="auto",
        deadline=60.0,
        seed=5,
    ) as study:
        assert study.remaining is None


def test_creating_again_changes_nothing_and_creating_otherwise_is_refused(found, command):
    assert found("create", "spring", *SMALL)["created"] is True
    assert found("create", "spring", *SMALL)["created"] is False
    code, out, err = command("create", "spring", "--domain", "ball:3", "--horizon", "1k")
    assert (code, out) == (2, "")
    assert "was created otherwise: domain is Hypersimplex(6, 2), not Ball(3" in err
    assert err.count("\n") == 1


BAD_USE = [
    (("create", "a", "--domain", "ball:3", "--rho", "1", "--epsilon", "1"), "--epsilon and --rho exclude each other"),
    (("create", "a", "--domain", "ball:3", "--local", "--no-privacy"), "--local and --no-privacy exclude each other"),
    (("create", "a", "--domain", "ball:3", "--epsilon", "-1"), "epsilon"),
    (("create", "a", "--domain", "ball:3", "--horizon", "soon"), "horizon must be a whole number"),
    (("create", "a"), "pass either --domain or --domain-json"),
    (("create", "a", "--domain", "ball:3", "--loss-range", "1"), "loss-range must be two numbers"),
    (("create", "a", "--domain", "ball:3", "--plan", "paper"), "keeps un-noised sums"),
    (("ask", "spring", "--size", "0"), "size must be"),
    (("ask", "spring", "--size", "2", "--round"), "exclude each other"),
    (("ask", "spring", "--size", "2000"), "1000 of horizon=1000 are left"),
    (("ask", "autumn"), "no such study"),
    (("verify", "autumn"), "no such study"),
    (("status", "spring", "--storage", "mysql://here"), "url must be like"),
    (("status", "spring", "--storage", "sqlite:///none.db"), "none.db: check the path, or create the study first"),
    (("tell", "spring"), "pass ID and LOSS, or --file"),
    (("tell", "spring", "1.0.0.ab"), "pass ID and LOSS, two arguments, got 1"),
    (("tell", "spring", "1.0.0.ab", SECRET), "the id is not one of this study's"),
    (("tell", "spring", "1.0.0.000000000000", SECRET), "id '1.0.0.000000000000' was not handed out by this study"),
    (("tell", "spring", "--file", "none.csv"), "error: there is no file none.csv"),
    (("create", "a", "--domain-json", "none.json"), "error: there is no file none.json"),
    (("tell", "spring", SECRET, "1.0.0.ab"), "LOSS is not a number"),
    (("tell", "spring", "1.0.0.ab", SECRET, SECRET), "two arguments, got 3"),
    (("tell", "spring", "1.0.0.ab", f"{SECRET},"), "LOSS is not a number"),
    (("tell", "spring", "1.0.0.ab", f"--{SECRET}"), "LOSS is not a number"),
    (("tell", "spring", "--file", "x.csv", "--refused", "maybe"), "refused must be stop or skip"),
    (("tell", "spring", "--file", "x.csv", "--block", "0"), "block must be at least 1"),
    (("tell", "spring", "a", "1", "--repeat", "maybe"), "repeat"),
    (("restore", "spring"), "pass --yes"),
]


@pytest.mark.parametrize(("arguments", "words"), BAD_USE, ids=[" ".join(map(str, one[0])) for one in BAD_USE])
def test_bad_use_is_one_line_and_code_2(arguments, words, command, found):
    found("create", "spring", *SMALL)
    code, out, err = command(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert words in err
    assert found("status", "spring")["told"] == 0


@pytest.mark.parametrize("name", ["ask", "status", "verify"])
def test_a_study_that_is_not_there_points_to_the_command_that_creates_it(name, command, found):
    found("create", "spring", *SMALL)
    code, _, err = command(name, "sprng")
    assert code == 2
    assert err.strip().endswith("; see `sottovoce study create`")
    assert "loss_range" not in err
    assert name == "verify" or "it has 'spring'" in err


@pytest.mark.parametrize(
    ("header", "option", "words"),
    [
        ("id,value", (), "line 1: no column loss; columns are id, value."),
        ("id,loss", ("--report",), "line 1: no column report; columns are id, loss."),
        (f"id,{SECRET},wants_loss", (), "line 1: no column loss; columns are id, (not a name), wants_loss."),
    ],
)
def test_a_missing_column_is_blamed_on_the_line_that_names_them(header, option, words, command, found, place):
    found("create", "spring", *SMALL)
    one = found("ask", "spring")["actions"][0]["id"]
    (place / "losses.csv").write_text(f"{header}\n{one},{SECRET},true\n")
    code, _, err = command("tell", "spring", "--file", "losses.csv", *option)
    assert code == 2
    assert words in err
    assert found("status", "spring")["told"] == 0


def test_a_column_of_losses_may_be_missing_where_none_is_wanted():
    counts = StreamReport()
    assert list(read_lines(["id,wants_loss", "1.0.0.ab,false"], "loss", counts)) == []
    assert counts.without_loss == 1


def test_a_storage_must_be_named(command, monkeypatch):
    monkeypatch.delenv("SOTTOVOCE_STORAGE")
    code, _, err = command("status", "spring")
    assert code == 2
    assert "SOTTOVOCE_STORAGE" in err


def test_the_option_wins_over_the_environment(found):
    found("create", "spring", *SMALL, "--storage", "sqlite:///other.db")
    assert os.path.exists("other.db")
    assert not os.path.exists("study.db")


BAD_LINES = [
    ("csv", f"{{ids[3]}},{SECRET}x", "its loss is not a number"),
    ("csv", "{ids[3]},", "it has no loss"),
    ("csv", f",{SECRET}", "it has no id"),
    ("csv", f"{SECRET},{{ids[3]}}", "its loss is not a number"),
    ("csv", "{ids[3]},nan", "finite"),
    ("csv", f"{{ids[0]}},{SECRET}", "has its loss already"),
    ("csv", f"1.0.0.000000000000,{SECRET}", "was not handed out by this study"),
    ("jsonl", f'{{{{"id": "{{ids[3]}}", "loss": {SECRET}', "it is not a JSON object"),
    ("jsonl", f"[{SECRET}]", "it is not a JSON object"),
    ("jsonl", f'{{{{"id": "{{ids[3]}}", "loss": [{SECRET}]}}}}', "its loss is not a number"),
    ("jsonl", '{{"id": "{ids[3]}"}}', "it has no loss"),
    ("jsonl", f'{{{{"loss": {SECRET}}}}}', "it has no id"),
    ("jsonl", '{{"id": "{ids[3]}", "loss": NaN}}', "finite"),
]


@pytest.mark.parametrize("block", [2, 1000])
@pytest.mark.parametrize(("kind", "bad", "words"), BAD_LINES, ids=[f"{one[0]} {one[2]}" for one in BAD_LINES])
def test_a_bad_line_is_named_and_what_stands_before_it_is_on_record(kind, bad, words, block, command, found, place):
    found("create", "spring", *SMALL)
    actions = found("ask", "spring", "--size", 8)["actions"]
    ids = [one["id"] for one in actions]
    lines = write(place / "losses", actions[:3], [0.5] * 3, kind).read_text().splitlines()
    after = write(place / "after", actions[4:], [0.5] * 4, kind).read_text().splitlines()[kind == "csv" :]
    (place / "losses").write_text("\n".join([*lines, bad.format(ids=ids), *after]) + "\n")
    code, out, err = command("tell", "spring", "--file", "losses", "--block", block)
    assert (code, out) == (2, "")
    assert f"line {len(lines) + 1}: " in err
    assert words in err
    assert err.strip().endswith("3 losses are on record")
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
    found("create", "spring", *SMALL, "--losses", "linear")
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


def test_other_columns_and_a_mark_of_byte_order_do_no_harm(found, place):
    found("create", "spring", *SMALL)
    (one,) = found("ask", "spring")["actions"]
    (place / "wide.csv").write_text(f"\ufeffID ,when, Loss\n{one['id']}, now, 0.5\n", encoding="utf-8")
    assert found("tell", "spring", "--file", "wide.csv")["accepted"] == 1


def test_what_is_not_text_or_has_no_header_is_refused(command, found, place):
    found("create", "spring", *SMALL)
    (place / "bytes.csv").write_bytes(b"id,loss\n\xff\xfe,1\n")
    assert "not text in UTF-8" in command("tell", "spring", "--file", "bytes.csv")[2]
    (place / "headless.csv").write_text(f"1.0.0.ab,{SECRET}\n")
    assert "line 1: the first line must name the columns" in command("tell", "spring", "--file", "headless.csv")[2]
    (place / "empty.csv").write_text("")
    assert found("tell", "spring", "--file", "empty.csv")["accepted"] == 0


def test_reports_under_local_privacy(found, command, place):
    found("create", "spring", *SMALL, "--local")
    actions = found("ask", "spring", "--size", 3)["actions"]
    assert "raw loss is refused" in command("tell", "spring", actions[0]["id"], 0.5)[2]
    assert found("tell", "spring", actions[0]["id"], 1, "--report")["accepted"] == 1
    lines = [f"{one['id']},-1" for one in actions[1:]]
    (place / "reports.csv").write_text("\n".join(["id,report", *lines]))
    assert found("tell", "spring", "--file", "reports.csv", "--report")["accepted"] == 2


def test_an_export_to_lines_and_one_to_a_file_agree(found, command):
    found("create", "spring", *SMALL)
    actions = found("ask", "spring", "--round")["actions"]
    found("forget", "spring", *(one["id"] for one in actions))
    assert found("export", "spring", "--out", "a.json") == {"study": "spring", "written": "a.json", "rounds": 1}
    found("export", "spring", "--out", "a.jsonl")
    whole = json.loads(Path("a.json").read_text())
    head, *rounds = map(json.loads, Path("a.jsonl").read_text().splitlines())
    assert {**head, "rounds": rounds} == whole
    _, out, _ = command("export", "spring", "--lines")
    assert list(map(json.loads, out.splitlines())) == [head, *rounds]


def test_verify_ends_with_code_1_and_the_faults(command, found):
    found("create", "spring", *SMALL)
    found("ask", "spring")
    connection = sqlite3.connect("study.db")
    with connection:
        connection.execute("UPDATE sottovoce_heads SET told = 7")
    connection.close()
    code, out, err = command("verify", "spring")
    assert (code, err) == (1, "")
    assert json.loads(out)["faults"] == ["the counters fail their checksum"]
    assert "fault    the counters fail" in command("verify", "spring", "--text")[1]
    assert command("status", "spring")[0] == 2


def test_restore_drops_what_is_not_released_and_refuses_old_ids(command, found):
    found("create", "spring", *SMALL)
    one, other = found("ask", "spring", "--size", 2)["actions"]
    found("tell", "spring", one["id"], 0.5)
    restored = found("restore", "spring", "--yes")
    assert restored["generation"] > 1
    assert restored["outstanding"] == 0
    assert "before the storage was restored" in command("tell", "spring", other["id"], SECRET)[2]
    assert found("verify", "spring")["ok"]


def test_an_interrupt_says_how_much_is_on_record(command, found, place, monkeypatch):
    found("create", "spring", *SMALL)
    actions = found("ask", "spring", "--size", 6)["actions"]
    file = write(place / "losses.csv", actions, [0.5] * 6, "csv")

    def interrupted(*arguments, **options):
        yield from list(read_lines(*arguments, **options))[:4]
        raise KeyboardInterrupt

    monkeypatch.setattr("sottovoce.cli.study_tell.read_lines", interrupted)
    code, out, _ = command("tell", "spring", "--file", file, "--block", 2)
    assert code == 130
    assert json.loads(out)["accepted"] == 4
    assert found("status", "spring")["told"] == 4


def test_blocks_are_told_in_one_transaction_each(found, place, monkeypatch):
    found("create", "spring", *SMALL)
    actions = found("ask", "spring", "--size", 10)["actions"]
    sizes = []

    class Watched(study_stream.Study):
        def tell(self, ids, *arguments, **options):
            sizes.append(len(ids))
            super().tell(ids, *arguments, **options)

    monkeypatch.setattr("sottovoce.cli.study_tell.Study", Watched)
    found("tell", "spring", "--file", write(place / "losses.csv", actions, [0.5] * 10, "csv"), "--block", 4)
    assert sizes == [4, 4, 2]


def test_the_real_command_reads_a_pipe_and_prints_json(found):
    """Through processes, as a script would do it."""

    def run(*arguments, **options):
        command = [sys.executable, "-m", "sottovoce", "study", *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, **options)

    found("create", "spring", *SMALL)
    asked = run("ask", "spring", "--size", "40", "--lines").stdout.splitlines()
    lines = "".join(json.dumps({**json.loads(line), "loss": SECRET}) + "\n" for line in asked)
    told = run("tell", "spring", "--file", "-", input=lines + lines.splitlines()[0])
    assert (told.stdout, told.returncode) == ("", 2)
    assert told.stderr.startswith("error: line 41: action 0 of round 0 has its loss already")
    assert str(SECRET) not in told.stderr
    assert found("status", "spring")["told"] == 40


def test_lines_are_numbered_as_an_editor_would():
    report = StreamReport()
    lines = ["\n", "id,loss\n", "a,1\n", '"b\n', 'c",2\n', "d,x\n"]
    reading = read_lines(lines, "loss", report)
    assert [next(reading).number, next(reading).number] == [3, 5]
    with pytest.raises(LineError, match="line 6: "):
        next(reading)


@pytest.mark.parametrize("name", ["\udcff", "a\x00b", "two\nlines", "x" * 201])
@pytest.mark.parametrize(
    "words",
    [
        ("create", "--domain", "simplex:3", "--horizon", "1000"),
        ("ask",),
        ("tell", "1.0.0.aa", "0.5"),
        ("forget", "1.0.0.aa"),
        ("status",),
        ("export",),
        ("verify",),
        ("restore", "--yes"),
    ],
)
def test_a_name_that_cannot_be_stored_is_an_error_of_use(name, words, command, place):
    (place / "study.db").touch()
    code, out, error = command(words[0], name, *words[1:])
    assert (code, out) == (2, "")
    assert "name must be 1 to 200 letters" in error
    error.encode("ascii")


@pytest.mark.parametrize("text", ["[" * 100_000, '{"made": ["domains", "Product", {"factors": [' * 30_000])
def test_json_that_is_nested_too_deeply_is_an_error_of_use(text, command, place):
    (place / "deep.json").write_text(text)
    code, out, error = command("create", "spring", "--domain-json", place / "deep.json", "--horizon", "1000")
    assert (code, out) == (2, "")
    assert "does not hold a domain" in error
    command("create", "spring", "--domain", "simplex:3", "--horizon", "1000")
    (place / "deep.jsonl").write_text('{"id": ' + "[" * 100_000 + "\n")
    code, _, error = command("tell", "spring", "--file", place / "deep.jsonl")
    assert code == 2
    assert "line 1: it is not a JSON object" in error


def test_arguments_of_any_bytes_end_in_words(place):
    """Not in a traceback: neither a name nor a path that is no text."""
    for words in ([b"status", b"\xff"], [b"status", b"spring", b"--storage", b"sqlite:///\xff/x.db"]):
        done = subprocess.run([sys.executable.encode(), b"-m", b"sottovoce", b"study", *words], capture_output=True)
        assert done.returncode == 2
        assert done.stderr.startswith(b"error:")
        assert b"Traceback" not in done.stderr
