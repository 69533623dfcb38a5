"""Studies with segments from a shell."""

import json

from sampling import every

SMALL = ("--domain", "hypersimplex:6,2", "--horizon", "1k", "--losses", "linear", "--integral")


def test_actions_and_recommendations_are_for_segments(found, command, place):
    found("create", "spring", *SMALL, "--segments", "phone,desktop")
    (one,) = found("ask", "spring", "--segment", "phone")["actions"]
    found("tell", "spring", one["id"], 0.5)
    assert found("status", "spring")["segments"] == [{"segment": "phone", "events": 1}]
    (place / "whom.txt").write_text('desktop\n\n{"segment": "phone"}\ndesktop\n')
    _, out, _ = command("ask", "spring", "--segments", "whom.txt")
    ids = [json.loads(line)["id"] for line in out.splitlines()]
    desktop, phone, again = (int(each.split(".")[1], 16) for each in ids)
    assert again == desktop + 1  # slots of one round
    assert phone == int(one["id"].split(".")[1], 16) + 1
    assert found("recommend", "spring", "--segment", "desktop")["rounds"] == 0
    assert [each["segment"] for each in found("recommend", "spring")["segments"]] == ["phone", "desktop"]
    assert found("verify", "spring")["ok"]
    found("export", "spring", "--posterior", "phone.posterior", "--segment", "phone")
    assert not found("create", "spring", *SMALL, "--segments", "phone,desktop")["created"]


def test_factors_are_written_level_by_level(found, command):
    found("create", "spring", *SMALL, "--factor", "device=phone,desktop", "--factor", "hour=8,20")
    found("ask", "spring", "--segment", "phone,20")
    found("ask", "spring", "--segment", "hour=20, device=phone", "--size", "2")
    assert found("status", "spring")["segments"] == [{"segment": ["phone", "20"], "events": 3}]


@every(
    ("arguments", "words"),
    [
        (("ask", "spring", "--segment", "watch"), "segment must be one of 'phone', 'desktop', got 'watch'"),
        (("ask", "spring"), "segment is missing"),
        (("ask", "spring", "--segments", "nowhere.txt"), "nowhere.txt cannot be read"),
        (("ask", "spring", "--segments", "whom.txt"), "line 2: segment must be one of"),
        (("ask", "spring", "--segments", "whom.txt", "--size", "3"), "leave --segment, --size and --round out"),
        (("recommend", "spring", "--segment", "watch"), "got 'watch'"),
        (("ask", "plain", "--segment", "phone"), "'plain' has none"),
        (("export", "spring", "--segment", "phone"), "needs --posterior"),
        (("create", "other", *SMALL, "--factor", "device"), "--factor must be like device=phone,desktop"),
        (("create", "spring", *SMALL), "segments is"),
    ],
)
def test_what_is_wrong_is_one_line(arguments, words, found, command, place):
    found("create", "spring", *SMALL, "--segments", "phone,desktop")
    found("create", "plain", *SMALL)
    (place / "whom.txt").write_text("phone\nwatch\n")
    code, _, err = command(*arguments)
    assert code != 0
    assert words in err
    assert len(err.splitlines()) == 1
