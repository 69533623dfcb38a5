"""Noise as it comes out, collected in one process: from samplers, channels, threads, optimizers and studies.

Where every loss is the lowest of its range, its integer is 0, and what is released is noise and nothing else.
"""

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sottovoce._arrays import Integers
from sottovoce.auditing.playing.schedules import play
from sottovoce.auditing.playing.worlds import Neighbours
from sottovoce.auditing.subjects.configurations import Configuration
from sottovoce.domains import Box, Simplex
from sottovoce.errors import ForkRefused
from sottovoce.privacy import Noise, PureDP, SecureNoise, local
from sottovoce.privacy.local import OneBitChannel

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

    threads = [threading.Thread(target=work, args=(own,)) for own in drawn]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
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
    """Reports of the lowest loss."""
    channel = OneBitChannel((0.0, 1.0), 1.0)
    reports = np.array([local.privatise(0.0, channel) for _ in range(draws)])
    return [NoiseStream("one-bit channel", reports[:, None], None, channel.threshold(0.0) / 2**64)]


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
