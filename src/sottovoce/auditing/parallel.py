"""Neighbouring worlds, run many times: cut into chunks, in this process or in several."""

import multiprocessing
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from sottovoce._checks import whole
from sottovoce.auditing._sources import Pooled, secure_pool
from sottovoce.auditing.attacks.observations import Observations, observed
from sottovoce.auditing.playing.neighbours import Crowd
from sottovoce.auditing.playing.schedules import play
from sottovoce.auditing.playing.transcripts import harness_for
from sottovoce.auditing.subjects.alone import MechanismAlone, OwnersChannel
from sottovoce.privacy import NoiseSource, SimulatedNoise

MakeOptimizer = Callable[[int, NoiseSource], Any]


class Experiment(Protocol):
    """Runs people who are each in one of two worlds, by a coin."""

    @property
    def crowds(self) -> Sequence[Any]:
        """The people who are in a run together: each says in words how its two worlds differ."""

    @property
    def chunk(self) -> int:
        """How many runs to ask for at a time."""

    def observe(self, crowd: int, runs: int, source: NoiseSource, coins: np.random.Generator) -> Observations:
        """Run one of the crowds, each person in a world that a coin chooses."""


@dataclass(frozen=True)
class BanditExperiment:
    """Fresh optimizers (or studies), each played from its first ask to its last tell."""

    make: MakeOptimizer
    crowds: tuple[Crowd, ...]
    rounds: tuple[int, ...]
    seed: int
    chunk: int = 50

    def observe(self, crowd: int, runs: int, source: NoiseSource, coins: np.random.Generator) -> Observations:
        """Run one of the crowds. The public coins are the same in every run: an adversary knows them anyway."""
        people = self.crowds[crowd]
        worlds = coins.random((runs, len(people))) < 0.5
        played = [play(harness_for(self.make(self.seed, source), source), people, people.world(one)) for one in worlds]
        return observed(played, self.rounds, worlds)


@dataclass(frozen=True)
class MechanismExperiment:
    """A mechanism alone."""

    mechanism: MechanismAlone | OwnersChannel
    people: tuple[tuple[int, ...], ...]
    chunk: int = 2500

    @property
    def crowds(self) -> list[list[str]]:
        """One person each: in which rounds."""
        return [[f"round{'s' * (len(one) > 1)} {', '.join(str(t + 1) for t in one)}"] for one in self.people]

    def observe(self, crowd: int, runs: int, source: NoiseSource, coins: np.random.Generator) -> Observations:
        """Run it; runs of the first world come first, which shows nothing to an attack that looks at one at a time."""
        high = int(coins.binomial(runs, 0.5))
        parts = [(None, runs - high), (self.people[crowd], high)]
        seen = [self.mechanism.observe(person, count, source) for person, count in parts if count]
        return replace(Observations.joined(seen), worlds=np.arange(runs)[:, None] >= runs - high)


Progress = Callable[[int], None]


@dataclass(frozen=True)
class Batch:
    """So many runs of one crowd."""

    crowd: int
    runs: int


@dataclass(frozen=True)
class _Chunk:
    experiment: Experiment
    index: int  # among the batches that were asked for
    crowd: int
    runs: int
    noise_seed: tuple[int, int] | None  # None: secure noise

    def observe(self) -> Observations:
        # Every chunk of simulated noise has a stream of its own, so results do not depend on how chunks are shared out.
        source = secure_pool() if self.noise_seed is None else Pooled(SimulatedNoise(_mixed(*self.noise_seed)))
        coins = np.random.default_rng(self.noise_seed)  # of the worlds; fresh ones without a seed
        return self.experiment.observe(self.crowd, self.runs, source, coins)


@contextmanager
def processes(count: int) -> Iterator[Executor | None]:
    """Yield so many processes to share work out to; None, for this one alone, if that is 1.

    Parameters
    ----------
    count
        How many. They are started fresh (spawned): a fork would inherit threads, and noise.
    """
    if whole("workers", count) == 1:
        yield None
        return
    pool = ProcessPoolExecutor(count, multiprocessing.get_context("spawn"), _ignore_interrupts)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def each(executor: Executor | None, work: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
    """Do some work on every item, by an executor or here; yield what came of each, in their order.

    Parameters
    ----------
    executor
        Who works; None for this process.
    work
        What is done; it must be possible to pickle it, with its items.
    items
        On what.
    """
    return map(work, items) if executor is None else executor.map(work, items)


def observe(
    executor: Executor | None,
    experiment: Experiment,
    batches: list[Batch],
    noise_seed: int | None,
    progress: Progress,
) -> list[Observations]:
    """Return what was seen in each batch; `progress` is told of every chunk how many runs it was.

    Parameters
    ----------
    executor
        Who works; None for this process.
    experiment
        What is run.
    batches
        Which crowds, and how often.
    noise_seed
        Of simulated noise; None for secure noise.
    progress
        Told of every chunk.
    """
    chunks = list(_chunks(experiment, batches, noise_seed))
    seen: list[list[Observations]] = [[] for _ in batches]
    for chunk, piece in zip(chunks, each(executor, _Chunk.observe, chunks), strict=True):
        seen[chunk.index].append(piece)
        progress(piece.runs)
    return [Observations.joined(pieces) for pieces in seen]


def in_fresh_processes(
    count: int, work: Callable[..., Any], *arguments: Any, progress: Callable[[int, int], None] | None = None
) -> list[Any]:
    """Do the same work in several processes that were never used before, one after another; return what each found."""
    found = []
    spawning = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, spawning, _ignore_interrupts, max_tasks_per_child=1) as fresh:
        for done in range(1, whole("processes", count) + 1):
            found.append(fresh.submit(work, *arguments).result())
            if progress is not None:
                progress(done, count)
    return found


def _chunks(experiment: Experiment, batches: list[Batch], noise_seed: int | None) -> Iterator[_Chunk]:
    number = 0
    for index, batch in enumerate(batches):
        for first in range(0, batch.runs, experiment.chunk):
            runs = min(experiment.chunk, batch.runs - first)
            seed = None if noise_seed is None else (noise_seed, number)
            yield _Chunk(experiment, index, batch.crowd, runs, seed)
            number += 1


def _ignore_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears them, and stops what is left


def _mixed(seed: int, number: int) -> int:
    return seed * 2**32 + number
