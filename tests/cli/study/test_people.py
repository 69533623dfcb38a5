"""People who are counted, from a shell."""

import json

SMALL = ("--domain", "hypersimplex:6,2", "--horizon", "1k", "--losses", "linear", "--integral", "--contributions", "2")


def test_an_action_for_each_person_until_all_their_losses_are_given(found, command, place):
    found("create", "spring", *SMALL)
    (place / "people.txt").write_text('ada\ngrace\n\nada\n{"person": "ada"}\n')
    _, out, _ = command("ask", "spring", "--people", "people.txt")
    assert [json.loads(line)["wants_loss"] for line in out.splitlines()] == [True, True, True, False]
    code, _, err = command("ask", "spring")
    assert code != 0
    assert "person is missing" in err
    code, _, err = command("erase-people", "spring")
    assert code != 0
    assert "pass --yes" in err
    assert found("erase-people", "spring", "--yes")["erased"] == 2
    assert found("verify", "spring")["ok"]


def test_people_may_be_of_segments_and_a_wrong_line_is_named_but_not_shown(found, command, place):
    found("create", "spring", *SMALL, "--segments", "phone,desktop")
    (place / "people.txt").write_text('{"person": "ada", "segment": "phone"}\ngrace\n')
    command("ask", "spring", "--people", "people.txt", "--segment", "desktop")
    assert {one["segment"]: one["events"] for one in found("status", "spring")["segments"]} == {
        "phone": 1,
        "desktop": 1,
    }
    for wrong in ('{"person": 7, "name": "ada"}', '{"name": "ada"}', "{ada"):
        (place / "people.txt").write_text(f"grace\n{wrong}\n")
        code, _, err = command("ask", "spring", "--people", "people.txt", "--segment", "phone")
        assert code != 0
        assert "line 2: it is not a person" in err
        assert "ada" not in err
