"""What segments say of each other's items is the joint Gaussian, written out; and shares are learned from it."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from sottovoce.models import ItemHierarchy, Segments, SufficientStatistics, VarianceShares, item_hierarchy

ITEMS = 3
SEGMENTS = {
    "names": Segments(["a", "b", "c", "d"]),
    "factors": Segments(factors={"device": ["phone", "desktop"], "country": ["it", "de"]}),
}


class Said:
    """A segment that has been told something of some items."""

    def __init__(self, precision, pull, resets=0):
        self.known = object()
        self._said = SufficientStatistics(precision, pull, numbers=1, resets=resets)

    def sufficient_statistics(self):
        return self._said


def hierarchy_of(segments, said, monkeypatch=None):
    if monkeypatch is not None:  # levels are estimated, and not integrated out: none here; and what can be inverted
        monkeypatch.setattr(item_hierarchy, "_FLAT", 1.0)
        plain = ItemHierarchy._parts
        monkeypatch.setattr(ItemHierarchy, "_parts", lambda *given: plain(*given)._replace(level=1e-12))
    made = ItemHierarchy(segments, SimpleNamespace(dimension=said[0].sufficient_statistics().pull.size))
    for name, one in zip(segments.names, said, strict=True):
        made.join(segments.row(name), one)
    return made


def drawn(seed=1):
    rng = np.random.default_rng(seed)
    precisions = rng.uniform(5, 500, (4, ITEMS)) * (rng.random((4, ITEMS)) < 0.8)
    return precisions, precisions * rng.normal(0.5, 0.2, (4, ITEMS))


def joint(segments, precisions, parts, item):
    """Mean 0 and covariance of the values of an item in all segments, and of what is measured of them."""
    rows = np.array([segments.row(one) for one in segments.names])
    values = rows / parts.common @ rows.T + parts.own * np.eye(len(rows))
    seen = precisions[:, item] > 0
    return values, seen, (values + np.diag(1 / np.where(seen, precisions[:, item], 1.0)))[np.ix_(seen, seen)]


@pytest.mark.parametrize("name", SEGMENTS)
def test_others_say_what_the_joint_gaussian_says(monkeypatch, name):
    segments, (precisions, pulls) = SEGMENTS[name], drawn()
    hierarchy = hierarchy_of(segments, [Said(*one) for one in zip(precisions, pulls, strict=True)], monkeypatch)
    hierarchy._refreshed()
    parts = hierarchy._parts(hierarchy.variance_shares)
    for place in range(4):
        found = hierarchy.prior(place)
        for item in range(ITEMS):
            others = precisions.copy()
            others[place] = 0
            values, seen, measured = joint(segments, others, parts, item)
            gain = values[place, seen] @ np.linalg.inv(measured)
            mean = gain @ (pulls[seen, item] / precisions[seen, item])
            variance = values[place, place] - gain @ values[seen, place]
            assert found.precision[item] == pytest.approx(1 / variance, rel=1e-4)
            assert found.pull[item] / found.precision[item] == pytest.approx(mean, rel=1e-4)


@pytest.mark.parametrize("name", SEGMENTS)
def test_evidence_is_that_of_the_joint_gaussian(monkeypatch, name):
    segments, (precisions, pulls) = SEGMENTS[name], drawn()
    hierarchy = hierarchy_of(segments, [Said(*one) for one in zip(precisions, pulls, strict=True)], monkeypatch)
    found, expected = [], []
    for shares in (hierarchy.variance_shares, VarianceShares(8, 9, hierarchy.variance_shares.effects)):
        found.append(hierarchy.log_evidence(shares))
        parts = hierarchy._parts(shares)
        total = 0.0
        for item in range(ITEMS):
            _, seen, measured = joint(segments, precisions, parts, item)
            total += multivariate_normal(np.zeros(seen.sum()), measured).logpdf(
                pulls[seen, item] / precisions[seen, item]
            )
        expected.append(total)
    assert found[1] - found[0] == pytest.approx(expected[1] - expected[0], abs=1e-3)


def many(apart, level=0.0, count=12, items=30, resets=0):
    """Segments whose items differ by `apart` and whose levels by `level`, measured with a deviation of .05."""
    rng, base = np.random.default_rng(3), np.random.default_rng(2).uniform(0.2, 0.8, items)
    values = base + apart * rng.standard_normal((count, items)) + level * np.arange(count)[:, None]
    return [Said(np.full(items, 400.0), 400.0 * (one + 0.05 * rng.standard_normal(items)), resets) for one in values]


@pytest.mark.parametrize(
    ("apart", "level", "low", "high"), [(0.0, 0.0, 0, 0.01), (0.0, 0.1, 0, 0.01), (0.2, 0, 0.2, 1)]
)
def test_how_alike_segments_are_is_learned_whatever_their_levels_are(apart, level, low, high):
    hierarchy = hierarchy_of(Segments(list(range(12))), many(apart, level))
    hierarchy.learn()
    assert low <= hierarchy.shares()["own"] <= high
    borrowed = hierarchy.prior(0).precision.mean()
    assert borrowed > 2000 if high < 0.1 else borrowed < 100


def test_segments_that_forgot_all_are_another_world():
    hierarchy = hierarchy_of(Segments(list(range(12))), [*many(0.0)[:11], *many(0.0, resets=1)[11:]])
    assert not hierarchy.prior(11).precision.any()
    assert hierarchy.prior(0).precision.any()
    assert hierarchy.prior(0).resets == 0
    hierarchy.replace(0, many(0.0, resets=2)[0])
    most = hierarchy.prior(5, sizes=np.array([1000.0, *[1.0] * 11]))
    assert most.resets == 2
    assert np.allclose(most.precision, hierarchy.prior(-1, np.ones(1), np.array([1000.0, *[1.0] * 11])).precision)
