"""One set of options: what one command takes, the others take, under the same name, with the same words and errors."""

from dataclasses import fields
from typing import Literal, get_args, get_origin

import pytest
import typer

import sottovoce as sv
from sottovoce.cli.app import app
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
    shared = set(OPTIONS)
    create = {name: one for name, one in options_of("study", "create").items() if name in shared}
    assert set(create) == shared
    for name in ("patience", "deadline", "seed"):  # which no plan depends on
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


def test_choices_reach_the_plan(command):
    chosen = ("--exploration", "frames", "--choose", "batch_size=8", "--choose", "radius=0.2")
    assert command(*CREATE, *SMALL, "--no-privacy", *chosen)[0] == 0
    with sv.Study.open("sqlite:///study.db", name="spring") as study:
        assert (study.plan.batch_size, study.plan.radius) == (8, 0.2)
