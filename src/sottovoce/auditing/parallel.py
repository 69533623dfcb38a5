"""Neighbouring worlds, run many times: cut into chunks, in this process or in several."""

import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
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


class Workers:
    """Runs crowds, in `count` processes, or in this one if that is 1.

    Processes are spawned, not forked, and make their own optimizers: none is ever copied.
    """

    def __init__(self, count: int) -> None:
        self._pool = None
        if whole("workers", count) > 1:
            spawning = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(count, mp_context=spawning, initializer=_ignore_interrupts)

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, *exception: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def observe(
        self, experiment: Experiment, batches: list[Batch], noise_seed: int | None, progress: Progress
    ) -> list[Observations]:
        """Return what was seen in each batch; `progress` is told of every chunk how many runs it was.

        Parameters
        ----------
        experiment
            What is run.
        batches
            Who differs, and for how many runs.
        noise_seed
            Of simulated noise; None for secure noise.
        progress
            Called with the runs of each chunk; None for silence.
        """
        chunks = list(_chunks(experiment, batches, noise_seed))
        seen: dict[int, Observations] = {}
        for number, piece in self.each(_Chunk.observe, chunks):
            seen[number] = piece
            progress(piece.runs)
        ordered = [(chunk.index, seen[number]) for number, chunk in enumerate(chunks)]  # however they came in
        return [
            Observations.joined([piece for index, piece in ordered if index == mine]) for mine in range(len(batches))
        ]

    def each(self, work: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """Do some work on every item, each in one process; yield its number and what came of it, when that is there.

        Parameters
        ----------
        work
            A function of one item that other processes can import.
        items
            What to work on.
        """
        if self._pool is None:
            yield from ((number, work(item)) for number, item in enumerate(items))
            return
        futures = {self._pool.submit(work, item): number for number, item in enumerate(items)}
        for future in as_completed(futures):
            yield futures[future], future.result()


def in_fresh_processes(
    count: int, work: Callable[..., Any], *arguments: Any, progress: Callable[[int, int], None] | None = None
) -> list[Any]:
    """Do the same work in several processes that were never used before, one after another; return what each found."""
    found = []
    for done in range(1, whole("processes", count) + 1):
        spawning = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(1, mp_context=spawning, initializer=_ignore_interrupts) as fresh:
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
