"""The evaluations that a worker has open: opened when they are first wanted, closed when others need the place.

They need no thread of their own: what threads tell at the same moment shares one transaction anyway.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from sottovoce.errors import ConfigurationMismatch, StudyNotFound
from sottovoce.evaluations import PrivateEvaluations
from sottovoce.rounds.stored import book_name
from sottovoce.service.settings import Settings

Found = TypeVar("Found")


@dataclass(eq=False)
class _Opened:
    evaluations: PrivateEvaluations
    users: int = 0


class OpenEvaluations:
    """Opens evaluations, each once in a worker.

    Parameters
    ----------
    settings
        Of the service.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._open: OrderedDict[str, _Opened] = OrderedDict()
        self._opening: dict[str, asyncio.Task[_Opened]] = {}
        self._closing: set[asyncio.Task[None]] = set()

    async def use(self, name: str, function: Callable[[PrivateEvaluations], Found]) -> Found:
        """Return what a function says of evaluations, which are opened if need be; it runs in a thread."""
        mine = await self._opened(name)
        mine.users += 1
        running = asyncio.get_running_loop().run_in_executor(None, function, mine.evaluations)
        running.add_done_callback(lambda _: self._leave(mine))
        return await asyncio.shield(running)  # a caller who goes away ends nothing that is under way

    def _leave(self, one: _Opened) -> None:
        one.users -= 1

    async def _opened(self, name: str) -> _Opened:
        found = self._open.get(name)
        if found is not None:
            self._open.move_to_end(name)
            return found
        task = self._opening.get(name)
        if task is None:
            task = self._opening[name] = asyncio.create_task(self._add(name))
            task.add_done_callback(lambda _: self._opening.pop(name, None))
        return await asyncio.shield(task)

    async def _add(self, name: str) -> _Opened:
        found = _Opened(await asyncio.to_thread(_open, self._settings, name))
        surplus = len(self._open) + 1 - self._settings.open_studies
        for idle in [other for other, one in self._open.items() if not one.users][: max(0, surplus)]:
            closing = asyncio.create_task(asyncio.to_thread(self._open.pop(idle).evaluations.close))
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)
        self._open[name] = found
        return found

    async def close(self) -> None:
        """Close all of them: what they had in hand is given back."""
        await asyncio.gather(*self._opening.values(), return_exceptions=True)
        opened = [self._open.pop(name) for name in list(self._open)]
        await asyncio.gather(*(asyncio.to_thread(one.evaluations.close) for one in opened), *self._closing)


def _open(settings: Settings, name: str) -> PrivateEvaluations:
    """Open evaluations, to whom repeating a call does no harm."""
    with suppress(ValueError):  # which repeats the name
        book_name(name)
        if settings.simulated is not None:
            with suppress(ConfigurationMismatch):  # their noise is real, or it is a study
                return PrivateEvaluations(storage=settings.storage, name=name, repeat="ignore", noise=settings.noise)
        with suppress(ConfigurationMismatch):  # it is the name of a study
            return PrivateEvaluations(storage=settings.storage, name=name, repeat="ignore")
    raise StudyNotFound("there are no evaluations of this name")
