"""One list of facts for every mechanism of running sums."""

import math
import tracemalloc

import dp_accounting
import numpy as np
import pytest

from sampling import every
from sottovoce.auditing._sources import Silence
from sottovoce.privacy import (
    MECHANISMS,
    ZCDP,
    ApproxDP,
    LocalDP,
    Noise,
    NoPrivacy,
    PureDP,
    Sensitivity,
    SimulatedNoise,
    levels,
)
from sottovoce.privacy.noise import add as real_add

SAFETY = 1 + 1e-12  # that calibration adds against float rounding
SIZES = {"l1": 3_000_000, "l2": 2e6, "length": 100, "dimension": 4}


def noise_of(name, guarantee, **sizes):
    return MECHANISMS[name].noise(guarantee, Sensitivity(**sizes))


def running_sums(name, guarantee, source, **sizes):
    return MECHANISMS[name].start(Sensitivity(**sizes), source.sampler(noise_of(name, guarantee, **sizes)))


def fixed_noise():
    return SimulatedNoise(99).sampler(Noise("laplace", 1e6))


def noised(monkeypatch, module, stream, vectors):
    """All integers that are handed to noise, in order: the vector whose sensitivity is stated."""
    seen = []

    def spy(sums, noise):
        seen.append(np.array(sums))
        return real_add(sums, noise)

    with monkeypatch.context() as patch:
        patch.setattr(module, "add", spy)
        for vector in vectors:
            stream.add(vector)
    return np.array(seen)


def stated(mechanism, l1, l2, length, dimension):
    """(l1, l2, how many noised vectors move) of the whole transcript, as each file states them."""
    reached = levels(length + 1) if mechanism == "tree" else 1
    return reached * l1, math.sqrt(reached) * (l1 if mechanism == "probe-sums" else l2), reached


@every("length", [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33])
def test_one_round_moves_what_is_noised_by_no_more_than_stated(monkeypatch, mechanism, make, module, length):
    """Every round in turn, noise held fixed; the change is the largest allowed, in one coordinate and spread out."""
    rng = np.random.default_rng(length)
    vectors = rng.integers(-(10**6), 10**6, (length, 3))
    for change in (np.array([0, -5000, 0]), np.array([3000, -4000, 0]), rng.integers(-2800, 2800, 3)):
        l1, l2 = int(np.abs(change).sum()), float(np.linalg.norm(change))
        largest_l1, largest_l2, reached = stated(mechanism, l1, l2, length, 3)
        before = noised(monkeypatch, module, make(length, 3, fixed_noise()), vectors)
        for where in range(length):
            other = vectors.copy()
            other[where] += change
            moved = noised(monkeypatch, module, make(length, 3, fixed_noise()), other) - before
            assert np.abs(moved).sum() <= largest_l1
            assert np.linalg.norm(moved.astype(float)) <= largest_l2 * SAFETY
            assert (moved != 0).any(axis=1).sum() <= reached
            if where == 0 and mechanism != "fresh":  # the first round is in the most: the bound is not padded
                assert np.linalg.norm(moved.astype(float)) >= 0.99 * largest_l2


def test_what_comes_out_is_a_function_of_what_was_noised(monkeypatch, mechanism, make, module):
    """Replace the noisy integers by constants: other data then gives the same outputs, bit for bit."""
    outputs = []
    for seed in (1, 2):
        rng, constants = np.random.default_rng(seed), np.random.default_rng(7)
        stream = make(50, 2, Silence())
        with monkeypatch.context() as patch:
            patch.setattr(module, "add", lambda sums, noise, c=constants: c.integers(-1000, 1000, 2))
            outputs.append([stream.add(rng.integers(-1000, 1000, 2)) for _ in range(50)])
    assert np.array_equal(outputs[0], outputs[1])


@every("length", [1, 2, 7, 64, 100, 600])
def test_without_noise_the_sums_are_the_sums(mechanism, make, length):
    vectors = np.random.default_rng(length).integers(-(10**7), 10**7, (length, 3))
    stream = make(length, 3, Silence())
    assert np.array_equal(stream.start(), np.zeros(3))
    released = np.array([stream.add(vector) for vector in vectors])
    assert np.abs(released - vectors.cumsum(axis=0)).max() <= 1e-6
    assert stream.round == length


