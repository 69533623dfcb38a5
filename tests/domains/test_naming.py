"""Coordinates have names, decisions are said in them, and sets are written down; on every example of every family."""

import inspect
import json
import pickle
from itertools import pairwise

import numpy as np
import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sottovoce as sv
from sampling import every
from sottovoce import domains
from sottovoce.domains import all_domains
from sottovoce.domains.naming import as_plain, in_words
from sottovoce.domains.specification import build, fingerprint, same_answers, specify

DRINKS = ("tea", "coffee", "cocoa", "milk", "juice", "water")


def rebuilt(domain, said):
    """Return the point that `domain.chosen` has said `said` of."""
    if isinstance(domain, domains.Rounded):
        return domain.from_original(rebuilt(domain.domain, said))
    if isinstance(domain, domains.Product):
        parts = said if domain.part_names is None else [said[name] for name in domain.part_names]
        return np.concatenate([rebuilt(part, own) for part, own in zip(domain.domains, parts, strict=True)])
    place = {name: number for number, name in enumerate(domain.coordinate_names)}
    x = np.zeros(domain.dimension)
    if isinstance(said, dict):
        for name, value in said.items():
            matched = name not in place  # then it is a row, and the value its column
            x[place[(name, value)] if matched else place[name]] = 1.0 if matched else value
        return x
    weights = domain.weights if isinstance(domain, domains.Permutahedron) else np.ones(len(said))
    for name, weight in zip(said, weights, strict=True):
        x[place[name]] = weight
    return x


def with_names(domain):
    """Return the same set with names of its coordinates, however its constructor takes them."""
    if isinstance(domain, domains.Product):
        return domains.Product({f"part {i}": with_names(part) for i, part in enumerate(domain.domains)})
    if isinstance(domain, domains.Rounded):
        return type(domain)(with_names(domain.domain))
    assert "labels" in inspect.signature(type(domain)).parameters, "take labels, and keep them with self._name(labels)"
    lists = [names(count, f"item of side {side}") for side, count in enumerate(domain.label_counts)]
    return domain.labelled(lists if len(lists) > 1 else lists[0])


def names(count, kind):
    return [f"{kind} {i}" for i in np.random.default_rng(count).permutation(count)]


def cost_for(domain, seed):
    return np.random.default_rng(seed).standard_normal(domain.dimension)


@every("family", all_domains())
@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 2**32), share=st.floats(0.1, 0.9))
def test_a_decision_follows_from_what_is_said_of_it(family, seed, share):
    """In names, in numbers in their place, for vertices, for mixtures of two, and from the entries that are not 0."""
    for domain in family.examples():
        vertex, other = domain.extreme_point(cost_for(domain, seed)), domain.extreme_point(cost_for(domain, seed + 1))
        for named in (domain, with_names(domain)):
            for x in (vertex, share * vertex + (1 - share) * other):
                said = named.chosen(x)
                assert np.allclose(rebuilt(named, said), x, rtol=1e-6, atol=1e-6 * np.abs(vertex).max()), (named, said)
                places = np.flatnonzero(x)
                assert named.chosen_at(places, x[places]) == said
                json.dumps(as_plain(said))
                assert in_words(said)


@every("family", all_domains())
def test_names_change_nothing_but_what_is_said_and_are_stored(family):
    for domain in family.examples():
        named = with_names(domain)
        cost = cost_for(domain, 3)
        assert np.array_equal(named.extreme_point(cost), domain.extreme_point(cost))
        assert repr(named).startswith(type(domain).__name__)
        labels = named.labels
        if not isinstance(domain, sv.domains.Rounded):
            assert len(set(labels)) == domain.dimension
            assert labels != domain.labels
        if specify(domain) is None:  # it holds a function that somebody wrote
            assert any(word in repr(domain) + repr(domain.made_with) for word in ("Custom", "FromCallable", "Oracle"))
            assert specify(named) is None
            continue
        for one in (domain, named):
            again = build(json.loads(json.dumps(specify(one))))
            assert (type(again), repr(again), again.labels) == (type(one), repr(one), one.labels)
            assert again.chosen(named.extreme_point(cost)) == one.chosen(named.extreme_point(cost))
            for other in np.random.default_rng(0).standard_normal((5, domain.dimension)):
                assert np.allclose(again.extreme_point(other), domain.extreme_point(other))
        assert pickle.loads(pickle.dumps(named)).labels == labels


