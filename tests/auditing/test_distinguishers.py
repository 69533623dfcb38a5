import numpy as np
import pytest

import sottovoce as sv
from sottovoce.auditing import MechanismAlone
from sottovoce.auditing.attacks._distinguishers import learn
from sottovoce.auditing.attacks.attack import choose
from sottovoce.auditing.attacks.betting import claim_of
from sottovoce.auditing.attacks.observations import Observations, views


def test_the_view_of_tree_nodes_takes_a_tree_apart():
    """Running sums of a tree share their noise; what the view shows does not: every node has its own."""
    released = MechanismAlone("tree", sv.PureDP(1.0), rounds=7).released(None, 20_000, sv.SimulatedNoise(0))
    nodes = np.corrcoef(views(Observations(released))["tree nodes"].T)
    sums = np.corrcoef(released[:, :, 0].T)
    assert np.abs(nodes - np.eye(7)).max() < 0.05  # seven standard errors
    assert np.abs(sums - np.eye(7)).max() > 0.3


def test_the_laplace_likelihood_is_the_best_score_for_laplace_noise():
    """The share of runs that it sorts right is that of the true likelihood ratio, to four standard errors."""
    coins = np.random.default_rng(1)
    moved = np.array([1.0, 0.5, 0.0])
    low, high = coins.laplace(0, 1, (40_000, 3)), coins.laplace(moved, 1, (40_000, 3))
    truth = np.abs(high).sum(1) - np.abs(high - moved).sum(1)
    learned = next(learn("numbers", low[:20_000], high[:20_000])).score(high)
    assert (learned > 0).mean() == pytest.approx((truth > 0).mean(), abs=0.01)


def test_fisher_sees_through_correlated_noise():
    """A common noise, 50 times as large as the difference, cancels in the score."""
    coins = np.random.default_rng(2)
    common = 50 * coins.standard_normal((2, 5000, 1))
    low, high = common + coins.standard_normal((2, 5000, 2))
    high[:, 0] += 1.0
    scores = {found.name: found.score for found in learn("numbers", low, high)}
    gap = [
        (scores[name](high).mean() - scores[name](low).mean()) / scores[name](low).std()
        for name in ("Fisher's discriminant", "single number")
    ]
    assert gap[0] > 0.6 > 0.1 > gap[1]


def test_worlds_that_do_not_overlap_are_told_apart_whatever_the_scale():
    claim, high = claim_of(sv.PureDP(1.0)), np.arange(1000) % 2 == 1
    for unit in (1e-12, 1.0, 1e15):
        seen = Observations(np.where(high, unit, 0.0)[:, None, None], worlds=high[:, None])
        judged = choose(claim, seen).judged(claim, seen)
        assert (judged.right, judged.wrong) == (1000, 0)


def test_people_about_whom_nothing_is_seen_are_not_guessed():
    """The second of three has no noise; the others have so much that all guesses about them would be luck."""
    coins = np.random.default_rng(3)
    worlds = coins.random((2000, 3)) < 0.5
    released = worlds + coins.laplace(scale=[1000.0, 1e-3, 1000.0], size=(2000, 3))
    attack = choose(claim_of(sv.PureDP(1.0)), Observations(released[:, None], worlds=worlds))
    assert list(attack.attacks) == [1]
