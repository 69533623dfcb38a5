"""Reading what may have changed at any moment, for many who ask together, without reading it for each of them."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

from sottovoce.errors import StorageError

Found = TypeVar("Found")


class FreshReads(Generic[Found]):
    """`await reads()` is what a read found that began after the call; those who call together share one.

    A read runs in a thread of its own. Whoever calls while one runs waits for the next: what the running one finds may
    be from before the call. So however many call, there are at most two reads in the time that one takes.

    Parameters
    ----------
    read
        Is called in the thread, one call at a time.
    """

    def __init__(self, read: Callable[[], Found]) -> None:
        self._read = read
        self._orders: SimpleQueue[tuple[asyncio.AbstractEventLoop, list[asyncio.Future[Found]]] | None] = SimpleQueue()
        self._waiting: list[asyncio.Future[Found]] = []
        self._busy = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def __call__(self) -> asyncio.Future[Found]:
        """Return what to wait for; called in an event loop, the same one as long as it runs."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:  # the first call, or the loop before this one has ended
            self._loop, self._waiting, self._busy = loop, [], False
        mine: asyncio.Future[Found] = loop.create_future()
        self._waiting.append(mine)
        if not self._busy:
            self._busy = True
            loop.call_soon(self._begin, loop)  # so that whoever calls in this turn of the loop shares it
        return mine

    def _begin(self, loop: asyncio.AbstractEventLoop) -> None:
        waiting, self._waiting = self._waiting, []
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="sottovoce reads", daemon=True)
            self._thread.start()
        self._orders.put((loop, waiting))

    def _work(self) -> None:
        while (order := self._orders.get()) is not None:
            loop, waiting = order
            found: Any = None
            problem: BaseException | None = None
            try:
                found = self._read()
            except BaseException as raised:
                problem = raised
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(self._finish, loop, waiting, found, problem)
            del order, waiting, found, problem

    def _finish(
        self,
        loop: asyncio.AbstractEventLoop,
        waiting: list[asyncio.Future[Found]],
        found: Found,
        problem: BaseException | None,
    ) -> None:
        for one in waiting:
            if one.done():  # whoever waited has gone
                continue
            if problem is None:
                one.set_result(found)
            else:  # each has one of its own: raising changes an exception
                one.set_exception(StorageError(str(problem)) if isinstance(problem, StorageError) else problem)
        if loop is self._loop:
            if self._waiting:
                self._begin(loop)
            else:
                self._busy = False

    def close(self) -> None:
        """Let the thread end, after what it does."""
        if self._thread is not None:
            self._orders.put(None)
            self._thread.join()
            self._thread = None
