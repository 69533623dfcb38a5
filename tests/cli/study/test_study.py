"""Studies from a shell: made, looked at, checked and restored; errors of use are one line."""

import gc
import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

import sottovoce as sv
from sampling import every

SECRET = 0.123456789  # a loss that nothing may echo

SMALL = ("--domain", "hypersimplex:6,2", "--horizon", "1k", "--seed", "3")


GUARANTEES = [
    ((), sv.PureDP(1.0)),
    (("--epsilon", "0.5", "--contributions", "2"), sv.PureDP(0.5, contributions=2)),
    (("--epsilon", "2", "--delta", "1e-6"), sv.ApproxDP(2.0, 1e-6)),
    (("--rho", "0.1"), sv.ZCDP(0.1)),
    (("--local", "--epsilon", "2"), sv.LocalDP(2.0)),
    (("--no-privacy",), sv.NoPrivacy()),
]


@every(("options", "expected"), GUARANTEES)
def test_every_guarantee_can_be_asked_for(options, expected, found):
    name = " ".join(["with", *options])
    found("create", name, *SMALL, *options)
    with sv.Study.open("sqlite:///study.db", name=name, privacy=expected) as study:  # refused if it is another
        assert study.horizon == 1000


def test_creating_again_changes_nothing_and_creating_otherwise_is_refused(found, refused):
    assert found("create", "spring", *SMALL)["created"] is True
    assert found("create", "spring", *SMALL)["created"] is False
    assert "was created otherwise: domain is Hypersimplex(6, 2), not Ball(3" in refused(
        "create", "spring", "--domain", "ball:3", "--horizon", "1k"
    )


CREATE, BOX = ("create", "other"), ("--domain", "box:2", "--horizon", "400")
BAD_USE = [
    ((*CREATE, "--domain", "cube:3"), "domain must be written like one of"),
    ((*CREATE, *BOX, "--domain-json", "x.json"), "pass either --domain or --domain-json"),
    ((*CREATE, *BOX, "--horizon", "soon"), "horizon must be a whole number"),
    ((*CREATE, *BOX, "--epsilon", "1", "--rho", "1"), "--epsilon and --rho exclude each other"),
    ((*CREATE, *BOX, "--local", "--delta", "1e-6"), "--delta and --local exclude each other"),
    ((*CREATE, *BOX, "--no-privacy", "--contributions", "2"), "--contributions and --no-privacy exclude each other"),
    ((*CREATE, *BOX, "--losses", "cubic"), "losses must be one of 'convex', 'linear', got 'cubic'"),
    ((*CREATE, *BOX, "--choose", "batchsize=4"), "did you mean batch_size?"),
    ((*CREATE, *BOX, "--choose", "batch_size"), "choose 'batch_size' must be written like key=value"),
    ((*CREATE, *BOX, "--choose", "losses=linear"), "losses has an option of its own: --losses"),
    ((*CREATE, *BOX, "--choose", "radius=0.1", "--choose", "radius=0.2"), "radius is chosen twice"),
    ((*CREATE, *BOX, "--loss-range", "1"), "loss-range must be two numbers such as 0,1"),
    ((*CREATE, *BOX, "--features", "none.csv"), "there is no file none.csv"),
    ((*CREATE, *BOX, "--prior", "none.posterior"), "there is no file none.posterior"),
    (("create", "a", "--domain", "ball:3", "--plan", "paper"), "keeps un-noised sums"),
    (("ask", "spring", "--size", "2", "--round"), "--size, --round and --for exclude each other"),
    (("ask", "spring", "--size", "2000"), "1000 of horizon=1000 are left"),
    (("verify", "autumn"), "no such study"),
    (("status", "sprng"), "it has 'spring'"),
    (("status", "sprng"), "; see `sottovoce study create`"),
    (("status", "spring", "--storage", "mysql://here"), "url must be like"),
    (("status", "spring", "--storage", "sqlite:///none.db"), "none.db: check the path, or create the study first"),
    (("tell", "spring"), "pass ID and LOSS, or --file"),
    (("tell", "spring", "1.0.0.ab", SECRET), "the id is not one that was handed out here"),
    (("tell", "spring", "--file", "none.csv"), "error: there is no file none.csv"),
    (("create", "a", "--domain-json", "none.json"), "error: there is no file none.json"),
    (("tell", "spring", SECRET, "1.0.0.ab"), "the loss is not a number"),
    (("tell", "spring", "1.0.0.ab", f"--{SECRET}"), "the loss is not a number"),
    (("tell", "spring", "--file", "x.csv", "--refused", "maybe"), "refused must be one of"),
    (("tell", "spring", "a", "1", "--repeat", "maybe"), "repeat"),
    (("restore", "spring"), "pass --yes"),
    (("change", "spring"), "pass --domain (with --labels), --patience or --deadline"),
    (("change", "spring", "--patience", "soon"), "patience must be a whole number such as 0, 500 or 10k, auto or none"),
    (("change", "spring", "--deadline", "soon"), "deadline must be a number of seconds, or none, got 'soon'"),
    (("forget", "spring"), "pass ID..., or --file: one of them"),
    (("export", "spring", "--posterior", "x", "--out", "y"), "leave --out out"),
    *(
        (("create", "menu", *SMALL, "--labels", written), words)
        for written, words in (
            ("tea,coffee", "labels must be 6 of Hypersimplex(6, 2), got 2"),
            ("nowhere.txt", "there is no file nowhere.txt"),
            (".", ". cannot be read"),
            ("bytes.txt", "bytes.txt does not hold names, one on each line"),
        )
    ),
]


