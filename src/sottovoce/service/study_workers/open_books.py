"""What a process has open, by name: opened when it is first wanted, and closed when others need the place."""

import asyncio
import math
import time
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, Generic, TypeVar

from sottovoce.errors import ConfigurationMismatch, StateRefused, StudyNotFound
from sottovoce.evaluations import PrivateEvaluations
from sottovoce.privacy import NoiseSource
from sottovoce.privacy.noise import WithheldNoise
from sottovoce.rounds.stored import book_name
from sottovoce.service.settings import Settings
from sottovoce.studies import Study

_FRESH = 0.05  # seconds within which who has a name is not looked up again
Kept = TypeVar("Kept", Study, PrivateEvaluations)
Found = TypeVar("Found")


class OpenBook(Generic[Kept]):
    """A study, or evaluations, and how many look at it.

    Parameters
    ----------
    kept
        What is open: it is this object's from now on, which closes it.
    """

    def __init__(self, kept: Kept) -> None:
        self.kept: Kept = kept
        self._looking = 0
        self.closed = self.gone = False
        self.number: int | None = None  # in the storage; and when it was last seen to have its name still
        self.looked = -math.inf
        self._made: dict[str, tuple[asyncio.Lock, list[Any]]] = {}  # by name: the version that it is of, and it

    @property
    def idle(self) -> bool:
        """Whether nobody waits for anything."""
        return not self._looking

    async def look(self, function: Callable[[Kept], Found]) -> Found:
        """Return what a function says of it; it runs in a thread, beside those who ask and tell."""
        self._looking += 1
        running = asyncio.get_running_loop().run_in_executor(None, function, self.kept)
        running.add_done_callback(self._leave)
        return await asyncio.shield(running)  # a caller who goes away ends nothing that is under way

    def _leave(self, done: "asyncio.Future[Any]") -> None:
        self._looking -= 1
        self.gone = self.gone or isinstance(done.exception(), StudyNotFound)

    async def made(self, what: str, version: Any, make: Callable[[Kept], Found]) -> Found:
        """Return what takes long to make, made once for each version of what it is made from.

        Parameters
        ----------
        what
            Its name.
        version
            Which version is wanted.
        make
            Makes it, in a thread.
        """
        lock, known = self._made.setdefault(what, (asyncio.Lock(), [None, None]))
        async with lock:  # of many who want it at once, one works
            if known[0] != version:
                known[:] = version, await self.look(make)
            found: Found = known[1]
            return found

    async def close(self) -> None:
        """Take no more calls; close it, once what was called for is done."""
        self.closed = True
        await asyncio.to_thread(self.kept.close)


Opened = TypeVar("Opened", bound=OpenBook[Any])


class OpenBooks(Generic[Opened]):
    """Opens each once in a process.

    Parameters
    ----------
    opens
        Opens one by its name.
    numbers
        Looks up which one has a name now, by its number: after it was renamed, another may have its name, and be
        somebody else's.
    most
        How many are kept open: those that were not used for longest are closed, if nobody waits for them.
    """

    def __init__(
        self,
        opens: Callable[[str], Coroutine[Any, Any, Opened]],
        numbers: Callable[[str], Coroutine[Any, Any, int | None]],
        most: int,
    ) -> None:
        self._opens, self._numbers, self._most = opens, numbers, most
        self._open: OrderedDict[str, asyncio.Task[Opened]] = OrderedDict()  # done, once it is open
        self._closing: set[asyncio.Task[None]] = set()

    async def __call__(self, name: str) -> Opened:
        """Return what serves a study, or evaluations; they are opened if need be."""
        if name not in self._open:
            opening = self._open[name] = asyncio.create_task(self._opened(name))
            opening.add_done_callback(lambda done: done.exception() is None or self._forget(name, done))
        self._open.move_to_end(name)
        task = self._open[name]
        one = await asyncio.shield(task)
        if time.monotonic() - one.looked > _FRESH:
            one.gone = await self._numbers(name) != one.number or one.gone
            one.looked = time.monotonic()
        if one.gone:  # deleted, renamed, or moved away; there may be another one of that name
            self._close(name, task)
        if one.closed:  # or others have needed its place meanwhile
            return await self(name)
        if (many := len(self._open) - self._most) > 0:
            there = [(other, it) for other, it in self._open.items() if it.done() and it is not task]
            idle = [pair for pair in there if pair[1].exception() is None and pair[1].result().idle]
            for other, it in idle[:many]:
                self._close(other, it)
        return one

    async def _opened(self, name: str) -> Opened:
        number = await self._numbers(name)  # before it is opened: who has the name after that is looked up again
        one = await self._opens(name)
        one.number = number
        return one

    def _forget(self, name: str, task: "asyncio.Task[Opened]") -> bool:
        return self._open.get(name) is task and self._open.pop(name) is task

    def _close(self, name: str, task: "asyncio.Task[Opened]") -> None:
        task.result().closed = True  # from this moment on
        if self._forget(name, task):
            closing = asyncio.create_task(task.result().close())
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)

    async def close(self) -> None:
        """Carry out all that has arrived, and close all of them: what they had in hand is given back."""
        await asyncio.gather(*self._open.values(), return_exceptions=True)
        for name, task in list(self._open.items()):
            if task.exception() is None:
                self._close(name, task)
        await asyncio.gather(*self._closing)


def open_study(settings: Settings, name: str) -> tuple[Study, StateRefused | None]:
    """Open a study, to ask and tell; or, if its noise was simulated and that is not wanted here, to look at.

    Return it, and why it can only be looked at.
    """

    def opened(noise: NoiseSource | None) -> Study:
        return Study.open(settings.storage, name=name, noise=noise)

    try:
        return _found(settings, name, opened), None
    except StateRefused as refused:
        return opened(WithheldNoise()), refused


def open_evaluations(settings: Settings, name: str) -> PrivateEvaluations:
    """Open evaluations, to whom repeating a call does no harm."""
    given: dict[str, Any] = {"storage": settings.storage, "name": name, "repeat": "ignore"}
    return _found(settings, name, lambda noise: PrivateEvaluations(**given, noise=noise))


def _found(settings: Settings, name: str, opened: Callable[[NoiseSource | None], Found]) -> Found:
    """Open what has a name, with the noise that it was made with: simulated, where that is wanted, or real."""
    for noise in dict.fromkeys((settings.noise, None)) if is_name(name) else ():
        with suppress(ConfigurationMismatch):  # its noise is of the other kind, or it is no study, but evaluations
            return opened(noise)
    raise StudyNotFound("there is nothing of this name")


def is_name(name: str) -> bool:
    """Say whether anything can have a name."""
    try:
        book_name(name)
    except ValueError:  # which repeats the name, and is not what a loss is refused for
        return False
    return True
