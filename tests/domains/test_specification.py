"""A domain can be written down and made again; one that cannot is told apart by its oracle's answers."""

import json

import numpy as np
import pytest

import sottovoce as sv
from sampling import every
from sottovoce.domains import all_domains
from sottovoce.domains.specification import build, fingerprint, same_answers, specify

EXAMPLES = [domain for family in all_domains() for domain in family.examples()]


def test_most_families_need_no_second_telling():
    kept = {type(domain).__name__ for domain in EXAMPLES if specify(domain) is not None}
    assert kept == {family.__name__ for family in all_domains()} - {"Custom"}


def test_networkx_graphs_keep_their_names_and_order():
    networkx = pytest.importorskip("networkx")
    graph = networkx.DiGraph([("s", ("a", 1)), (("a", 1), "t"), ("s", "b"), ("b", "t")])
    domain = sv.domains.Paths(graph, source="s", target="t")
    again = build(json.loads(json.dumps(specify(domain))))
    assert same_answers(fingerprint(domain), fingerprint(again))


def test_a_generator_of_parts_is_kept_whole():
    domain = sv.domains.Product(sv.domains.Simplex(n) for n in (2, 3))
    assert build(specify(domain)).dimension == 5


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
