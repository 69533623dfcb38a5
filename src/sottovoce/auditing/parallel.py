"""Neighbouring worlds, run many times: cut into chunks, in this process or in several."""

import multiprocessing
import signal
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from sottovoce._checks import whole
from sottovoce.auditing._sources import Pooled, secure_pool
from sottovoce.auditing.attacks.observations import Observations, observed
from sottovoce.auditing.playing.schedules import play
from sottovoce.auditing.playing.survey import Crowd
from sottovoce.auditing.playing.transcripts import harness_for
from sottovoce.auditing.subjects.alone import MechanismAlone
from sottovoce.privacy import NoiseSource, SimulatedNoise

MakeOptimizer = Callable[[int, NoiseSource], Any]


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
        played = [play(harness_for(self.make(self.seed, source)), people, people.world(one)) for one in worlds]
        return observed(played, self.rounds, worlds)


Experiment = BanditExperiment | MechanismAlone
"""Runs people who are each in one of two worlds, by a coin: `crowds` of those who are in a run together."""


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
    batches: list[tuple[int, int]],
    noise_seed: int | None,
) -> list[Observations]:
    """Return what was seen in each batch.

    Parameters
    ----------
    executor
        Who works; None for this process.
    experiment
        What is run.
    batches
        Which crowds, and how many runs of each.
    noise_seed
        Of simulated noise; None for secure noise.
    """
    chunks = [
        (index, (experiment, crowd, min(experiment.chunk, runs - first)))
        for index, (crowd, runs) in enumerate(batches)
        for first in range(0, runs, experiment.chunk)
    ]
    # Every chunk of simulated noise has a stream of its own, so results do not depend on how chunks are shared out.
    seeds = [None if noise_seed is None else (noise_seed, number) for number in range(len(chunks))]
    seen: list[list[Observations]] = [[] for _ in batches]
    work = [(*chunk, seed) for (_, chunk), seed in zip(chunks, seeds, strict=True)]
    for (index, _), piece in zip(chunks, each(executor, _observe, work), strict=True):
        seen[index].append(piece)
    return [Observations.joined(pieces) for pieces in seen]


def _observe(chunk: tuple[Experiment, int, int, tuple[int, int] | None]) -> Observations:
    experiment, crowd, runs, seed = chunk
    source = secure_pool() if seed is None else Pooled(SimulatedNoise(seed[0] * 2**32 + seed[1]))
    coins = np.random.default_rng(seed)  # of the worlds; fresh ones without a seed
    return experiment.observe(crowd, runs, source, coins)


def in_fresh_processes(count: int, work: Callable[..., Any], *arguments: Any) -> list[Any]:
    """Do the same work in several processes that were never used before, one after another; return what each found."""
    spawning = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, spawning, _ignore_interrupts, max_tasks_per_child=1) as fresh:
        return [fresh.submit(work, *arguments).result() for _ in range(whole("processes", count))]


def _ignore_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears them, and stops what is left
