"""Segments inform each other exactly as the joint Gaussian of all their coefficients says, written out in full."""

import numpy as np
import pytest

import sottovoce as sv
from sampling import every
from sottovoce.models import HierarchicalPrior, SufficientStatistics, VarianceShares
from sottovoce.models.variance_shares import SHARES

SIZE = 4  # coefficients, the last of them the level
FACTORS = sv.Segments(factors={"device": ["phone", "desktop"], "country": ["it", "de", "fr"]})
FEATURES = sv.Segments([f"hour {i}" for i in range(5)], features=[[np.sin(i), np.cos(i)] for i in range(5)])
PLAIN = sv.Segments(["a", "b", "c", "d"])


class Blank:
    """What is believed of every segment at first: coefficients that depend on each other, around a mean."""

    def __init__(self, seed=0):
        coins = np.random.default_rng(seed)
        self.root = np.linalg.cholesky(np.cov(coins.standard_normal((SIZE, 9))) + np.eye(SIZE))
        self.root[-1, :-1] = 0.0  # the level stands for itself
        self.mean = coins.standard_normal(SIZE)
        self.level_place, self.prior = SIZE - 1, self


class Speaker:
    """A segment with measurements of its coefficients."""

    def __init__(self, coins, measurements, resets=0, coefficients=None):
        self.rows = coins.standard_normal((measurements, SIZE))
        self.weights = coins.uniform(0.5, 20.0, measurements)
        true = coins.standard_normal(SIZE) if coefficients is None else coefficients
        self.means = self.rows @ true + coins.standard_normal(measurements) / np.sqrt(self.weights)
        self.resets, self.known = resets, object()

    def sufficient_statistics(self):
        weighed = self.rows * self.weights[:, None]
        return SufficientStatistics(
            weighed.T @ self.rows, weighed.T @ self.means, numbers=len(self.rows), resets=self.resets
        )


def family(segments, seed=0, variance_shares=None, **options):
    coins, blank = np.random.default_rng(seed), Blank(seed)
    speakers = [Speaker(coins, 3 + place, **options) for place in range(len(segments.names))]
    hierarchy = HierarchicalPrior(segments, blank)
    for name, speaker in zip(segments.names, speakers, strict=True):
        hierarchy.join(segments.row(name), speaker)
    effects = len(segments.groups) - 1
    hierarchy.variance_shares = variance_shares or VarianceShares(3, 4, tuple(range(4, 4 + effects)))
    hierarchy.learned = 10**9  # it stays as it is
    return hierarchy, blank, speakers


def joint_covariance(segments, variance_shares, blank):
    """Of all coefficients of all segments: part by part, in units of the prior, then with what the prior is."""
    own, shares = variance_shares.shares()
    rows = np.array([segments.row(name) for name in segments.names])
    blocks, start = [], 0
    for share, (_, columns) in zip(shares, segments.groups, strict=True):
        blocks.append(share * rows[:, start : start + columns] @ rows[:, start : start + columns].T)
        start += columns
    slopes = sum(blocks) + own * np.eye(len(rows))
    least, level_share = SHARES[0], SHARES[variance_shares.level]
    levels = (1 - level_share + least) * np.ones((len(rows), len(rows))) + level_share * np.eye(len(rows))
    levels = levels + least * (rows[:, 1:] @ rows[:, 1:].T)
    count = len(rows)
    whole = np.zeros((count, SIZE, count, SIZE))
    for place in range(SIZE):
        whole[:, place, :, place] = levels if place == SIZE - 1 else slopes
    root = np.kron(np.eye(count), blank.root)
    return root @ whole.reshape(count * SIZE, count * SIZE) @ root.T


def conditional(covariance, mean, speakers, others, place):
    """Return mean and covariance of the coefficients of one segment, given what was measured of others."""
    rows, weights, means = measured(speakers, others)
    across = covariance @ rows.T
    gain = across @ np.linalg.inv(rows @ across + np.diag(1 / weights))
    mine = slice(place * SIZE, (place + 1) * SIZE)
    return (mean + gain @ (means - rows @ mean))[mine], (covariance - gain @ across.T)[mine, mine]


def measured(speakers, chosen):
    rows = []
    for place in chosen:
        block = np.zeros((len(speakers[place].rows), len(speakers) * SIZE))
        block[:, place * SIZE : (place + 1) * SIZE] = speakers[place].rows
        rows.append(block)
    return (
        np.vstack(rows),
        np.concatenate([speakers[place].weights for place in chosen]),
        np.concatenate([speakers[place].means for place in chosen]),
    )


@every("segments", [PLAIN, FACTORS, FEATURES])
@every("seed", range(3))
def test_what_others_say_is_the_conditional_of_the_joint_gaussian(segments, seed):
    hierarchy, blank, speakers = family(segments, seed)
    covariance = joint_covariance(segments, hierarchy.variance_shares, blank)
    mean = np.tile(blank.mean, len(speakers))
    for place in range(len(speakers)):
        others = [one for one in range(len(speakers)) if one != place]
        right_mean, right_covariance = conditional(covariance, mean, speakers, others, place)
        said = hierarchy.prior(place)
        assert np.allclose(np.linalg.inv(said.precision), right_covariance, rtol=1e-6, atol=1e-9)
        assert np.allclose(np.linalg.solve(said.precision, said.pull), right_mean, rtol=1e-6, atol=1e-8)


