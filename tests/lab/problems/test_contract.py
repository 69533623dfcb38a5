"""Facts that hold for every decision problem; a new one is tested as soon as it is registered."""

import copy

import numpy as np
import pytest

import sottovoce as sv
from lab_losses import losses_of
from sampling import every
from sottovoce.lab.problems import PROBLEMS, DecisionProblem
from sottovoce.report.html._drawings import draw_decision

EXAMPLES = {
    f"{name}-{number}": one for name, family in PROBLEMS.items() for number, one in enumerate(family.examples())
}
every_family = every("name", PROBLEMS)
one_of_each = every("problem", [EXAMPLES[f"{name}-0"] for name in PROBLEMS])


def vertices(domain, rng, count=12):
    return np.stack([domain.extreme_point(rng.standard_normal(domain.dimension)) for _ in range(count)])


@every_family
def test_it_is_registered_by_its_name_and_says_what_it_is(name):
    family = PROBLEMS[name]
    assert issubclass(family, DecisionProblem)
    assert family.name == name
    assert len(family.title) > 10
    assert len(family.story) > 80
    assert family.examples()
    assert not any(word in family.__doc__ for word in ("TODO", "FIXME"))


@one_of_each
def test_it_shows_as_the_call_that_makes_it(problem):
    family, shown = type(problem), repr(problem)
    assert shown.startswith(f"{family.__name__}(")
    assert "object at" not in shown
    again = eval(shown, {family.__name__: family})
    assert repr(again) == repr(copy.deepcopy(problem)) == shown
    events = [losses_of(one.environment, 0, 50)(one.domain.center) for one in (problem, again)]
    np.testing.assert_array_equal(*events)


REFUSED = {  # settings, by what the refusal names
    "ball": [{"dimension": 0}, {"drift": 0.6, "jitter": 0.5}, {"play": "outside"}, {"period": 0}],
    "editions": [{"differ": 1.5}, {"segments": 0}, {"slots": 20}],
    "pricing": [
        *({"segments": 0}, {"products": 0}, {"radius": 0.0}, {"radius": 0.9}),
        *({"preference": 0.0}, {"preference": 2.0}, {"scatter": -0.1}, {"scatter": 1.5}),
    ],
    "ranking": [{"items": 1}, {"types": 0}],
    "routing": [
        *({"network": "nowhere"}, {"source": "Paris"}, {"target": "Paris"}, {"demand": 0.0}),
        *({"source": "Ulm", "target": "Ulm"}, {"source": "Ulm", "target": "Muenchen"}),  # no choice of routes
    ],
    "slate": [
        *({"slots": 9}, {"slots": 24, "per_category": 6}, {"categories": 25}),
        *({"per_category": 0}, {"drift": -0.1}, {"year": 3}),
    ],
    "spanning-tree": [{"spread": -0.1}, {"spread": 2.5}, {"network": "nowhere"}],
}


@every_family
def test_bad_settings_are_refused_by_name(name):
    for wrong in [*REFUSED[name], {"seed": -1}]:
        with pytest.raises(ValueError, match="|".join(wrong)):
            PROBLEMS[name](**wrong)


@every_family
def test_another_seed_is_another_world(name):
    one, other = PROBLEMS[name](seed=1), PROBLEMS[name](seed=2)
    point = one.domain.extreme_point(np.arange(one.domain.dimension) % 3.0)
    assert not np.array_equal(losses_of(one.environment, 0, 500)(point), losses_of(other.environment, 0, 500)(point))


@pytest.mark.long
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_default_is_learned_in_private(name):
    problem = PROBLEMS[name]()
    optimizer = problem.optimizer(horizon=60_000, privacy=sv.PureDP(1.0), seed=5, noise=sv.SimulatedNoise(5))
    run = sv.lab.simulate(optimizer, problem.environment, record=2)
    assert run.final_regret < 0.4 * run.final_no_learning


@every_family
def test_an_optimizer_takes_the_settings_plays_feasible_actions_and_says_them_in_names(name):
    problem = min(PROBLEMS[name].examples(), key=lambda example: example.domain.affine_dimension)
    assert len(set(problem.domain.labels)) == problem.domain.dimension
    optimizer = problem.optimizer(horizon=600, privacy=sv.PureDP(1.0), seed=1, noise=sv.SimulatedNoise(1))
    run = sv.lab.simulate(optimizer, problem.environment, events=500)
    assert run.events_finished == 500
    assert run.details.decision
    segments = problem.environment.segments
    action = optimizer.ask() if segments is None else optimizer.ask(segment=segments.names[0])
    assert action.chosen == problem.domain.chosen(action.x)
    assert action.chosen
    assert problem.domain.contains(action.x, 1e-6)
    if problem.integral:
        assert problem.domain.extreme_point(-(2 * action.x - 1)) == pytest.approx(action.x)


@one_of_each
def test_different_decisions_look_differently(problem):
    rng = np.random.default_rng(4)
    points = (problem.environment.comparator(1000).point, *vertices(problem.domain, rng, 2))
    pictures = [draw_decision(problem.domain, point, places=problem.places) for point in points]
    assert len(set(pictures)) > 1
    assert all(one.bars or one.svg for one in pictures)
