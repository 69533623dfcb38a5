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
    found = json.loads(command(*asked, "--json")[1])
    assert found["forecast"]["horizon"] == 200