@every("length", [1, 2, 60, 127, 300])
def test_stated_errors_are_those_of_the_noise_that_is_drawn(mechanism, length):
    """Variances over 4000 independent coordinates: within 14% with probability above 1 - 1e-6 each."""
    sizes = {"l1": 10**6, "l2": 1e6, "length": length, "dimension": 4000}
    stream = running_sums(mechanism, ZCDP(0.5), source=SimulatedNoise(length), **sizes)
    zero = np.zeros(4000, dtype=np.int64)
    measured = np.array([np.mean(stream.add(zero) ** 2) for _ in range(length)])
    rounds = np.arange(1, length + 1)
    nodes = rounds if mechanism == "fresh" else np.bitwise_count(rounds)
    unit = noise_of(mechanism, ZCDP(0.5), **sizes).standard_deviation ** 2
    assert measured == pytest.approx(unit * nodes, rel=0.14)
    for long in (length, 5000, 70_000):
        rounds = np.arange(1, long + 1)
        nodes = rounds if mechanism == "fresh" else np.bitwise_count(rounds)
        assert MECHANISMS[mechanism].mean_variance(long) == pytest.approx(nodes.mean(), rel=1e-9)


@every("contributions", [1, 3])
def test_gaussian_calibration_agrees_with_dp_accounting(mechanism, contributions):
    scale = noise_of(mechanism, ApproxDP(1.0, 1e-6, contributions), **SIZES).scale
    sensitivity = contributions * stated(mechanism, **SIZES)[1]
    accountant = dp_accounting.pld.PLDAccountant()
    accountant.compose(dp_accounting.GaussianDpEvent(scale / sensitivity))
    assert accountant.get_epsilon(1e-6) == pytest.approx(1.0, rel=2e-3)


@every("name", [one.name for one in MECHANISMS.values() if PureDP in one.guarantees])
@every("contributions", [1, 3])
def test_calibration_spends_what_it_may_and_no_more(name, contributions):
    l1, l2, _ = stated(name, **SIZES)
    spent = contributions * l1 / noise_of(name, PureDP(0.7, contributions), **SIZES).scale
    assert 0.7 * (1 - 1e-9) <= spent <= 0.7 * (1 + 1e-15)
    rho = (contributions * l2 / noise_of(name, ZCDP(0.3, contributions), **SIZES).scale) ** 2 / 2
    assert 0.3 * (1 - 1e-9) <= rho <= 0.3


@every("guarantee", [NoPrivacy(), LocalDP(1.0)])
def test_what_noise_cannot_give_is_refused(mechanism, guarantee):
    with pytest.raises(TypeError, match=type(guarantee).__name__):
        noise_of(mechanism, guarantee, **SIZES)


@every(("argument", "bad"), [("l1", 0), ("l2", 0.0), ("length", 0), ("dimension", 0)])
def test_bad_sizes_are_refused_by_name(mechanism, argument, bad):
    with pytest.raises(ValueError, match=argument):
        noise_of(mechanism, ZCDP(0.5), **(SIZES | {argument: bad}))


def test_bad_vectors_are_refused_without_being_shown_and_change_nothing(mechanism, make):
    stream = make(8, 2, Silence())
    stream.add(np.array([1, 2]))
    for bad in (np.array([777, 2, 3]), np.array([777.5, 1.0]), [[777, 2]], np.array([777, 2], dtype=np.int32)):
        with pytest.raises(ValueError, match="vector must be int64") as caught:
            stream.add(bad)
        assert "777" not in str(caught.value)
    assert stream.add(np.array([10, 20])) == pytest.approx([11, 22], abs=1)


def test_what_was_added_and_what_was_released_may_be_overwritten_by_its_owner(mechanism, make):
    stream = make(8, 1, Silence())
    for t in range(1, 9):
        vector = np.array([5000])
        released = stream.add(vector)
        assert released == pytest.approx([5000 * t], abs=10)
        vector[:] = released[:] = 0


class FailingNoise(Silence):
    broken = True

    def draw(self, size):
        if self.broken:
            raise OSError("no entropy")
        return super().draw(size)


def test_a_failing_sampler_changes_nothing(mechanism, make):
    sampler = FailingNoise()
    stream = make(8, 1, sampler)
    for t in range(1, 9):
        sampler.broken = True
        with pytest.raises(OSError, match="entropy"):
            stream.add(np.array([5000]))
        assert stream.round == t - 1
        sampler.broken = False
        assert stream.add(np.array([5000])) == pytest.approx([5000 * t], abs=10)


@every("name", [one.name for one in MECHANISMS.values() if one.mean_variance])
def test_memory_stays_small_at_a_million_rounds_in_a_hundred_dimensions(name):
    """Only the first rounds are run: what could grow with time is a node per level, and is seen by then."""
    tracemalloc.start()
    stream = running_sums(
        name, ZCDP(0.5), l1=10 * 2**36, l2=2.0**36, length=10**6, dimension=100, source=SimulatedNoise(0)
    )
    vector = np.ones(100, dtype=np.int64)
    for _ in range(1500):
        stream.add(vector)
    early = tracemalloc.get_traced_memory()[0]
    for _ in range(1500):
        stream.add(vector)
    late, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20e6
    assert late - early < 20e3
