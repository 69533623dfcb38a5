"""Noise, checked as noise: whether it has the stated scale and shape, and whether every draw is fresh.

Draws come from fresh processes, since a program that seeds itself is at its most convincing within one. Each test below
bounds the probability of a false alarm without approximations that fail in the tail:

- scale: sum |z|/scale of Laplace noise is gamma distributed, sum (z/scale)^2 of Gaussian noise chi-squared; both to
  within the discreteness of fine grids. Coarse ones are left to the shape.
- shape: the largest distance of the empirical distribution function from the exact discrete one exceeds t with
  probability at most 2 exp(-2 n t^2) (Dvoretzky, Kiefer & Wolfowitz, Massart), whatever the distribution.
- independence, of numbers released together, of successive releases and of processes: draws are brought to (-1, 1) by
  their distribution function, and the mean of their products is judged by Bernstein's inequality.
- repeats: on a fine grid, equal draws are too rare to occur; on others they are counted against a Poisson bound.

Tests: tests/auditing/test_noise_checks.py.
"""

import math
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import ndtr

from sottovoce._arrays import Floats, Integers
from sottovoce.auditing.parallel import in_fresh_processes
from sottovoce.auditing.playing.schedules import at_once, play
from sottovoce.auditing.playing.worlds import Neighbours
from sottovoce.auditing.results import Check
from sottovoce.auditing.subjects.configurations import Configuration
from sottovoce.domains import Box, Simplex
from sottovoce.errors import ForkRefused
from sottovoce.privacy import Noise, PureDP, SecureNoise, local
from sottovoce.privacy.local import OneBitChannel

# ----------------------------------------------------------------------
# Noise as it comes out, from samplers, channels, threads, optimizers and studies. Where every loss is the lowest of its
# range, its integer is 0, and what is released is noise and nothing else.

_THREADS, _FORKED = 4, 200
_FINE = 2.0**40  # of so many values no two draws are equal, but for once in millions of runs
_NOBODY = Neighbours((), ())


@dataclass(frozen=True, eq=False)
class NoiseStream:
    """Draws that are said to be independent, of one distribution.

    Attributes
    ----------
    values
        (draws, together): one row for each release, with the numbers that were released together.
    noise
        The distribution that is stated; None for one bit.
    chance
        Of a report of +1, where reports are one bit.
    """

    name: str
    values: Integers
    noise: Noise | None
    chance: float | None = None


def collect(
    make_source: Callable[[], Any] | None = None, draws: int = 2000, parts: tuple[str, ...] | None = None
) -> list[NoiseStream]:
    """Collect noise in this process.

    Parameters
    ----------
    make_source
        Makes the source under test; by default secure noise, and optimizers and studies with what they take by default.
    draws
        From each sampler and channel; optimizers and studies, which are slower, give fewer.
    parts
        Names of what to collect; by default everything.
    """
    made = [(name, collected) for name, collected in _PARTS.items() if parts is None or name in parts]
    return [stream for name, collected in made for stream in collected(name, make_source, draws)]


def _samplers(name: str, make_source: Any, draws: int) -> list[NoiseStream]:
    """Two samplers of each distribution, side by side: what one draws must say nothing about the other."""
    source, other = (_source(make_source) for _ in range(2))
    found = []
    for noise in (Noise("laplace", 1000.0), Noise("gaussian", 1000.0), Noise("laplace", _FINE), Noise("gaussian", 9.0)):
        both = [one.sampler(noise).draw(draws) for one in (source, other)]
        found.append(NoiseStream(f"{noise.family} noise of scale {noise.scale:.3g}", np.stack(both, axis=1), noise))
    return found


def _threads(name: str, make_source: Any, draws: int) -> list[NoiseStream]:
    """One sampler that several threads draw from: nothing may be handed out twice."""
    noise = Noise("laplace", _FINE)
    sampler = _source(make_source).sampler(noise)
    return [NoiseStream("noise drawn by threads", _at_once(lambda: int(sampler.draw(1)[0]), draws), noise)]


