"""Actions from a shell, for segments and for people who are counted; what cannot be printed is forgotten."""

import json
import os
import signal
import subprocess
import sys

import pytest

import sottovoce as sv
from sampling import every

SLATES = ("--domain", "hypersimplex:6,2", "--horizon", "1k", "--losses", "linear", "--integral")


def ask(*arguments, **options):
    """The command in a process of its own, as a shell would start it."""
    command = [sys.executable, "-m", "sottovoce", "study", "ask", *arguments]
    return subprocess.Popen(command, stderr=subprocess.PIPE, **options)


@pytest.fixture
def wide(place):
    """A study whose actions are lines of 20,000 bytes: a pipe holds three of them, and a part of the next."""
    making = {"domain": sv.domains.Ball(1000), "horizon": 10**5, "loss_range": (0, 1), "privacy": sv.NoPrivacy()}
    sv.Study.open("sqlite:///study.db", name="wide", **making).close()


@pytest.mark.parametrize("lines", [True, False])
def test_what_a_reader_that_goes_away_did_not_get_is_forgotten(lines, wide, found):
    with ask("wide", "--size", "16", *["--lines"] * lines, stdout=subprocess.PIPE) as asking:
        first = asking.stdout.readline() if lines else asking.stdout.read(100)
        asking.stdout.close()
        err = asking.stderr.read().decode()
    assert asking.returncode == 1
    status = found("status", "wide")
    assert status["forgotten"] + status["outstanding"] == status["asked"] == 16
    assert f"{status['forgotten']} actions were not printed: they are forgotten" in err
    assert "Traceback" not in err
    if lines:
        assert 1 <= status["outstanding"] < 16
        assert found("outstanding", "wide", "--limit", 1)["actions"][0]["id"] == json.loads(first)["id"]
    else:  # half a JSON object is of no use to anybody
        assert status["outstanding"] == 0


def test_an_interrupt_forgets_what_was_not_read(wide, found):
    with ask("wide", "--size", "16", stdout=subprocess.PIPE) as asking:
        asking.stdout.read(1)  # it waits for room in the pipe now, or will
        asking.send_signal(signal.SIGINT)
        err = asking.stderr.read().decode()
    assert asking.returncode == 130
    assert "16 actions were not printed: they are forgotten" in err
    assert found("status", "wide")["outstanding"] == 0


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a disk that is always full")
def test_a_full_disk_or_no_output_leaves_nothing_outstanding(wide, found):
    with open("/dev/full", "wb") as full, ask("wide", "--round", stdout=full) as asking:
        assert b"forgotten" in asking.stderr.read()
    assert asking.returncode == 1
    shell = f"{sys.executable} -m sottovoce study ask wide >&-"
    ended = subprocess.run(["sh", "-c", shell], stderr=subprocess.PIPE, text=True)
    assert (ended.returncode, "nothing was asked" in ended.stderr) == (1, True)
    assert found("status", "wide")["outstanding"] == 0


def test_one_command_is_one_call_for_patience(found, command, place):
    """However long the list, none of its own positions count against its rounds."""
    found("create", "short", "--domain", "ball:3", "--horizon", "1000", "--patience", "5")
    _, out, _ = command("ask", "short", "--size", 600, "--lines")
    lines = [json.dumps({**json.loads(line), "loss": 0.5}) for line in out.splitlines()]
    (place / "losses.jsonl").write_text("\n".join(lines))
    assert found("tell", "short", "--file", "losses.jsonl")["accepted"] == 600
    assert found("status", "short")["forgotten"] == 0


# ---------------------------------------------------------------------- for whom


