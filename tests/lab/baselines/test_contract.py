"""What every baseline owes its caller, checked on all of them as they are found: a new one is tested once it exists."""

import copy
import importlib
import inspect
import pickle
import pkgutil
import re
from pathlib import Path

import numpy as np
import pytest

import sottovoce as sv
from sampling import every, sampled
from sottovoce.errors import AlreadyTold, HorizonReached, InvalidLoss, UnknownAction
from sottovoce.lab import baselines
from sottovoce.lab.baselines.base import Baseline
from sottovoce.lab.baselines.planned import Planned


def _found():
    """All concrete classes of the package with `examples`, by reading its modules."""
    kinds = {}
    for module in pkgutil.iter_modules(baselines.__path__, baselines.__name__ + "."):
        for _, kind in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            if kind.__module__ == module.name and hasattr(kind, "name") and not inspect.isabstract(kind):
                kinds[kind.name] = kind
    return kinds


FOUND = _found()
TUNED = {"fkm", "chen-zhang-karbasi", "garber-kretzu", "smith-thakurta"}  # their radius can be multiplied
BANDITS = FOUND
EXAMPLES = [(name, index) for name, kind in BANDITS.items() for index in range(len(kind.examples()))]


def home(kind):
    """A set, and a guarantee if there is to be one, that a baseline is for."""
    example = kind.examples()[0]
    return example.domain, {"privacy": example.privacy.guarantee} if kind.private else {}


def losses_of(actions):
    """Some loss, a function of the action, in [0, 1]."""
    return 0.5 + 0.4 * np.tanh(actions.x @ np.linspace(-1, 1, actions.x.shape[1]))


SOME = {"smith-thakurta-0", "fkm-0", "linucb-0", "phased-elimination-0", "zcdp-elimination-0"}  # one of each kind


NAMED = {f"{name}-{index}": (name, index) for name, index in EXAMPLES}


def making(where):
    name, index = NAMED[where]
    return lambda: BANDITS[name].examples()[index]


@pytest.fixture(params=sampled(NAMED, SOME, NAMED))
def fresh(request):
    return making(request.param)


of_each_kind = every("fresh", [making(one) for one in sorted(SOME)])  # what all of a kind have from one class


def play(learner, size=None):
    played = []
    while learner.remaining:
        actions = learner.ask_round() if size is None else learner.ask(min(size, learner.remaining))
        learner.tell(actions.ids, losses_of(actions))
        played.append(actions.x)
    return np.concatenate(played)


def test_every_baseline_is_listed_by_its_name():
    assert dict(baselines.BASELINES) == FOUND
    assert sv.lab.baselines is baselines


def test_the_page_of_baselines_has_every_one():
    page = (Path(__file__).parents[3] / "docs" / "reference" / "baselines.md").read_text()
    assert set(FOUND) <= set(re.findall("`([a-z0-9-]+)`", page))


@every("kind", FOUND.values())
def test_constructors_share_their_keywords(kind):
    names = list(inspect.signature(kind).parameters)
    expected = ["domain", "horizon", "loss_range", "lipschitz", "seed"]
    expected += ["privacy", "noise"] if kind.private else []
    expected += ["point"] if kind.name == "best-fixed" else []
    expected += ["radius_factor"] if kind.name in TUNED else []
    assert sorted(names) == sorted(expected)
    assert inspect.getdoc(kind)
    assert ">>>" in kind.__doc__


def test_equal_seeds_play_alike_feasible_actions_and_leave_nothing_open(fresh):
    first, second = fresh(), fresh()
    played = play(first)
    np.testing.assert_array_equal(played, play(second))
    assert all(first.domain.contains(x, 1e-6) for x in (*played, first.point))
    assert first.remaining == 0
    assert len(first.outstanding()) == 0
    assert first.round > 0


