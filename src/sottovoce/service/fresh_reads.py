"""Reading what may have changed at any moment, for many who ask together, without reading it for each of them."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Generic, TypeVar

from sottovoce.errors import StorageError

Found = TypeVar("Found")


class FreshReads(Generic[Found]):
    """`await reads()` is what a read found that began after the call; those who call together share one.

    A read runs in a thread of its own: whoever is slow in the threads that all share holds up nobody here. Whoever
    calls while one runs waits for the next, since what the running one finds may be from before the call. So however
    many call, there are at most two reads in the time that one takes.

    Parameters
    ----------
    read
        Is called in the thread, one call at a time.
    """

    def __init__(self, read: Callable[[], Found]) -> None:
        self._read, self._thread = read, ThreadPoolExecutor(1, "sottovoce reads")
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = asyncio.Lock()
        self._next: asyncio.Task[Found] | None = None  # which has not begun

    def __call__(self) -> asyncio.Future[Found]:
        """Return what to wait for; called in an event loop, the same one as long as it runs."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:  # the first call, or the loop before this one has ended
            self._loop, self._lock, self._next = loop, asyncio.Lock(), None
        if self._next is None:
            self._next = loop.create_task(self._begin(loop))
        mine: asyncio.Future[Found] = loop.create_future()  # of its own: one who goes away takes nobody along
        self._next.add_done_callback(partial(_hand_over, mine))
        return mine

    async def _begin(self, loop: asyncio.AbstractEventLoop) -> Found:
        async with self._lock:
            self._next = None
            return await loop.run_in_executor(self._thread, self._read)

    def close(self) -> None:
        """Let the thread end, once it has read what is asked for; waits for that."""
        self._thread.shutdown()


def _hand_over(mine: asyncio.Future[Found], read: asyncio.Task[Found]) -> None:
    if mine.done() or read.cancelled():
        mine.cancel()
    elif (problem := read.exception()) is None:
        mine.set_result(read.result())
    else:  # each has one of its own: raising changes an exception
        mine.set_exception(StorageError(str(problem)) if isinstance(problem, StorageError) else problem)
