"""One set of options: what one command takes, the others take, under the same name, with the same words and errors."""

from dataclasses import fields
from typing import Literal, get_args, get_origin

import pytest
import typer

import sottovoce as sv
from sampling import every
from sottovoce.cli.app import app
from sottovoce.cli.options import SHARED
from sottovoce.options import OPTIONS
from sottovoce.plans.options import CHOICES as ALLOWED
from sottovoce.plans.options import DecisionFacts
from sottovoce.service.endpoints.models import Create

CREATE = ("study", "create", "spring")


@pytest.fixture(autouse=True)
def place(monkeypatch):
    monkeypatch.setenv("SOTTOVOCE_STORAGE", "sqlite:///study.db")


def options_of(*words):
    found = typer.main.get_command(app)
    for word in words:
        found = found.get_command(None, word)
    return {one.name: (one.opts, one.help) for one in found.params}


def test_the_commands_have_the_same_options_with_the_same_words():
    shared = set(SHARED)
    create = {name: one for name, one in options_of("study", "create").items() if name in shared}
    assert set(create) == shared
    for name in ("patience", "seed"):  # which no plan depends on
        del create[name]
    assert {name: one for name, one in options_of("plan").items() if name in shared} == create


def test_every_option_is_declared_once_for_the_constructor_the_command_line_and_http():
    """Names, and what they may be: as the constructor checks them."""
    assert {one.name for one in fields(DecisionFacts)} - {"segments"} <= OPTIONS.keys()
    for name, member in Create.model_fields.items():
        words = [one for part in (member.annotation, *get_args(member.annotation)) for one in literals(part)]
        if name in ALLOWED and words:
            assert tuple(words) == OPTIONS[name].choices == ALLOWED[name]


def literals(kind):
    return get_args(kind) if get_origin(kind) is Literal else ()


SMALL = ("--domain", "box:2", "--horizon", "400")


@every(
    ("options", "error"),
    [
        (("--domain", "cube:3"), "domain must be written like one of"),
        ((*SMALL, "--domain-json", "x.json"), "pass either --domain or --domain-json"),
        ((*SMALL, "--horizon", "soon"), "horizon must be a whole number"),
        ((*SMALL, "--epsilon", "1", "--rho", "1"), "--epsilon and --rho exclude each other"),
        ((*SMALL, "--local", "--delta", "1e-6"), "--delta and --local exclude each other"),
        ((*SMALL, "--no-privacy", "--contributions", "2"), "--contributions and --no-privacy exclude each other"),
        ((*SMALL, "--losses", "cubic"), "losses must be one of 'convex', 'linear', got 'cubic'"),
        ((*SMALL, "--plan", "best"), "plan must be one of 'auto'"),
        ((*SMALL, "--mechanism", "magic"), "mechanism must be one of 'probe-sums'"),
        ((*SMALL, "--exploration", "magic"), "exploration must be one of 'posterior'"),
        ((*SMALL, "--exploration", "sphere", "--mechanism", "probe-sums"), "does not fit exploration 'sphere'"),
        ((*SMALL, "--choose", "batchsize=4"), "did you mean batch_size?"),
        ((*SMALL, "--choose", "batch_size"), "choose 'batch_size' must be written like key=value"),
        ((*SMALL, "--choose", "losses=linear"), "losses has an option of its own: --losses"),
        ((*SMALL, "--choose", "radius=0.1", "--choose", "radius=0.2"), "radius is chosen twice"),
        ((*SMALL, "--loss-range", "1"), "loss-range must be two numbers such as 0,1"),
        ((*SMALL, "--lipschitz", "-1"), "lipschitz must be greater than 0"),
        ((*SMALL, "--features", "none.csv"), "there is no file none.csv"),
        ((*SMALL, "--prior", "none.posterior"), "there is no file none.posterior"),
    ],
)
def test_errors_name_the_option_and_nothing_is_done(options, error, command):
    code, out, err = command(*CREATE, *options)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert error in err
    assert command("study", "status", "spring")[0] == 2


def test_choices_reach_the_plan(command):
    chosen = ("--exploration", "frames", "--choose", "batch_size=8", "--choose", "radius=0.2")
    assert command(*CREATE, *SMALL, "--no-privacy", *chosen)[0] == 0
    with sv.Study.open("sqlite:///study.db", name="spring") as study:
        assert (study.plan.batch_size, study.plan.radius) == (8, 0.2)