@of_each_kind
def test_blocks_that_cross_rounds_hand_out_every_id_once(fresh):
    learner = fresh()
    ids = []
    while learner.remaining:
        actions = learner.ask(min(7, learner.remaining))
        ids.extend(actions.ids.tolist())
        assert actions.wants_loss.shape == actions.ids.shape == (len(actions.x),)
        assert len(learner.outstanding()) == int(actions.wants_loss.sum())
        order = np.random.default_rng(0).permutation(len(actions.ids))
        learner.tell(actions.ids[order], losses_of(actions)[order])
    assert ids == list(range(60))


@of_each_kind
def test_asking_never_blocks_and_late_losses_come_home_in_any_order(fresh):
    learner = fresh()
    actions = learner.ask(60)
    for index in np.random.default_rng(1).permutation(np.flatnonzero(actions.wants_loss)).tolist():
        learner.tell(int(actions.ids[index]), float(losses_of(actions)[index]))
    assert len(learner.outstanding()) == 0


@of_each_kind
def test_asking_past_the_horizon_is_refused(fresh):
    learner = fresh()
    with pytest.raises(HorizonReached, match="size=61"):
        learner.ask(61)
    assert learner.remaining == 60
    play(learner, size=20)
    for ask in (learner.ask, learner.ask_round, lambda: learner.ask(1)):
        with pytest.raises(HorizonReached):
            ask()


def wanted(learner, count):
    """Ids, and their losses, of `count` events whose losses are wanted."""
    actions = learner.ask(60)
    keep = np.flatnonzero(actions.wants_loss)[:count]
    return actions.ids[keep], losses_of(actions)[keep]


@of_each_kind
def test_a_tell_is_all_or_nothing(fresh):
    learner = fresh()
    ids, losses = wanted(learner, 4)
    open_before = len(learner.outstanding())
    spoilt = [
        (ids, [*losses[:-1], np.nan], InvalidLoss),
        (ids, [*losses[:-1], np.inf], InvalidLoss),
        ([*ids[:-1], 60], losses, UnknownAction),
        ([*ids[:-1], -1], losses, UnknownAction),
        ([*ids[:-1], ids[0]], losses, AlreadyTold),
        (ids, losses[:-1], ValueError),
        (ids, ["a"] * len(ids), InvalidLoss),
    ]
    for some_ids, some_losses, error in spoilt:
        with pytest.raises(error):
            learner.tell(np.array(some_ids), some_losses)
        assert len(learner.outstanding()) == open_before
    learner.tell(ids, losses)
    assert len(learner.outstanding()) == open_before - len(ids)


@of_each_kind
def test_each_id_is_told_once(fresh):
    learner = fresh()
    ids, losses = wanted(learner, 2)
    learner.tell(int(ids[0]), float(losses[0]))
    open_before = len(learner.outstanding())
    for again in (int(ids[0]), np.array([ids[0]]), ids):
        with pytest.raises(AlreadyTold):
            learner.tell(again, losses[:1] if np.shape(again) == (1,) else losses if np.shape(again) else 0.5)
    for unknown in (10**30, -1, 60):
        with pytest.raises(UnknownAction):
            learner.tell(unknown, 0.5)
    assert len(learner.outstanding()) == open_before


@of_each_kind
def test_no_message_shows_a_loss(fresh):
    learner = fresh()
    ids, _ = wanted(learner, 2)
    for bad in (np.nan, np.inf, -np.inf, "0.123456", [0.123456, 0.2]):
        for some in (int(ids[0]), ids[:1]):
            value = bad if isinstance(some, int) else np.array([bad], dtype=object)
            if isinstance(bad, str):
                value = "x" + bad if isinstance(some, int) else ["x" + bad]
            with pytest.raises((InvalidLoss, ValueError)) as caught:
                learner.tell(some, value)
            shown = str(caught.value) + repr(caught.value.__context__) + repr(caught.value.__cause__)
            assert "0.123456" not in shown
            assert "nan" not in shown.lower().replace("finan", "")
            assert "inf" not in shown.lower()


