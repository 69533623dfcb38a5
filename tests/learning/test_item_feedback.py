"""Feedback by item: what is told, by name and in order; what is refused; what is believed; in memory and in studies."""

import json

import numpy as np
import pytest

import sottovoce as sv
from sampling import every
from sottovoce.domains.oracles import calls_of_this_thread
from sottovoce.errors import InvalidLoss, RoundClosed
from sottovoce.plans.decisions import in_told_order

DRINKS = tuple(f"drink {number}" for number in range(12))
CLICKS = {"loss_range": (-1.0, 0.0), "most": 1}
COSTS = {"loss_range": (0.0, 1.0)}
TOWN = [((i, j), (i, j + 1)) for i in range(3) for j in range(2)]
TOWN += [((i, j), (i + 1, j)) for i in range(2) for j in range(3)] + [((0, 0), (2, 2))]
SETS = {
    "k of n": lambda: sv.domains.Hypersimplex(DRINKS, k=3),
    "simplex": lambda: sv.domains.Simplex(list("abcd")),
    "paths": lambda: sv.domains.Paths(TOWN, source=(0, 0), target=(2, 2)),  # of one edge, or of four
    "trees": lambda: sv.domains.SpanningTrees([(0, 1), (1, 2), (0, 2), (2, 3), (0, 3)]),
    "ranking": lambda: sv.domains.Birkhoff(list("abc")),
    "matching": lambda: sv.domains.Matchings(list("ab"), list("xyz")),
    "product": lambda: sv.domains.Product(
        {"one": sv.domains.Simplex(list("ab")), "two": sv.domains.Hypersimplex(4, 2)}
    ),
}


def given(**options):
    shared = {"integral": True, "horizon": 3000, "privacy": sv.PureDP(1.0), "feedback": "items", "seed": 1, **CLICKS}
    return {"domain": SETS["k of n"](), **shared, **options}


def optimizer_of(domain=None, **options):
    return sv.PrivateBandit(**given(**options if domain is None else {"domain": domain, **options}))


def played(optimizer, means, *, seed=0, block=200, by_name=True, most=None):
    """Play to the end; return what was chosen."""
    rng, chosen, domain = np.random.default_rng(seed), [], optimizer.domain
    names = domain.coordinate_names
    while optimizer.remaining and (most is None or len(chosen) < most):
        actions = optimizer.ask(min(block, optimizer.remaining))
        items = in_told_order(domain, actions.x)
        chosen += items.tolist()
        told = np.sign(means)[items] * (rng.random(items.shape) < np.abs(means)[items])
        rows = [
            {names[item]: loss for item, loss in zip(own, losses, strict=True) if item >= 0}
            for own, losses in zip(items.tolist(), told.tolist(), strict=True)
        ]
        optimizer.tell(actions.ids, rows if by_name else told)
    return chosen


@every("kind", SETS)
def test_every_set_of_choices_learns_which_items_are_good(kind):
    domain = SETS[kind]()
    means = np.linspace(0.1, 0.9, domain.dimension)
    optimizer = optimizer_of(domain, privacy=sv.NoPrivacy(), most=None, **COSTS)
    played(optimizer, means)
    found = optimizer.recommend()
    assert means @ found.x == pytest.approx(means @ domain.extreme_point(means), abs=0.08)
    assert found.rounds > 0
    assert set(found.items) == {domain.coordinate_names[item] for item in np.flatnonzero(found.x)}
    for name, (loss, deviation) in found.items.items():
        true = means[list(domain.coordinate_names).index(name)]
        assert abs(loss - true) < 6 * deviation + 0.01


def test_names_in_any_order_tell_what_a_list_in_order_does():
    named, listed = (optimizer_of(most=None, horizon=150, noise=sv.SimulatedNoise(3), **COSTS) for _ in range(2))
    rng = np.random.default_rng(0)
    for _ in range(150):
        action, again = named.ask(), listed.ask()
        told = rng.random(3).round(2).tolist()
        named.tell(action.id, dict(reversed(list(zip(action.chosen, told, strict=True)))))
        listed.tell(again.id, told)
    assert named.posterior() == listed.posterior()
    assert named.round > 1


