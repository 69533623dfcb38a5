"""What every baseline owes its caller, checked on all of them as they are found: a new one is tested once it exists.

How losses are asked for, told, kept and released is `PrivateBandit`'s, and tested there.
"""

import contextlib
import copy
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import numpy as np
import pytest

import sottovoce as sv
from sampling import every, sampled
from sottovoce.lab import baselines
from sottovoce.lab.baselines import Baseline, base
from tracing import Tracer, lines_of


def _found():
    """All baselines of the package, by reading its modules."""
    kinds = {}
    for module in pkgutil.iter_modules(baselines.__path__, baselines.__name__ + "."):
        for _, kind in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            if issubclass(kind, Baseline) and kind.__module__ == module.name and hasattr(kind, "name"):
                kinds[kind.name] = kind
    return kinds


FOUND = _found()
PLACES = [(kind, place) for kind in FOUND.values() for place in (0, -1)]
of_each = every("fresh", [lambda kind=kind, place=place: kind.examples()[place] for kind, place in PLACES])


def home(kind):
    """A set, and a guarantee if there is to be one, that a baseline is for."""
    example = kind.examples()[0]
    return example.domain, {"privacy": example.privacy.guarantee} if kind.private else {}


def losses_of(actions):
    """Some loss, a function of the action, in [0, 1]."""
    return 0.5 + 0.4 * np.tanh(actions.x @ np.linspace(-1, 1, actions.x.shape[1]))


def play(learner):
    played = []
    while learner.remaining:
        actions = learner.ask_round()
        learner.tell(actions.ids, losses_of(actions))
        played.append(actions.x)
    return np.concatenate(played)


def test_every_baseline_is_listed_by_its_name_and_on_the_page_of_baselines():
    assert dict(baselines.BASELINES) == FOUND
    page = (Path(__file__).parents[3] / "docs" / "reference" / "baselines.md").read_text()
    assert set(FOUND) <= set(re.findall("`([a-z0-9-]+)`", page))


@every("kind", FOUND.values())
def test_constructors_are_one_and_losses_are_kept_as_by_any_optimizer(kind):
    assert kind.__init__ is Baseline.__init__
    for name in ("ask", "ask_round", "tell", "forget", "outstanding", "privacy", "__copy__", "__reduce_ex__"):
        assert getattr(kind, name) is getattr(sv.PrivateBandit, name)
    assert ">>>" in kind.__doc__


@of_each
def test_equal_seeds_play_alike_feasible_actions_and_leave_nothing_open(fresh):
    first, second = fresh(), fresh()
    played = play(first)
    np.testing.assert_array_equal(played, play(second))
    assert all(first.domain.contains(x, 1e-6) for x in (*played, first.point))
    assert (first.remaining, len(first.outstanding())) == (0, 0)


@of_each
def test_losses_are_clipped_and_a_forgotten_one_counts_as_the_middle_of_the_range(fresh):
    inside, outside, told, forgot = (fresh() for _ in range(4))
    for learner, low, high in ((inside, 0.0, 1.0), (outside, -7.0, 1e9), (told, 0.5, 0.5)):
        while learner.remaining:
            actions = learner.ask_round()
            learner.tell(actions.ids, np.where(losses_of(actions) < 0.5, low, high))
    while forgot.remaining:
        forgot.forget(forgot.ask_round().ids)
    np.testing.assert_array_equal(inside.point, outside.point)
    np.testing.assert_array_equal(told.point, forgot.point)


@pytest.mark.parametrize("name", sampled(["thompson-sampling", "dp-imed"], [0]))
def test_a_call_that_is_cut_short_at_any_line_changes_nothing_of_what_is_played(name):
    """Phases are begun once, and learned from once, however often that is tried."""
    domain, options = home(FOUND[name])
    noise = sv.SimulatedNoise(1) if options else None
    template = FOUND[name](domain, horizon=40, loss_range=(0.0, 1.0), seed=1, noise=noise, **options)

    def turns(learner, count):
        played = []
        while learner.remaining and len(played) < count:
            actions = learner.ask_round()
            learner.tell(actions.ids, actions.ids * 0.37 % 1)  # of what was asked, and not returned, it is known too
            played.append(actions.x)
        return np.concatenate([np.empty((0, domain.dimension)), *played])

    turns(template, 2)
    whole = copy.deepcopy(template)
    lines = lines_of(lambda: turns(whole, 2), where=base.__file__)
    whole = turns(copy.deepcopy(template), 100)
    assert len(lines) > 20
    for stop in range(1, len(lines) + 1):
        learner = copy.deepcopy(template)
        with contextlib.suppress(KeyboardInterrupt), Tracer(stop, where=base.__file__):
            turns(learner, 2)
        waiting = learner.outstanding().ids
        learner.tell(waiting, waiting * 0.37 % 1)
        rest = turns(learner, 100)
        np.testing.assert_array_equal(rest, whole[len(whole) - len(rest) :])


@of_each
def test_it_can_be_simulated_and_says_what_it_is(fresh):
    learner = fresh()
    run = sv.lab.simulate(learner, sv.lab.NoisyLinear(learner.domain))
    assert run.finished
    assert run.details.rounds == learner.round > 0
    assert type(learner).name in str(learner.plan)
    assert learner.plan.bound > 0
    assert type(learner).__name__ in repr(learner)
    assert learner.privacy.guarantee.private == type(learner).private
    assert "NOT PRIVATE" in learner.privacy.headline  # all examples are simulated, or promise nothing


@every("kind", FOUND.values())
@every(
    ("wrong", "what"),
    [
        ({"horizon": 0}, "horizon"),
        ({"horizon": None}, "horizon"),
        ({"loss_range": (1.0, 0.0)}, "range|high|low"),
        ({"privacy": sv.LocalDP(1.0)}, "privacy must be"),
        ({"privacy": sv.NoPrivacy(), "loss_range": (1.0, 1.0)}, "privacy must be|range|high|low"),
    ],
)
def test_bad_arguments_are_named(kind, wrong, what):
    domain, options = home(kind)
    right = {"horizon": 10, "loss_range": (0.0, 1.0), **options}
    kind(domain, **right)
    with pytest.raises((TypeError, ValueError), match=what):
        kind(domain, **(right | wrong))
