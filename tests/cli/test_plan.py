import json

import pytest

import sottovoce as sv
from sampling import every
from sottovoce.rehearsal import rehearsing


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Few points, which say as much here."""
    monkeypatch.setattr(rehearsing, "WORK", 150.0)


COMMAND = ("plan", "--text")
LINEAR = {"losses": "linear", "integral": True}


@every(
    "options, made",
    [
        ((), {}),
        (("--plan", "worst-case", "--lipschitz", "0.5"), {"plan": "worst-case", "lipschitz": 0.5}),
        (("--plan", "paper"), {"plan": "paper"}),
        (("--losses", "linear", "--integral", "--choose", "probes=5"), {**LINEAR, "probes": 5}),
    ],
)
def test_it_says_what_python_says(command, options, made):
    code, out, _ = command("--domain", "hypersimplex:6,2", "--horizon", "10k", "--no-rehearse", *options)
    expected = sv.plan(sv.domains.Hypersimplex(6, 2), 10_000, (0.0, 1.0), sv.PureDP(1.0), rehearse=False, **made)
    assert (code, out.split()) == (0, str(expected).split())


def test_a_plan_is_rehearsed_and_is_plain_data(command):
    asked = ("--domain", "simplex:3", "--horizon", "200", "--losses", "linear", "--integral")
    assert "Forecast for 200 events" in command(*asked)[1]
    found = json.loads(command(*asked, "--json", "--contrast", "0.1")[1])
    assert found["forecast"]["horizon"] == 200


@every(
    ("arguments", "words"),
    [
        (("--domain", "cube:3"), "cube:3"),
        (("--horizon", "soon"), "horizon must be a whole number"),
        (("--epsilon", "0"), "epsilon must be greater than 0"),
        (("--delta", "2"), "delta must be"),
        (("--losses", "cubic"), "losses must be one of"),
        (("--plan", "best"), "plan must be one of"),
        (("--loss-range", "1"), "loss-range must be two numbers"),
        (("--domain", "ball:3", "--play", "around", "--integral"), "integral=True needs play='inside'"),
        ((), "pass either --domain or --domain-json"),
    ],
)
def test_errors_of_use_are_one_line_and_code_2(command, arguments, words):
    code, out, err = command(*arguments)
    assert (code, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1
