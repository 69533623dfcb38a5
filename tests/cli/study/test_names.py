"""Names from a shell: given once, when a study is created, and spoken ever after."""

import json

import pytest

import sottovoce as sv
from sottovoce.domains.specification import specify

DRINKS = ["tea", "coffee", "cocoa", "milk", "juice", "water"]
SMALL = ("--domain", "hypersimplex:6,2", "--horizon", "1k", "--seed", "3", "--integral")


def named(x):
    return [name for name, share in zip(DRINKS, x, strict=True) if share]


@pytest.fixture
def file(place):
    """A file with a name on each line, as editors of all systems write it."""
    (place / "drinks.txt").write_text("\ufeff" + "\r\n".join(DRINKS) + "\r\n\r\n", encoding="utf-8")
    return "drinks.txt"


@pytest.mark.parametrize("written", ["tea,coffee, cocoa,milk,juice,water", "drinks.txt"])
def test_what_is_asked_and_recommended_is_named(found, refused, command, file, written):
    found("create", "menu", *SMALL, "--labels", written)
    (action,) = found("ask", "menu")["actions"]
    assert action["chosen"] == named(action["x"])
    line = json.loads(command("ask", "menu", "--lines")[1])
    assert line["chosen"] == named(line["x"])
    _, words, _ = command("ask", "menu", "--text")
    assert words.split("  ")[1].strip() in {f"{one}, {other}" for one in DRINKS for other in DRINKS}
    home = found("recommend", "menu")
    assert home["chosen"] == named(home["x"])
    assert f"decision  {', '.join(home['chosen'])}\n" in command("recommend", "menu", "--text")[1]
    assert found("export", "menu")["labels"] == DRINKS
    assert set(found("status", "menu")["chosen"]) <= set(DRINKS)
    assert "coordinate 0 is 'tea', not 'water'" in refused(
        "create", "menu", *SMALL, "--labels", ",".join(reversed(DRINKS))
    )


def test_a_domain_from_a_file_brings_its_names(found, place):
    menu = sv.domains.MatroidBases(sv.domains.matroids.Partition({"hot": ["tea", "coffee"], "cold": ["juice"]}, 1))
    (place / "domain.json").write_text(json.dumps(specify(menu)))
    found("create", "menu", "--domain-json", "domain.json", "--horizon", "1k", "--integral")
    assert "juice" in found("ask", "menu")["actions"][0]["chosen"]
    found("create", "other", "--domain-json", "domain.json", "--horizon", "1k", "--integral", "--labels", "a,b,c")
    assert "c" in found("ask", "other")["actions"][0]["chosen"]
