"""The arguments of an optimizer stand in one place, and everything that takes them takes the same."""

import inspect
from dataclasses import fields, replace

import pytest

import sottovoce as sv
from sampling import every
from sottovoce.auditing import Configuration
from sottovoce.learning.configuration import BanditConfiguration
from sottovoce.plans import EXPLORATIONS
from sottovoce.plans.choosing import _COMMON
from sottovoce.plans.options import DecisionFacts, OptimizerOptions, PlanChoices
from sottovoce.plans.problem import Problem
from sottovoce.privacy import MECHANISMS

FACTS = {one.name for one in fields(DecisionFacts)}
GIVEN = {"horizon": 1000, "loss_range": (0.0, 1.0), "privacy": sv.PureDP(1.0)}


def test_type_checkers_know_the_arguments_and_choices_that_there_are():
    choices = set(_COMMON).union(*(kind.choices for kind in EXPLORATIONS.values()))
    choices |= {name for one in MECHANISMS.values() for name in one.options}
    assert set(PlanChoices.__annotations__) == choices
    assert set(OptimizerOptions.__annotations__) - choices == FACTS | {"plan"}


@every("taker", [sv.PrivateBandit, sv.Study.open, sv.plan, sv.minimize])
def test_help_shows_every_argument_by_name_with_its_default(taker):
    shown = inspect.signature(taker).parameters
    for one in fields(DecisionFacts):
        assert shown[one.name].default == one.default
    assert shown["plan"].default == "auto"
    assert shown["choices"].kind is inspect.Parameter.VAR_KEYWORD


def test_every_argument_is_described():
    described = inspect.getdoc(sv.PrivateBandit)
    for name in inspect.signature(sv.PrivateBandit).parameters:
        assert f"\n{name}" in described or f", {name}\n" in described or f"**{name}" in described


@every("name, value", [("play", "around"), ("losses", "linear"), ("integral", True)])
def test_a_fact_of_the_decision_reaches_the_problem_that_is_planned_for_and_audited(name, value):
    made = BanditConfiguration(sv.domains.Ball(2), 1000, (0.0, 1.0), sv.PureDP(1.0), **{name: value})
    assert getattr(made.problem(), name) == value
    assert getattr(sv.PrivateBandit(sv.domains.Ball(2), **GIVEN, **{name: value})._problem, name) == value
    audited = Configuration(sv.domains.Ball(2), sv.PureDP(1.0), 1000, **{name: value})
    assert getattr(audited.optimizer(0, sv.SimulatedNoise(0))._policy.problem, name) == value


def test_all_but_the_first_four_go_by_name_so_that_no_order_can_be_mistaken():
    for kind in (BanditConfiguration, Problem):
        kinds = [one.kind for one in inspect.signature(kind).parameters.values()]
        assert kinds[4:] == [inspect.Parameter.KEYWORD_ONLY] * (len(kinds) - 4)
        with pytest.raises(TypeError, match="positional"):
            kind(sv.domains.Ball(2), 1000, (0.0, 1.0), sv.PureDP(1.0), "linear")


@every("one", fields(DecisionFacts))
def test_what_a_record_has_lost_is_not_guessed(one):
    record = BanditConfiguration(sv.domains.Ball(2), 1000, (0.0, 1.0), sv.PureDP(1.0)).to_record()
    if one.name not in record:  # it does not speak of it unless it was given
        assert getattr(BanditConfiguration.from_record(record), one.name) == one.default
        return
    del record[one.name]
    with pytest.raises(KeyError, match=one.name):
        BanditConfiguration.from_record(record)


def test_a_plan_that_was_given_what_its_mechanism_does_not_do_is_refused():
    """Or it would be called padded, and would not be."""
    fresh = {"plan": "worst-case", "exploration": "sphere", "mechanism": "fresh"}
    plan = sv.PrivateBandit(sv.domains.Ball(3), **GIVEN, **fresh).plan
    padded = replace(plan, options=replace(plan.options, padding=True))
    with pytest.raises(ValueError, match="padding of the plan does not apply to fresh; make it anew"):
        sv.PrivateBandit(sv.domains.Ball(3), **GIVEN, plan=padded)