@every("size", [None, 6])
def test_losses_are_clipped_silently(fresh, size):
    inside, outside = fresh(), fresh()
    for learner, low, high in ((inside, 0.0, 1.0), (outside, -7.0, 1e9)):
        while learner.remaining:
            actions = learner.ask_round() if size is None else learner.ask(size)
            learner.tell(actions.ids, np.where(losses_of(actions) < 0.5, low, high))
    np.testing.assert_array_equal(inside.point, outside.point)


def test_a_forgotten_loss_counts_as_the_middle_of_the_range(fresh):
    told, forgot = fresh(), fresh()
    while told.remaining:
        actions = told.ask_round()
        told.tell(actions.ids, np.full(len(actions.ids), 0.5))
        forgot.forget(forgot.ask_round().ids)
    np.testing.assert_array_equal(told.point, forgot.point)
    assert len(forgot.outstanding()) == 0


@of_each_kind
def test_what_was_handed_out_cannot_be_changed(fresh):
    with pytest.raises(ValueError, match="read-only"):
        fresh().ask_round().x[0, 0] = 5.0


def test_copies_go_on_alike(fresh):
    learner = fresh()
    actions = learner.ask(7)
    learner.tell(actions.ids, losses_of(actions))
    others = [copy.copy(learner), copy.deepcopy(learner), pickle.loads(pickle.dumps(learner))]
    rest = play(learner)
    for other in others:
        np.testing.assert_array_equal(play(other), rest)


def test_real_noise_refuses_copies():
    for kind in BANDITS.values():
        if kind.private:
            domain, options = home(kind)
            learner = kind(domain, horizon=50, loss_range=(0.0, 1.0), **options)
            for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
                with pytest.raises(sv.errors.CopyRefused):
                    attempt(learner)


def test_it_can_be_simulated_and_says_what_it_is(fresh):
    learner = fresh()
    environment = sv.lab.NoisyLinear(learner.domain)
    run = sv.lab.simulate(learner, environment)
    assert run.finished
    assert run.details.rounds == learner.round > 0
    assert run.details.oracle_calls == learner.oracle_calls
    assert type(learner).name in str(learner.plan)
    assert np.isnan(learner.plan.bound) or learner.plan.bound > 0
    assert type(learner).__name__ in repr(learner)
    assert learner.privacy.guarantee.private == type(learner).private
    assert "NOT PRIVATE" in learner.privacy.headline  # all examples are simulated, or promise nothing
    assert isinstance(learner, Planned if type(learner).private else Planned | Baseline)


@every("kind", FOUND.values())
@every(
    ("wrong", "what"),
    [({"horizon": 0}, "horizon"), ({"horizon": None}, "horizon"), ({"loss_range": (1.0, 0.0)}, "range|high|low")],
)
def test_bad_arguments_are_named(kind, wrong, what):
    domain, options = home(kind)
    right = {"horizon": 10, "loss_range": (0.0, 1.0), **options}
    right |= {"point": domain.center} if kind.name == "best-fixed" else {}
    kind(domain, **right)
    with pytest.raises((TypeError, ValueError), match=what):
        kind(domain, **(right | wrong))


def test_private_baselines_refuse_what_is_no_promise():
    for kind in FOUND.values():
        for privacy in (sv.NoPrivacy(), sv.LocalDP(1.0), None):
            if kind.private:
                with pytest.raises(TypeError, match="privacy must be"):
                    kind(home(kind)[0], horizon=10, loss_range=(0.0, 1.0), privacy=privacy)


def test_a_fixed_point_must_be_feasible():
    with pytest.raises(ValueError, match="point must be in"):
        baselines.BestFixed(sv.domains.Ball(2), horizon=10, loss_range=(0.0, 1.0), point=[2.0, 0.0])


@every("kind", [kind for kind in baselines.BASELINES.values() if not kind.private])
def test_only_what_learns_is_said_to_show_its_losses(kind):
    words = " ".join(str(kind.examples()[0].privacy).split())
    learns = kind not in (baselines.UniformRandom, baselines.BestFixed)
    assert ("Promise none: losses shape the actions with no noise." in words) == learns
    assert ("Promise none: a comparison for simulations; no promise is made." in words) == (not learns)
    assert "NOT PRIVATE" in words
