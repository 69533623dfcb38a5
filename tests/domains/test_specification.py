"""A domain can be written down and made again; one that cannot is told apart by its oracle's answers."""

import numpy as np
import pytest

import sottovoce as sv
from sampling import every
from sottovoce.domains.specification import build, fingerprint, same_answers


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
