"""From a shell, too: what is outstanding can be listed and forgotten, and how long rounds wait can be changed."""

import json
from pathlib import Path

import pytest

import sottovoce as sv
from sampling import every

URL = "sqlite:///study.db"


@pytest.fixture
def spring(place):
    """A study that has room for many actions, in rounds of 8."""
    making = {"domain": sv.domains.Ball(3), "horizon": 10**6, "loss_range": (0, 1), "privacy": sv.NoPrivacy()}
    sv.Study.open(URL, name="spring", plan="worst-case", batch_size=8, **making).close()


def test_what_is_outstanding_is_listed(spring, found, command):
    ids = [one["id"] for one in found("ask", "spring", "--size", 12)["actions"]]
    found("tell", "spring", ids[1], 0.5)
    listed = found("outstanding", "spring")
    assert listed["outstanding"] == 11
    assert listed["actions"][:2] == [{"id": ids[0], "round": 0, "age": 11}, {"id": ids[2], "round": 0, "age": 9}]
    few = found("outstanding", "spring", "--limit", 2)
    assert (few["outstanding"], [one["id"] for one in few["actions"]]) == (11, [ids[0], ids[2]])
    _, out, _ = command("outstanding", "spring", "--lines")
    assert [json.loads(line)["id"] for line in out.splitlines()] == [ids[0], *ids[2:]]
    _, out, _ = command("outstanding", "spring", "--text", "--limit", 1)
    assert out.startswith(
        f"{ids[0]}  round 0, 11 asked since\n11 losses are outstanding\n  round 0 waits for 7 of 8 losses"
    )
    assert "waiting  round 0 waits for 7 of 8 losses; it closes" in command("status", "spring", "--text")[1]
    assert command("outstanding", "spring", "--limit", -1)[0] == 2


def test_ids_to_forget_come_one_a_line_or_as_they_are_listed(spring, found, command):
    ids = [one["id"] for one in found("ask", "spring", "--size", 30)["actions"]]
    found("tell", "spring", ids[1], 0.5)
    Path("ids").write_text("\n".join(["", *ids[:12], ""]))
    assert found("forget", "spring", "--file", "ids") == {"study": "spring", "closed": 11, "skipped": 1}
    assert found("forget", "spring", *ids[:3]) == {"study": "spring", "closed": 0, "skipped": 3}
    Path("lost.jsonl").write_text(command("outstanding", "spring", "--lines", "--limit", 10)[1])
    assert found("forget", "spring", "--file", "lost.jsonl")["closed"] == 10
    assert found("status", "spring")["forgotten"] == 21


@every("bad", ["0.123456789", '{"id": 7}', "[" * 9999])
def test_with_a_line_that_is_no_id_nothing_is_forgotten_and_it_is_not_shown(bad, spring, found, refused):
    ids = [one["id"] for one in found("ask", "spring", "--size", 4)["actions"]]
    Path("ids").write_text("\n".join([*ids[:2], bad, ids[2]]))
    err = refused("forget", "spring", "--file", "ids")
    assert "the id is not one that was handed out here" in err
    assert bad not in err
    assert found("status", "spring")["forgotten"] == 0


def test_patience_and_deadline_are_set_later(found, refused, command):
    found("create", "spring", "--domain", "ball:3", "--horizon", "10k", "--patience", "none", "--deadline", "60")
    status = found("status", "spring")
    assert (status["patience"], status["deadline"]) == (None, 60.0)
    changed = {"study": "spring", "domain": "Ball(3, radius=1)", "patience": 2000, "deadline": 60.0}
    assert found("change", "spring", "--patience", "2k") == changed
    assert found("change", "spring", "--patience", "auto", "--deadline", "none")["patience"] == 1000
    assert found("change", "spring", "--patience", "0")["patience"] == 0
    text = command("change", "spring", "--deadline", "90", "--text")[1]
    assert text == "Ball(3, radius=1); patience 0 events, deadline 90.0 seconds\n"
    assert "patience is 0, not 7" in refused(
        "create", "spring", "--domain", "ball:3", "--horizon", "10k", "--patience", "7"
    )


def test_a_catalogue_changes_from_a_shell(found, refused):
    slates = ("--feedback", "items", "--loss-range", "-1,0", "--integral", "--horizon", "10k")
    found("create", "spring", "--domain", "hypersimplex:3,2", "--labels", "tea,milk,chai", *slates)
    fresh = ("--domain", "hypersimplex:4,2", "--labels", "tea,milk,mate,juice")
    assert found("change", "spring", *fresh)["domain"] == "Hypersimplex(4, 2)"
    assert set(found("ask", "spring", "--json")["actions"][0]["chosen"]) <= {"tea", "milk", "mate", "juice"}
    assert "has no names" in refused("change", "spring", "--domain", "hypersimplex:4,2")