def _at_once(draw: Callable[[], int], draws: int) -> Integers:
    drawn: list[list[int]] = [[] for _ in range(_THREADS)]
    begin = threading.Barrier(_THREADS)

    def work(own: list[int]) -> None:
        begin.wait()
        own.extend(draw() for _ in range(draws // _THREADS))

    at_once([partial(work, own) for own in drawn])
    return np.array(drawn, dtype=np.int64).T


def _forks(name: str, make_source: Any, draws: int) -> list[NoiseStream]:
    """One sampler on both sides of a fork: a child that is refused, as it should be, takes one of its own."""
    if not hasattr(os, "fork"):  # nothing to look at, where nothing forks
        return []
    noise = Noise("laplace", _FINE)
    source = _source(make_source)
    sampler = source.sampler(noise)
    sampler.draw(1)  # so that there is a block to inherit
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(writing, _own_draws(sampler, source, noise).tobytes())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        inherited = np.frombuffer(pipe.read(), dtype=np.int64)
    os.waitpid(child, 0)
    return [NoiseStream("noise on both sides of a fork", np.stack([sampler.draw(_FORKED), inherited], axis=1), noise)]


def _own_draws(sampler: Any, source: Any, noise: Noise) -> Integers:
    try:
        return np.asarray(sampler.draw(_FORKED))
    except ForkRefused:
        return np.asarray(source.sampler(noise).draw(_FORKED))


def _channels(name: str, make_source: Any, draws: int) -> list[NoiseStream]:
    """Reports of the lowest loss and the highest: as sharp as epsilon allows, and no sharper."""
    channel, sharpest = OneBitChannel((0.0, 1.0), 1.0), 1 / (1 + math.exp(-1.0))
    found = []
    for loss, chance in ((0.0, 1 - sharpest), (1.0, sharpest)):
        reports = np.array([local.privatise(loss, channel) for _ in range(draws)])
        found.append(NoiseStream(f"one-bit channel, loss {loss:g}", reports[:, None], None, chance))
    return found


def _optimizers(name: str, make_source: Any, draws: int) -> list[NoiseStream]:
    """Releases of optimizers that nobody passed a source to: two numbers a round, many rounds."""
    rounds = max(8, draws // 40)
    frames, tree = _frames(rounds), {"exploration": "sphere", "mechanism": "tree", "batch_size": 2}
    nodes = Configuration(Box(0.0, 1.0, 2), PureDP(1.0), 2 * rounds + 2, tree)
    found = []
    for label, configuration in (("numbers of an optimizer", frames), ("nodes of an optimizer's tree", nodes)):
        source: Any = None if make_source is None else make_source()
        released = np.array(play(configuration(0, source), _NOBODY, 0).released)
        if configuration is nodes:
            sums, count = np.concatenate([np.zeros_like(released[:1]), released]), np.arange(1, len(released) + 1)
            released = sums[1:] - sums[count & (count - 1)]
        found.append(NoiseStream(label, released.astype(np.int64), configuration.plan.noise))
    return found


def _studies(name: str, make_source: Any, draws: int) -> list[NoiseStream]:
    """Releases of a study that nobody passed a source to."""
    small = _frames(max(8, draws // 100))
    source: Any = None if make_source is None else make_source()
    released = play(replace(small, stored=True)(0, source), _NOBODY, 0).released
    return [NoiseStream("numbers of a study", np.array(released).astype(np.int64), small.plan.noise)]


def _frames(rounds: int) -> Configuration:
    choices = {"exploration": "frames", "batch_size": 4, "directions": 2}
    return Configuration(Simplex(3), PureDP(1.0), 4 * rounds + 4, choices)


def _source(make_source: Any) -> Any:
    return SecureNoise() if make_source is None else make_source()


_PARTS: dict[str, Callable[[str, Any, int], list[NoiseStream]]] = {
    "samplers": _samplers,
    "threads": _threads,
    "forks": _forks,
    "channels": _channels,
    "optimizers": _optimizers,
    "studies": _studies,
}


# ----------------------------------------------------------------------
# How it is judged.


_FINE_ENOUGH = 100.0  # scales from which discreteness is far below what so many draws can see
_Test = tuple[str, float]  # what it would mean, and how probable that is by chance


def check_noise(
    make_source: Callable[[], Any] | None = None,
    *,
    draws: int = 4000,
    processes: int = 2,
    confidence: float = 0.999,
    parts: tuple[str, ...] | None = None,
) -> list[Check]:
    """Collect noise in fresh processes, and judge it; one check for each stream, all at `confidence` together.

    Parameters
    ----------
    make_source
        Makes the source under test; by default what the library itself takes.
    draws
        From each sampler and channel, in each process.
    processes
        Fresh processes; 0 collects twice in this one, which is quicker, and blind to a seed that is set at the start.
    confidence
        1 - confidence is the probability that right noise fails any of these checks.
    parts
        What to collect: "samplers", "threads", "channels", "optimizers", "studies"; by default all.
    """
    if processes:
        runs = in_fresh_processes(processes, collect, make_source, draws, parts)
    else:
        runs = [collect(make_source, draws, parts) for _ in range(2)]
    return judge(runs, confidence)


def judge(processes: Sequence[Sequence[NoiseStream]], confidence: float) -> list[Check]:
    """Judge what was collected in several processes."""
    tested = [(streams, list(_tests(streams))) for streams in zip(*processes, strict=True)]
    count = sum(len(tests) for _, tests in tested)
    level = (1 - confidence) / count
    return [_check(streams, tests, level) for streams, tests in tested]


def _check(streams: Sequence[NoiseStream], tests: list[_Test], level: float) -> Check:
    alarms = [meaning for meaning, chance in tests if chance < level]
    values = sum(stream.values.size for stream in streams)
    fine = f"{values:,} draws of {len(streams)} processes: scale, shape and independence as stated"
    words = f"{values:,} draws: {'; '.join(alarms)}" if alarms else fine
    return Check(streams[0].name, "noise", not alarms, words, len(tests), level * len(tests))


def _tests(streams: Sequence[NoiseStream]) -> Iterator[_Test]:
    """Yield every test of one kind of stream: what it would mean, and its probability under the stated noise."""
    from scipy import stats  # slow to import, and only audits need it

    first = streams[0]
    pooled = np.concatenate([stream.values.ravel() for stream in streams])
    if first.noise is None:
        hits, chance = int((pooled == 1).sum()), float(first.chance or 0.0)
        yield "a report is likelier than stated", float(stats.binomtest(hits, len(pooled), chance).pvalue)
        spread = [(stream.values - np.mean(stream.values)) / 2 for stream in streams]
    else:
        yield from _distribution(pooled, first.noise)
        yield from _repeats(streams, first.noise)
        spread = [2 * _uniform(stream.values, first.noise) - 1 for stream in streams]
    yield from _independence(spread)


def _distribution(values: Any, noise: Noise) -> Iterator[_Test]:
    from scipy import stats  # slow to import, and only audits need it

    if noise.scale >= _FINE_ENOUGH:
        laplace = noise.family == "laplace"
        total = float(np.abs(values / noise.scale).sum() if laplace else ((values / noise.scale) ** 2).sum())
        law: Any = stats.gamma(len(values)) if laplace else stats.chi2(len(values))
        yield "the noise is smaller than stated", float(law.cdf(total))
        yield "the noise is larger than stated", float(law.sf(total))
    found, counts = np.unique(values, return_counts=True)
    below = (np.cumsum(counts) - counts) / len(values), np.cumsum(counts) / len(values)
    exact = _distribution_function(found - 1.0, noise), _distribution_function(found, noise)
    distance = max(float(np.abs(one - other).max()) for one, other in zip(below, exact, strict=True))
    yield "the noise has another distribution", min(1.0, 2 * math.exp(-2 * len(values) * distance**2))


def _distribution_function(values: Any, noise: Noise) -> Floats:
    """P(z <= value) of discrete noise, exactly for Laplace; for Gaussians the midpoint rule errs by e^-(2 pi^2 s^2)."""
    values = np.asarray(values, dtype=np.float64)
    if noise.family == "gaussian":
        return np.asarray(ndtr((values + 0.5) / noise.scale)) if noise.scale >= _FINE_ENOUGH else _summed(values, noise)
    decay = math.exp(-1 / noise.scale)
    tail = np.exp(-(np.abs(values) + (values >= 0)) / noise.scale) / (1 + decay)  # beyond, on the value's own side
    return np.asarray(np.where(values >= 0, 1 - tail, tail))


def _summed(values: Floats, noise: Noise) -> Floats:
    reach = math.ceil(12 * noise.scale)
    support = np.arange(-reach, reach + 1)
    weights = np.exp(-(support**2) / (2 * noise.scale**2))
    total = np.concatenate([[0.0], np.cumsum(weights) / weights.sum()])
    return np.asarray(total[np.clip(values + reach + 1, 0, 2 * reach + 1).astype(np.int64)])


def _uniform(values: Any, noise: Noise) -> Floats:
    """The middle of the step of the distribution function at each value: close to uniform on (0, 1)."""
    return (_distribution_function(values - 1.0, noise) + _distribution_function(values, noise)) / 2


def _repeats(streams: Sequence[NoiseStream], noise: Noise) -> Iterator[_Test]:
    """Equal draws anywhere, against what chance allows: P(two are equal) is at most 1/(2 scale)."""
    from scipy import stats  # slow to import, and only audits need it

    values = np.concatenate([stream.values.ravel() for stream in streams])
    pairs = len(values) * (len(values) - 1) / 2
    _, counts = np.unique(values, return_counts=True)
    found = int((counts * (counts - 1) // 2).sum())
    expected = pairs / (2 * noise.scale)
    if expected < 1:  # so rare that they are as good as independent
        yield f"{found} draws were handed out twice", float(stats.poisson.sf(found - 1, expected)) if found else 1.0
    for one, other in _side_by_side([stream.values for stream in streams]):
        same, places = int((one == other).sum()), one.size
        chance = float(stats.binom.sf(same - 1, places, min(1.0, 1 / (2 * noise.scale)))) if same else 1.0
        yield f"{same} of {places} draws are the same in two places", chance


def _side_by_side(arrays: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    """Draws that ought to have nothing to do with each other: together, one after another, in two processes."""
    for values in arrays:
        for column in range(1, values.shape[1]):
            yield values[:, 0], values[:, column]
        yield values[1:].ravel(), values[:-1].ravel()
    for one, other in pairwise(arrays):
        yield one.ravel(), other.ravel()


def _independence(spread: Sequence[Floats]) -> Iterator[_Test]:
    for one, other in _side_by_side(spread):
        yield "draws depend on each other", _bernstein(one * other)


def _bernstein(products: Floats) -> float:
    """P(a mean so far from 0), for independent terms within (-1, 1) of mean 0 and variance 1/9 at most.

    Successive products share a factor; those at even and at odd places do not, and the worse half is judged.
    """
    chances = []
    for half in (products[::2], products[1::2]):
        size, mean = len(half), abs(float(half.mean()))
        chances.append(2 * math.exp(-size * mean**2 / 2 / (1 / 9 + mean / 3)))
    return min(1.0, 2 * min(chances))