@every(
    ("make", "expected"),
    [
        (lambda names: sv.domains.Hypersimplex(names, 2), ["tea", "coffee"]),
        (lambda names: sv.domains.Simplex(names), {"tea": 1.0, "coffee": 1.0}),
        (lambda names: sv.domains.Ball(names, 3.0), dict.fromkeys(DRINKS, 0.0) | {"tea": 1.0, "coffee": 1.0}),
        (lambda names: sv.domains.Box(0.0, 9.0, names), dict.fromkeys(DRINKS, 0.0) | {"tea": 1.0, "coffee": 1.0}),
        (lambda names: sv.domains.Custom(lambda cost: np.where(cost < 0, 1.0, 0.0), names), ["tea", "coffee"]),
        (lambda names: sv.domains.MatroidBases(sv.domains.matroids.Laminar([], [], names)), ["tea", "coffee"]),
    ],
)
@every("kind", [list, iter, np.array, lambda names: np.array(names, dtype=object), pandas.Index, pandas.Series])
def test_names_come_as_any_list_of_them(make, expected, kind):
    domain = make(kind(DRINKS))
    said = domain.chosen([1.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    assert said == expected or list(said) == list(expected) == ["tea", "coffee"]
    assert domain.labels == DRINKS
    assert all(type(label) is str for label in domain.labels)
    assert specify(domain) is None or build(specify(domain)).labels == DRINKS


@every(
    ("names", "error", "words"),
    [
        ("tea", TypeError, "list of names, .*got 'tea'"),
        (b"tea", TypeError, "list of names"),
        ({"tea"}, TypeError, "in the order"),  # of one: the order of more would change the test's name
        ({"tea": 1, "coffee": 2}, TypeError, "in the order"),
        (["tea", "coffee", "tea"], ValueError, "'tea' is number 0 and 2"),
        (["tea", " ", "coffee"], ValueError, "number 1 is ' '"),
        (["tea", None, "coffee"], ValueError, "number 1 is None"),
        (["tea", float("nan"), "coffee"], ValueError, "number 1 is nan"),
        (["tea", ["coffee"], "cocoa"], ValueError, r"number 1 is \['coffee'\]"),
        (["tea", "coffee"], ValueError, "3 names, one for each coordinate, got 2"),
        (7, TypeError, "list of names"),
        (["tea", "\ud800", "milk"], ValueError, "number 1 is"),
        ([("tea", 1), ("tea", "\ud800"), "milk"], ValueError, "number 1 is"),
    ],
)
def test_what_is_no_list_of_names_is_refused(names, error, words):
    with pytest.raises(error, match=words):
        sv.domains.Simplex(3, labels=names)


def test_a_path_is_said_in_the_order_of_travel():
    """Against networkx: the ways of a street network, whatever the order of its edges."""
    networkx = pytest.importorskip("networkx")
    rng = np.random.default_rng(5)
    for _ in range(10):
        edges = [(i, j) for i in range(9) for j in range(i + 1, 9) if rng.random() < 0.5 or j == i + 1]
        graph = networkx.DiGraph()
        graph.add_edges_from([edges[i] for i in rng.permutation(len(edges))])
        for number, edge in enumerate(graph.edges):
            graph.edges[edge].update(cost=rng.random(), street=f"street {number}")
        best = networkx.shortest_path(graph, 0, 8, weight="cost")
        cost = [graph.edges[edge]["cost"] for edge in graph.edges]
        domain = sv.domains.Paths(graph, source=0, target=8)
        assert domain.chosen(domain.extreme_point(cost)) == list(pairwise(best))
        names = [street for *_, street in graph.edges(data="street")]
        streets = sv.domains.Paths(graph, source=0, target=8, labels=names)
        expected = [graph.edges[edge]["street"] for edge in pairwise(best)]
        assert streets.chosen(streets.extreme_point(cost)) == expected
        assert build(specify(streets)).labels == streets.labels


def test_parallel_edges_matchings_rankings_slates_and_products_speak_in_their_own_way():
    trees = sv.domains.SpanningTrees([("a", "b"), ("a", "b"), ("b", "c")])
    assert trees.labels == (("a", "b", 0), ("a", "b", 1), ("b", "c"))
    assert build(specify(trees)).labels == trees.labels
    shifts = sv.domains.Birkhoff(["ann", "bob", "eve"], ["early", "late", "night"])
    assert shifts.chosen(shifts.extreme_point([5, 1, 5, 5, 5, 1, 1, 5, 5])) == {
        "ann": "late",
        "bob": "night",
        "eve": "early",
    }
    assert shifts.chosen(shifts.center)["bob", "late"] == pytest.approx(1 / 3)
    ranking = sv.domains.Permutahedron([0.5, 1.0, 0.3], labels=["tea", "coffee", "cocoa"])
    assert ranking.chosen(ranking.extreme_point([2.0, 3.0, 1.0])) == ["cocoa", "tea", "coffee"]
    assert list(ranking.chosen([0.5, 0.4, 0.9]).items()) == [("cocoa", 0.9), ("tea", 0.5), ("coffee", 0.4)]
    offer = sv.domains.Product(
        {"drinks": sv.domains.Hypersimplex(DRINKS, 2), "prices": sv.domains.Box(0, 5, ["hot", "cold"])}
    )
    assert offer.chosen([1, 0, 0, 0, 0, 1, 2.5, 0]) == {"drinks": ["tea", "water"], "prices": {"hot": 2.5, "cold": 0.0}}
    assert offer.labels[-1] == ("prices", "cold")
    groups = sv.domains.matroids.Partition(
        {"hot": ["tea", "coffee"], "cold": ["juice", "water"]}, {"hot": 1, "cold": 1}
    )
    menu = sv.domains.MatroidBases(groups)
    assert menu.chosen(menu.extreme_point([1.0, 0.0, 0.0, 1.0])) == ["coffee", "juice"]
    laminar = sv.domains.matroids.Laminar([["tea", "coffee"], DRINKS], [1, 2], ground_size=DRINKS)
    limited = sv.domains.MatroidBases(laminar)
    assert limited.chosen(limited.extreme_point([-3.0, -2.0, -1.0, 1.0, 1.0, 1.0])) == ["tea", "cocoa"]
    assert build(specify(limited)).labels == DRINKS


def test_a_set_of_ones_own_just_sets_labels_and_how_it_speaks_and_a_made_one_has_its_names_for_good():
    class Corner(sv.domains.Domain):
        def __init__(self, names):
            self.labels = names
            self.dimension = len(names)

        def extreme_point(self, cost):
            return np.where(np.asarray(cost) < 0, 1.0, 0.0)

    assert Corner(["a", "b", "c"]).chosen([1.0, 0.0, 1.0]) == ["a", "c"]
    assert Corner(["a", "b"]).labelled(["x", "y"]).labels == ("x", "y")
    with pytest.raises(ValueError, match="'a' is number 0 and 1"):
        Corner(["a", "a"])
    wrong = Corner(["a", "b"])
    wrong.dimension = 3
    with pytest.raises(sv.errors.DomainError, match="3 names"):
        wrong.chosen([0.0, 0.0, 1.0])

    class Prices(Corner):
        chosen_as = "amounts"

    assert Prices(["a", "b"]).chosen([1.0, 0.0]) == {"a": 1.0, "b": 0.0}
    with pytest.raises(ValueError, match="chosen_as of Wrong must be one of 'choices', 'amounts'"):
        type("Wrong", (Prices,), {"chosen_as": "amount"})
    for one in (sv.domains.Simplex(["tea", "coffee"]), sv.domains.Simplex(2)):
        with pytest.raises(AttributeError, match="immutable"):  # what was stored of it would not have them
            one.labels = ["a", "b"]

    class Menu(sv.domains.Hypersimplex):
        def __init__(self, drinks):
            super().__init__(len(drinks), 2)
            self.labels = drinks

    assert Menu(DRINKS).chosen([1, 1, 0, 0, 0, 0]) == ["tea", "coffee"]


# ---------------------------------------------------------------------- written down, or told apart by answers


def test_another_set_has_another_fingerprint():
    one, other = sv.domains.Hypersimplex(8, 3), sv.domains.Hypersimplex(8, 4)
    assert not same_answers(fingerprint(one), fingerprint(other))
    assert not same_answers(fingerprint(one), fingerprint(sv.domains.Hypersimplex(9, 3)))


def test_fingerprints_ask_the_same_questions_for_ever():
    """Stored fingerprints must match those of later versions: the costs are pinned here."""
    costs = []
    sv_domain = sv.domains.Custom(lambda cost: costs.append(cost.copy()) or -np.sign(cost), 3)
    costs.clear()
    fingerprint(sv_domain)
    expected = [-0.90077792, -0.98416887, 0.79065637]
    assert np.allclose(costs[0], expected), costs[0]


@every(
    "data",
    [
        {"made": ["domains", "all_domains", {}]},
        {"made": ["os", "system", {"command": "true"}]},
        {"made": ["matroids", "Graphic", {"graph": [[0, 1]]}]},
        {"unheard": 1},
    ],
)
def test_a_specification_makes_nothing_but_domains_of_this_library(data):
    with pytest.raises((ValueError, TypeError)):
        build(data)
