"""Noise checked as noise: what is wrong with it is found, what is right is left alone.

Broken sources are seeded, so what happens to them is a fact. Real noise fails these checks with probability 10^-6.
"""

import threading

import numpy as np

import sottovoce as sv
from sampling import every
from sottovoce.auditing import check_noise
from sottovoce.auditing.noise_checks import NoiseStream, judge
from sottovoce.privacy import Noise

SURE = 1 - 1e-6


def failed(found):
    for one in found:
        print(one)
    return {one.label for one in found if not one.passed}


def stream(values, noise, name="draws"):
    return NoiseStream(name, np.asarray(values, dtype=np.int64).reshape(len(values), -1), noise)


def drawn(noise, shape, seed):
    sampler = sv.SimulatedNoise(seed).sampler(noise)
    return sampler.draw(int(np.prod(shape))).reshape(shape)


def test_real_noise_of_this_process_passes():
    assert not failed(check_noise(processes=0, draws=1000, confidence=SURE))


class FixedSeed:
    """What SecureNoise must never be: the same draws in every optimizer."""

    simulated = False

    def sampler(self, noise):
        return sv.SimulatedNoise(0).sampler(noise)


_generator = sv.SimulatedNoise(1)  # one stream for all of a process: the same in every process that starts


class SeededAtTheStart(FixedSeed):
    def sampler(self, noise):
        return _generator.sampler(noise)


def test_a_fixed_seed_is_seen_in_one_process():
    found = failed(check_noise(FixedSeed, processes=0, draws=400, parts=("samplers", "optimizers")))
    assert {"laplace noise of scale 1e+03", "numbers of an optimizer", "nodes of an optimizer's tree"} <= found


def test_secure_noise_replaced_by_a_fixed_seed(monkeypatch):
    """Nobody passes a source here: optimizers and studies take what the library takes by default."""
    monkeypatch.setattr(sv.SecureNoise, "sampler", FixedSeed.sampler)
    found = failed(check_noise(processes=0, draws=400, parts=("optimizers", "studies")))
    assert {"numbers of an optimizer", "numbers of a study"} <= found


def test_a_seed_that_is_set_at_the_start_is_seen_in_fresh_processes():
    assert not failed(check_noise(SeededAtTheStart, processes=0, draws=200, parts=("samplers",)))
    assert failed(check_noise(SeededAtTheStart, processes=2, draws=200, parts=("samplers",)))


class PerThread(FixedSeed):
    """Every thread has a copy of one and the same stream."""

    def sampler(self, noise):
        local = threading.local()

        class Copied:
            def draw(self, size):
                if not hasattr(local, "own"):
                    local.own = sv.SimulatedNoise(0).sampler(noise)
                return local.own.draw(size)

        return Copied()


def test_noise_that_threads_share_is_seen():
    assert "noise drawn by threads" in failed(check_noise(PerThread, processes=0, draws=400, parts=("threads",)))


class Inherited(FixedSeed):
    """A block that was drawn before a fork, and is used on both sides of it."""

    def __init__(self):
        self._secure = sv.SecureNoise()

    def sampler(self, noise):
        block = iter(self._secure.sampler(noise).draw(1000))

        class Block:
            def draw(self, size):
                return np.array([next(block) for _ in range(size)])

        return Block()


def test_noise_that_a_child_inherits_is_seen():
    assert failed(check_noise(Inherited, processes=0, parts=("forks",))) == {"noise on both sides of a fork"}


LAPLACE, GAUSSIAN = Noise("laplace", 1000.0), Noise("gaussian", 1000.0)


@every("noise", [LAPLACE, GAUSSIAN, Noise("laplace", 5.0), Noise("gaussian", 9.0)])
def test_right_draws_pass_and_wrong_scales_do_not(noise):
    right = [[stream(drawn(noise, (1500, 2), seed), noise)] for seed in (1, 2)]
    assert not failed(judge(right, 0.999))
    for factor in (0.8, 1.25):
        other = Noise(noise.family, noise.scale * factor)
        assert failed(judge([[stream(drawn(other, (1500, 2), seed), noise)] for seed in (1, 2)], 0.999))


def test_another_family_and_noise_that_numbers_or_rounds_share_are_seen():
    laplace = Noise("laplace", 1000 / np.sqrt(2))
    assert failed(judge([[stream(drawn(laplace, (3000, 1), seed), GAUSSIAN)] for seed in (1, 2)], 0.999))
    numbers, fresh = drawn(LAPLACE, (1500, 2), 1), drawn(LAPLACE, (1501, 1), 1)
    numbers[:, 1] = numbers[:, 0] // 2 + numbers[:, 1] // 2
    walking = np.sign(fresh[1:]) * np.abs(fresh[:-1])  # magnitudes of the round before
    rounds = np.where(np.arange(1500)[:, None] % 2, walking, np.abs(walking))
    for shared in (numbers, rounds):
        right = stream(drawn(LAPLACE, shared.shape, 2), LAPLACE)
        assert failed(judge([[stream(shared, LAPLACE)], [right]], 0.999))


def test_right_noise_raises_alarms_no_more_often_than_stated():
    """Of 200 judgements at 90%, 37 alarms would have probability 1e-4 if the level was exact; it is cautious."""
    alarms = 0
    for seed in range(200):
        streams = [[stream(drawn(LAPLACE, (200, 2), 2 * seed + i), LAPLACE)] for i in (0, 1)]
        alarms += any(not one.passed for one in judge(streams, 0.9))
    assert alarms < 37
