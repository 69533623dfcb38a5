"""What a process has open, by name: opened when it is first wanted, and closed when others need the place."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Generic, Protocol, TypeVar

from sottovoce.errors import ConfigurationMismatch, StateRefused, StudyNotFound
from sottovoce.evaluations import PrivateEvaluations
from sottovoce.privacy.noise import WithheldNoise
from sottovoce.rounds.stored import book_name
from sottovoce.service.settings import Settings
from sottovoce.studies import Study


class _Closable(Protocol):
    def close(self) -> None: ...


Kept = TypeVar("Kept", bound=_Closable)
Found = TypeVar("Found")


class OpenBook(Generic[Kept]):
    """A study, or evaluations, and how many look at it.

    Parameters
    ----------
    kept
        What is open: it is this object's from now on, which closes it.
    """

    def __init__(self, kept: Kept) -> None:
        self.kept, self._looking = kept, 0
        self.closed = self.gone = False

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

    def retire(self) -> None:
        """Take no more calls; `close` is to follow. Called where callers wait."""
        self.closed = True

    def close(self) -> None:
        """Close it, once what was called for is done: waits for that."""
        self.kept.close()


Opened = TypeVar("Opened", bound=OpenBook[Any])


class OpenBooks(Generic[Opened]):
    """Opens each once in a process.

    Parameters
    ----------
    opens
        Opens one by its name, in a thread; returns what serves it, to be called where callers wait.
    most
        How many are kept open: those that were not used for longest are closed, if nobody waits for them.
    """

    def __init__(self, opens: Callable[[str], Callable[[], Opened]], most: int) -> None:
        self._opens, self._most = opens, most
        self._open: OrderedDict[str, Opened] = OrderedDict()
        self._opening: dict[str, asyncio.Task[Opened]] = {}
        self._closing: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._open)

    async def __call__(self, name: str) -> Opened:
        """Return what serves a study, or evaluations; they are opened if need be."""
        one = self._open.get(name)
        if one is not None and one.gone:  # deleted; there may be another one of that name
            self._retire(name)
        elif one is not None:
            self._open.move_to_end(name)
            return one
        task = self._opening.get(name)
        if task is None:
            task = self._opening[name] = asyncio.create_task(self._add(name))
            task.add_done_callback(lambda _: self._opening.pop(name, None))
        one = await asyncio.shield(task)
        return await self(name) if one.closed else one  # others may have needed its place meanwhile

    async def _add(self, name: str) -> Opened:
        serve = await asyncio.to_thread(self._opens, name)
        one = serve()
        surplus = len(self._open) + 1 - self._most
        for idle in [other for other, it in self._open.items() if it.idle][: max(0, surplus)]:
            self._retire(idle)
        self._open[name] = one
        return one

    def _retire(self, name: str) -> None:
        one = self._open.pop(name)
        one.retire()
        closing = asyncio.create_task(asyncio.to_thread(one.close))
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)

    async def close(self) -> None:
        """Carry out all that is queued, and close all of them: what they had in hand is given back."""
        await asyncio.gather(*self._opening.values(), return_exceptions=True)
        for name in list(self._open):
            self._retire(name)
        await asyncio.gather(*self._closing)


def open_study(settings: Settings, name: str) -> tuple[Study, StateRefused | None]:
    """Open a study, to ask and tell; or, if its noise was simulated and that is not wanted here, to look at.

    Return it, and why it can only be looked at.
    """
    _check(name)
    with suppress(ConfigurationMismatch):  # it is the name of evaluations
        if settings.simulated is not None:
            with suppress(ConfigurationMismatch):  # its noise is real
                return Study.open(settings.storage, name=name, noise=settings.noise), None
        try:
            return Study.open(settings.storage, name=name), None
        except StateRefused as refused:
            refusal = refused
        return Study.open(settings.storage, name=name, noise=WithheldNoise()), refusal
    raise StudyNotFound("there is no study of this name")


def open_evaluations(settings: Settings, name: str) -> PrivateEvaluations:
    """Open evaluations, to whom repeating a call does no harm."""
    _check(name)
    with suppress(ConfigurationMismatch):  # it is the name of a study
        if settings.simulated is not None:
            with suppress(ConfigurationMismatch):  # their noise is real
                return PrivateEvaluations(storage=settings.storage, name=name, repeat="ignore", noise=settings.noise)
        return PrivateEvaluations(storage=settings.storage, name=name, repeat="ignore")
    raise StudyNotFound("there are no evaluations of this name")


def _check(name: str) -> None:
    with suppress(ValueError):  # which repeats the name, and is not what a loss is refused for
        book_name(name)
        return
    raise StudyNotFound("nothing can have this name")