@every(("arguments", "words"), BAD_USE)
def test_bad_use_is_one_line_and_code_2(arguments, words, refused, found, place):
    found("create", "spring", *SMALL)
    (place / "bytes.txt").write_bytes(b"\xff\xfe\x80")
    assert words in refused(*arguments)
    assert [(one["name"], one["asked"]) for one in found("list")["studies"]] == [("spring", 0)]  # nothing is done


def test_a_storage_must_be_named_and_the_option_wins_over_the_environment(refused, found, monkeypatch):
    found("create", "spring", *SMALL, "--storage", "sqlite:///other.db")
    assert os.path.exists("other.db")
    assert not os.path.exists("study.db")
    monkeypatch.delenv("SOTTOVOCE_STORAGE")
    assert "SOTTOVOCE_STORAGE" in refused("status", "spring")


def test_an_export_is_printed_or_written(found):
    found("create", "spring", *SMALL)
    actions = found("ask", "spring", "--round")["actions"]
    found("forget", "spring", *(one["id"] for one in actions))
    assert found("export", "spring", "--out", "a.json") == {"study": "spring", "written": "a.json", "rounds": 1}
    assert json.loads(Path("a.json").read_text()) == found("export", "spring")


def test_verify_ends_with_code_1_and_the_faults(command, found):
    found("create", "spring", *SMALL)
    found("ask", "spring")
    connection = sqlite3.connect("study.db")
    with connection:
        connection.execute("UPDATE sottovoce_books SET version = 7")
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
    assert restored["incarnation"] > 1
    assert restored["outstanding"] == 0
    assert "before the storage was restored" in command("tell", "spring", other["id"], SECRET)[2]
    assert found("verify", "spring")["ok"]


@every("name", ["\udcff", "a\x00b", "two\nlines", "x" * 201])
@every("words", [("create", "--domain", "simplex:3", "--horizon", "1000"), ("status",)])
def test_a_name_that_cannot_be_stored_is_an_error_of_use(name, words, command, place):
    (place / "study.db").touch()
    code, out, error = command(words[0], name, *words[1:])
    assert (code, out) == (2, "")
    assert "name must be 1 to 200 letters" in error
    error.encode("ascii")


@pytest.mark.parametrize("text", ["[" * 100_000, '{"made": ["domains", "Product", {"factors": [' * 30_000])
def test_json_that_is_nested_too_deeply_is_an_error_of_use(text, refused, place, request):
    gc.collect()  # whatever ran before: at the deepest point nothing can be cleared away
    gc.disable()
    request.addfinalizer(gc.enable)
    (place / "deep.json").write_text(text)
    assert "does not hold a domain" in refused(
        "create", "spring", "--domain-json", place / "deep.json", "--horizon", "1000"
    )


def test_arguments_of_any_bytes_end_in_words(place):
    """Not in a traceback: neither a name nor a path that is no text."""
    for words in ([b"status", b"\xff"], [b"status", b"spring", b"--storage", b"sqlite:///\xff/x.db"]):
        done = subprocess.run([sys.executable.encode(), b"-m", b"sottovoce", b"study", *words], capture_output=True)
        assert done.returncode == 2
        assert done.stderr.startswith(b"error:")
        assert b"Traceback" not in done.stderr


def test_a_decision_is_taken_home_and_another_study_begins_with_what_was_believed_and_with_features(
    refused, command, found, place
):
    options = (*SMALL, "--losses", "linear", "--exploration", "posterior", "--no-privacy")
    found("create", "spring", *options)
    with sv.Study.open("sqlite:///study.db", name="spring") as study:
        actions = study.ask(1000)
        study.tell(actions.ids, actions.x @ [0.4, 0.1, 0.4, 0.4, 0.1, 0.4])
    answer = found("recommend", "spring")
    assert answer["x"] == [0.0, 1.0, 0.0, 0.0, 1.0, 0.0]
    assert "how sure" in command("recommend", "spring", "--text")[1]
    assert found("export", "spring", "--posterior", "spring.posterior")["written"] == "spring.posterior"
    assert sv.Posterior.load(place / "spring.posterior").rounds == answer["rounds"] > 0
    (place / "items.csv").write_text("1,0\n0,1\n1,0\n1,0\n0,1\n1,0\n")
    more = ("--prior", "spring.posterior", "--features", "items.csv")
    found("create", "summer", *options, *more)
    with sv.Study.open("sqlite:///study.db", name="summer") as study:
        assert study.ask().x.tolist() == answer["x"]
    assert found("create", "summer", *options, *more)["created"] is False
    assert "features is Features(6 x 2" in refused("create", "summer", *options)
    (place / "items.csv").write_text("1,0\n0,one\n")
    assert "items.csv does not hold features" in refused("create", "autumn", *options, "--features", "items.csv")