@every("segments", [PLAIN, FACTORS, FEATURES])
def test_the_evidence_for_a_likeness_is_the_likelihood_of_all_measurements(segments):
    hierarchy, blank, speakers = family(segments)
    effects = len(segments.groups) - 1
    rows, weights, means = measured(speakers, range(len(speakers)))
    surprise = means - rows @ np.tile(blank.mean, len(speakers))

    def right(variance_shares):
        covariance = rows @ joint_covariance(segments, variance_shares, blank) @ rows.T + np.diag(1 / weights)
        return -(surprise @ np.linalg.solve(covariance, surprise) + np.linalg.slogdet(covariance)[1]) / 2

    first, others = VarianceShares(effects=(2,) * effects), [
        VarianceShares(0, 0, (1,) * effects), VarianceShares(7, 7, (7,) * effects), VarianceShares(4, 2, (6,) * effects)
    ]  # fmt: skip
    for other in others:
        found = hierarchy.log_evidence(other) - hierarchy.log_evidence(first)
        assert found == pytest.approx(right(other) - right(first), rel=1e-6, abs=1e-6)


def test_a_member_that_speaks_for_several_is_heard_as_such_at_once():
    """Whether others had heard it before or not."""
    said = []
    for heard_before in (False, True):
        hierarchy, _, _ = family(PLAIN)
        said += [hierarchy.prior(0)] * heard_before
        hierarchy.mix(1, np.full(4, 0.25))
        said.append(hierarchy.prior(0))
    assert np.array_equal(said[0].precision, said[2].precision)
    assert not np.allclose(said[0].precision, said[1].precision)


def test_a_segment_that_is_not_there_yet_hears_all_of_them():
    hierarchy, blank, speakers = family(PLAIN)
    five = sv.Segments([*PLAIN.names, "e"])
    covariance, mean = joint_covariance(five, hierarchy.variance_shares, blank), np.tile(blank.mean, 5)
    _, right = conditional(covariance, mean, [*speakers, Speaker(np.random.default_rng(9), 1)], range(4), 4)
    assert np.allclose(np.linalg.inv(hierarchy.prior(-1, five.row("e")).precision), right, rtol=1e-6, atol=1e-9)


def test_segments_of_another_era_are_of_another_world():
    hierarchy, _, speakers = family(PLAIN)
    alone, _, quiet = family(PLAIN)
    speakers[1].resets, speakers[1].known = 1, object()
    quiet[1].rows, quiet[1].known = quiet[1].rows * 0, object()
    assert np.allclose(hierarchy.prior(0).precision, alone.prior(0).precision)
    assert not np.allclose(hierarchy.prior(0).precision, family(PLAIN)[0].prior(0).precision)


def learned(coefficients, seed=0):
    """Segments with these coefficients, measured often: which shares of variance are found."""
    coins, blank = np.random.default_rng(seed), Blank(1)
    segments = sv.Segments([f"s{place}" for place in range(len(coefficients))])
    hierarchy = HierarchicalPrior(segments, blank)
    for name, one in zip(segments.names, coefficients, strict=True):
        hierarchy.join(segments.row(name), Speaker(coins, 40, coefficients=one))
    hierarchy.learn()
    return hierarchy.shares()["own"]


def test_how_alike_segments_are_is_learned():
    coins, blank = np.random.default_rng(5), Blank(1)
    common = blank.mean + blank.root @ coins.standard_normal(SIZE)

    def apart(share):
        return [common + np.sqrt(share) * blank.root @ coins.standard_normal(SIZE) for _ in range(20)]

    same, near, far = learned(apart(0.0)), learned(apart(0.05)), learned(apart(4.0))
    assert same < 0.01 < near < 0.3 <= far


def test_who_has_not_noticed_a_change_is_told_once_most_events_are_of_another_era():
    hierarchy, _, speakers = family(PLAIN)
    sizes = np.array([500.0, 300.0, 250.0, 1.0])
    assert hierarchy.prior(3, sizes=sizes).resets == 0
    speakers[0].resets, speakers[0].known = 1, object()
    assert hierarchy.prior(3, sizes=sizes).resets == 0, "less than half of the events"
    speakers[1].resets, speakers[1].known = 2, object()
    assert hierarchy.prior(3, sizes=sizes).resets == 1, "one, or a later one"
    speakers[1].resets, speakers[1].known = 1, object()
    said = hierarchy.prior(3, sizes=sizes)  # by those that were reset as often
    alone, _, quiet = family(PLAIN)
    quiet[2].rows, quiet[2].known = quiet[2].rows * 0, object()
    assert np.allclose(said.precision, alone.prior(3).precision)
