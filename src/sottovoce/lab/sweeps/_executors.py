"""Work on items with any engine that has the interface of `concurrent.futures`.

What is sent there is a function that can be imported, an item, and the versions to compute with. What comes back is a
message: a task that raises fails its item in the engine's own process, in the words of the local pool. An exception of
a future is therefore the engine's own.
"""

import socket
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any

from sottovoce._threads import single_threaded
from sottovoce.lab.sweeps._versions import differences, versions
from sottovoce.lab.sweeps._workers import NO_MEMORY, Done, Failed, Message, Task, one_line

_AHEAD = 1000  # items handed over and not back: more than any engine has hands, so that none of them waits

News = SimpleQueue[Any]
"""Futures that are done, and whatever an engine has to tell of running items."""


class EngineLost(Exception):
    """The engine itself went away, or takes no more; no item is to blame."""


class OtherVersions(ValueError):
    """Something would be computed with other versions than here."""

    def __init__(self, found: Mapping[str, list[str]]) -> None:
        shown = [f"{where} has {', '.join(words)}" for where, words in list(found.items())[:3]]
        more = [f"{len(found) - 3} more differ"] if len(found) > 3 else []
        super().__init__(
            f"other versions would compute other results: {'; '.join(shown + more)}. Install the same versions on both "
            "sides (`pip freeze` on one, `pip install -r` on the other), or run the sweep on this machine"
        )


@dataclass(frozen=True, slots=True)
class Refused:
    """An item was not worked on: the process there has other versions."""

    where: str
    words: list[str]


def attempt(
    task: Task, item: Any, expected: Mapping[str, str], report: Callable[[Any], None] = lambda news: None
) -> Done | Failed | Refused:
    """Work on an item, in the engine's process; nothing is written there."""
    words = differences(expected, versions())
    if words:
        return Refused(socket.gethostname(), words)
    started = time.perf_counter()
    try:
        with single_threaded():  # as in the processes of the local pool: threads would change the last bits of sums
            return Done(item, task(item, report))
    except MemoryError:
        return Failed(item, NO_MEMORY, time.perf_counter() - started)
    except Exception as problem:
        return Failed(item, one_line(problem), time.perf_counter() - started)


def work_on(
    executor: Executor, task: Task, pick: Callable[[], Any], *, news: News | None = None, tried: Any = attempt
) -> Iterator[Message]:
    """Yield what happens while an executor works on the items that `pick` hands out, until it returns None.

    Parameters
    ----------
    executor
        It stays open; closing the generator cancels what has not begun there.
    task
        A function that the executor's processes can import, or an object that can be pickled.
    pick
        Called in this thread whenever the executor may take another item; None if nothing is left.
    news
        Where messages about running items come in from the executor, if it tells.
    tried
        What is sent, in place of `attempt`.
    """
    news = SimpleQueue() if news is None else news
    expected = versions()
    handed: dict[Future[Any], Any] = {}
    try:
        waiting = pick()
        while waiting is not None or handed:
            if waiting is not None and len(handed) < _AHEAD and news.empty():
                future = _submit(executor, tried, task, waiting, expected)
                handed[future] = waiting
                future.add_done_callback(news.put)
                waiting = pick()
                continue
            heard = news.get()
            if not isinstance(heard, Future):
                yield heard
            elif heard in handed:
                yield _outcome(handed.pop(heard), heard)
    finally:
        for future in handed:
            future.cancel()


def _submit(executor: Executor, *call: Any) -> Future[Any]:
    try:
        return executor.submit(*call)
    except Exception as problem:  # shut down, broken, disconnected: each engine has its own
        raise EngineLost(f"it takes no more work: {one_line(problem)}") from problem


def _outcome(item: Any, future: Future[Any]) -> Message:
    try:
        message = future.result()
    except (BrokenExecutor, CancelledError, OSError) as problem:
        raise EngineLost(one_line(problem)) from problem
    except Exception as problem:  # what came of the item could not be sent, or its process died too often
        return Failed(item, one_line(problem), 0.0)
    if isinstance(message, Refused):
        raise OtherVersions({message.where: message.words})
    return message  # type: ignore[no-any-return]
