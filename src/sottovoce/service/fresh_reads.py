"""Reading what may have changed at any moment, for many who ask together, without reading it for each of them."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Generic, TypeVar

Found = TypeVar("Found")


class FreshReads(Generic[Found]):
    """`await reads()` is what a read found that began after the call; those who call together share one.

    A read runs in a thread of its own: whoever is slow in the threads that all share holds up nobody here. Whoever
    calls while one runs waits for the next, since what the running one finds may be from before the call. So however
    many call, there are at most two reads in the time that one takes.

    Parameters
    ----------
    read
        Is called in the thread, one call at a time, with the set of what those who share it have asked for.
    """

    def __init__(self, read: Callable[[set[Any]], Found]) -> None:
        self._read, self._thread = read, ThreadPoolExecutor(1, "sottovoce reads")
        self._lock = asyncio.Lock()
        self._next: asyncio.Task[Found] | None = None  # which has not begun
        self._wanted: set[Any] = set()  # of it

    def __call__(self, wanted: Any = None) -> asyncio.Future[Found]:
        """Return what to wait for; one who goes away takes nobody along."""
        if self._next is None or self._next.done():
            self._wanted, self._next = set(), asyncio.get_running_loop().create_task(self._begin())
        self._wanted.add(wanted)
        return asyncio.shield(self._next)

    async def _begin(self) -> Found:
        async with self._lock:
            self._next = None
            return await asyncio.get_running_loop().run_in_executor(self._thread, self._read, self._wanted)

    def close(self) -> None:
        """Let the thread end, once it has read what is asked for; waits for that."""
        self._thread.shutdown()