def test_late_reports_are_refused_or_dropped_unread_and_of_a_block_all_are_taken_or_none():
    optimizer = optimizer_of()
    actions = optimizer.ask(2)
    with pytest.raises(InvalidLoss):
        optimizer.tell(actions.ids, [{}, {"no drink": -1.0}])
    assert len(optimizer.outstanding().ids) == 2
    optimizer.forget(actions.ids[:1])
    with pytest.raises(RoundClosed):
        optimizer.tell(actions.ids[0], {"no drink": -1.0})
    optimizer.tell(actions.ids, [{"no drink": -1.0}, {}], late="drop")
    assert not len(optimizer.outstanding().ids)
    optimizer = optimizer_of(most=None, **COSTS)
    action = optimizer.ask()
    with pytest.raises(InvalidLoss, match="each of the 3 items"):
        optimizer.tell(action.id, {action.chosen[0]: 0.5})


REFUSED = {
    "convex losses": ({"integral": False}, "integral=True"),
    "local": ({"privacy": sv.LocalDP(1.0)}, "LocalDP"),
    "worst-case": ({"plan": "worst-case"}, "plan='auto'"),
    "paper": ({"plan": "paper"}, "plan='auto'"),
    "exploration": ({"exploration": "posterior"}, "feedback='decision'"),
    "a ball": ({"domain": sv.domains.Ball(3)}, "zeros and ones"),
    "weights": ({"domain": sv.domains.Permutahedron([1, 2, 4])}, "zeros and ones"),
    "most inside the range": ({"loss_range": (-1.0, 1.0)}, "0 at one end"),
    "no most": ({"most": 0}, "most"),
    "too small": ({"most": 1e-9}, "too small"),
    "most alone": ({"feedback": "decision"}, "feedback='items'"),
    "feedback": ({"feedback": "item"}, "feedback must be one of"),
}


@every("what", REFUSED)
def test_what_it_is_not_for_is_refused_with_a_reason(what):
    options, words = REFUSED[what]
    with pytest.raises((ValueError, sv.errors.DomainError), match=words):
        optimizer_of(**options)


@every("guarantee", [sv.PureDP(1.0), sv.ApproxDP(1.0, 1e-6), sv.ZCDP(0.5), sv.PureDP(1.0, contributions=3)])
def test_the_statement_says_whose_losses_move_what(guarantee):
    statement = optimizer_of(privacy=guarantee).privacy
    assert "up to 3 items, cut to 1 in all" in statement.why
    one = guarantee.contributions == 1
    assert statement.unit == (
        "one event's losses of all its items" if one else "one person's losses, in up to 3 events"
    )
    assert type(statement).from_dict(json.loads(json.dumps(statement.to_dict()))) == statement


@pytest.mark.parametrize("events", [200, 1000])
def test_what_is_stated_of_items_that_hardly_differ_holds(events):
    """Nobody is sure of what all items have in common, either: the noise of a first round moves all of them alike."""
    off = []
    for seed in range(24):
        optimizer = optimizer_of(sv.domains.Hypersimplex(12, 3), horizon=5000, noise=sv.SimulatedNoise(seed), seed=seed)
        actions = optimizer.ask(size=events)
        clicks = np.random.default_rng(seed).random((events, 3)) < 0.03
        optimizer.tell(actions.ids, -1.0 * (clicks & (clicks.sum(axis=1) == 1)[:, None]))
        found = optimizer.recommend()
        each = np.mean(list(found.items.values()), axis=0)
        off.append([(found.loss + 3 * 0.0282) / found.deviation, (each[0] + 0.0282) / each[1]])
        assert optimizer.posterior().predict(found.x) == pytest.approx((found.loss, found.deviation))
    assert (np.abs(off) < 2).mean(axis=0).min() > 0.85


def test_the_first_of_many_items_are_shown_by_few_calls_of_the_oracle():
    calls = calls_of_this_thread()
    optimizer = optimizer_of(sv.domains.Hypersimplex(100_000, 20), horizon=1_000_000, most=None, **COSTS)
    actions = optimizer.ask(size=200)
    assert calls_of_this_thread() - calls < 200
    assert len(np.unique(np.concatenate(actions.indices))) > 3000  # evenly: hardly any twice