def test_actions_and_recommendations_are_for_segments(found, command, place):
    found("create", "spring", *SLATES, "--segments", "phone,desktop")
    (one,) = found("ask", "spring", "--segment", "phone")["actions"]
    found("tell", "spring", one["id"], 0.5)
    assert found("status", "spring")["segments"] == [{"segment": "phone", "events": 1}]
    (place / "whom").write_text("".join(f'{{"segment": "{one}"}}\n\n' for one in ("desktop", "phone", "desktop")))
    _, out, _ = command("ask", "spring", "--for", "whom")
    ids = [json.loads(line)["id"] for line in out.splitlines()]
    desktop, phone, again = (int(each.split(".")[1], 16) for each in ids)
    assert again == desktop + 1  # slots of one round
    assert phone == int(one["id"].split(".")[1], 16) + 1
    assert found("recommend", "spring", "--segment", "desktop")["rounds"] == 0
    assert [each["segment"] for each in found("recommend", "spring")["segments"]] == ["phone", "desktop"]
    found("export", "spring", "--posterior", "phone.posterior", "--segment", "phone")
    assert not found("create", "spring", *SLATES, "--segments", "phone,desktop")["created"]


def test_factors_are_written_level_by_level(found, place, command):
    found("create", "spring", *SLATES, "--factor", "device=phone,desktop", "--factor", "hour=8,20")
    found("ask", "spring", "--segment", "phone,20")
    found("ask", "spring", "--segment", "hour=20, device=phone", "--size", "2")
    (place / "whom").write_text('{"segment": ["phone", "20"]}\n')
    command("ask", "spring", "--for", "whom")
    assert found("status", "spring")["segments"] == [{"segment": ["phone", "20"], "events": 4}]


def test_an_action_for_each_person_until_all_their_losses_are_given(found, command, place):
    found("create", "spring", *SLATES, "--contributions", "2", "--segments", "phone,desktop")
    people = [{"person": "ada"}, {"person": "grace", "segment": "phone"}, {"person": "ada"}, {"person": "ada"}]
    (place / "people").write_text("\n".join(map(json.dumps, people)))
    _, out, _ = command("ask", "spring", "--for", "people", "--segment", "desktop")
    assert [json.loads(line)["wants_loss"] for line in out.splitlines()] == [True, True, True, False]
    events = {one["segment"]: one["events"] for one in found("status", "spring")["segments"]}
    assert events == {"desktop": 3, "phone": 1}
    assert "person is missing" in command("ask", "spring", "--segment", "phone")[2]
    assert "pass --yes" in command("erase-people", "spring")[2]
    assert found("erase-people", "spring", "--yes")["erased"] == 2
    assert found("verify", "spring")["ok"]


@every(
    ("arguments", "lines", "words"),
    [
        (("ask", "spring", "--segment", "watch"), "", "segment must be one of 'phone', 'desktop', got 'watch'"),
        (("ask", "spring"), "", "segment is missing"),
        (("ask", "spring", "--for", "nowhere"), "", "there is no file nowhere"),
        (("ask", "spring", "--for", "whom"), '{"segment": "phone"}\n{"segment": "watch"}', "line 2: segment must be"),
        (("ask", "spring", "--for", "whom"), '\n{"person": 7, "name": "ada"}', "line 2: it is not a JSON object such"),
        (("ask", "spring", "--for", "whom"), '{"name": "ada"}', "line 1: it is not a JSON object such"),
        (("ask", "spring", "--for", "whom"), "{ada", "line 1: it is not a JSON object such"),
        (("ask", "spring", "--for", "whom", "--size", "3"), "", "--size, --round and --for exclude each other"),
        (("ask", "plain", "--segment", "phone"), "", "'plain' has none"),
        (("ask", "plain", "--for", "whom"), '{"segment": "phone"}', "line 1: 'plain' has no segments"),
        (("export", "spring", "--segment", "phone"), "", "of one --segment"),
        (("create", "other", *SLATES, "--factor", "device"), "", "--factor must be like device=phone,desktop"),
        (("create", "spring", *SLATES), "", "segments is"),
    ],
)
def test_what_is_wrong_is_one_line_that_names_no_person(arguments, lines, words, found, refused, place):
    found("create", "spring", *SLATES, "--segments", "phone,desktop")
    found("create", "plain", *SLATES)
    (place / "whom").write_text(lines)
    err = refused(*arguments)
    assert words in err
    assert "ada" not in err
