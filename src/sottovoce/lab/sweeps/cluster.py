"""Sweeps on a Dask cluster.

What goes there for a cell: the names of functions of this library, the cell (five plain values), and the versions that
must hold there. What comes back: its row, its curves and its final decision, which this process writes to its disk; and
now and then how many events are done. Nothing is written on a worker.
"""

import asyncio
import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError, Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from sottovoce._checks import number
from sottovoce._extras import load
from sottovoce.lab.sweeps._executors import OtherVersions, Refused, attempt, work_on
from sottovoce.lab.sweeps._versions import differences, versions
from sottovoce.lab.sweeps._workers import Done, Failed, Message, Progress, Started, Task, one_line

if TYPE_CHECKING:
    from distributed import Client

TIMEOUT = 10.0
"""Seconds that a scheduler has to answer in."""

_TOPIC = "sottovoce"  # one for all sweeps: the scheduler keeps the last thousand events of each topic for ever


def _distributed() -> Any:
    return load("distributed", "a sweep on a cluster")


def connect(address: str, *, timeout: float = TIMEOUT) -> "Client":
    """Return a client of the cluster whose scheduler is at an address, or say within `timeout` seconds why not.

    Parameters
    ----------
    address
        Such as "tcp://scheduler:8786".
    timeout
        Seconds to wait for an answer; a connection that is lost later is given up after as many.
    """
    distributed = _distributed()
    timeout = number("timeout", timeout, above=0.0)
    try:
        with ThreadPoolExecutor(1) as aside:  # where no event loop runs, as one does in notebooks
            aside.submit(asyncio.run, _shake_hands(address, timeout)).result()
        return distributed.Client(address, timeout=timeout, set_as_default=False)  # type: ignore[no-any-return]
    except (OSError, RuntimeError, TimeoutError, TypeError, ValueError) as problem:
        raise ConnectionError(
            f"no Dask scheduler answers at {address!r} within {timeout:g} s ({one_line(problem)}): check the address "
            "(such as tcp://scheduler:8786), that `dask scheduler` runs there, and that nothing stands between"
        ) from None


async def _shake_hands(address: str, timeout: float) -> None:
    """Connect once and hang up: Dask waits for ever for one who takes the connection and says nothing."""
    distributed = _distributed()
    options = distributed.Security().get_connection_args("client")
    line = await asyncio.wait_for(distributed.comm.connect(address, timeout=timeout, **options), timeout)
    await line.close()


def check_client(client: Any) -> None:
    """Refuse a client that cannot run cells, and workers that would compute something else than this process."""
    distributed = _distributed()
    if not isinstance(client, distributed.Client):
        raise TypeError(f"client must be a distributed.Client, got {type(client).__name__}: pass Client(address)")
    if client.asynchronous:
        raise ValueError("client must not be asynchronous: pass Client(address), without asynchronous=True")
    if client.status != "running":
        raise ValueError(f"client must be connected, and is {client.status}: pass a new Client(address)")
    here, found = versions(), {}
    for worker, there in client.run(versions, on_error="return").items():
        if isinstance(there, Exception):
            found[f"worker {worker}"] = [f"no usable sottovoce ({one_line(there)})"]
        elif words := differences(here, there):
            found[f"worker {worker}"] = words
    if found:
        raise OtherVersions(found)


def work_on_cluster(client: Any, task: Task, pick: Callable[[], Any]) -> Iterator[Message]:
    """Yield what happens while a cluster works on the items that `pick` hands out.

    An item whose worker dies is begun again on another one, up to Dask's `allowed-failures`.
    """
    news: SimpleQueue[Any] = SimpleQueue()
    handed: dict[str, Any] = {}
    executor = _ClusterExecutor(client, handed)

    def hear(event: tuple[float, Mapping[str, Any]]) -> None:
        _, told = event
        item = handed.get(told["key"])
        if item is not None:  # of this sweep, and not done yet
            news.put(Progress(item, told["news"]) if "news" in told else Started(item, told["process"]))

    client.subscribe_topic(_TOPIC, hear)
    try:
        yield from work_on(executor, task, pick, news=news, tried=_attempt_there)
    finally:
        executor.shutdown(cancel_futures=True)
        with suppress(Exception):  # the scheduler may be gone
            client.unsubscribe_topic(_TOPIC)


class _ClusterExecutor(Executor):
    """Dask's cluster behind the interface of `concurrent.futures`.

    Dask has such an executor, too. This one settles every future, also when a result is lost with the scheduler while
    it is being fetched, and knows which key stands for which item.
    """

    def __init__(self, client: Any, handed: dict[str, Any]) -> None:
        self._client, self._handed = client, handed
        self._theirs: dict[str, Any] = {}

    def submit(self, fn: Callable[..., Any], /, *args: Any, **options: Any) -> Future[Any]:
        key = f"sottovoce-{uuid4().hex}"
        self._handed[key] = args[1]
        theirs = self._client.submit(fn, *args, key=key, pure=False, **options)
        self._theirs[key] = theirs
        ours: Future[Any] = Future()
        theirs.add_done_callback(partial(self._settle, key, ours))
        return ours

    def _settle(self, key: str, ours: Future[Any], theirs: Any) -> None:
        if not ours.set_running_or_notify_cancel():
            return
        try:
            if theirs.cancelled():
                raise CancelledError("the connection to the scheduler was lost, or somebody cancelled the work there")
            ours.set_result(theirs.result())
        except BaseException as problem:
            ours.set_exception(problem)
        finally:
            self._handed.pop(key, None)
            self._theirs.pop(key, None)  # the cluster forgets what nobody holds

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Cancel what is left there, all at once."""
        left = list(self._theirs.values())
        self._theirs.clear()
        if left:
            with suppress(Exception):  # the scheduler may be gone
                self._client.cancel(left)


def _attempt_there(task: Task, item: Any, expected: Mapping[str, str]) -> Done | Failed | Refused:
    """Work on an item; runs on a worker."""
    from distributed import Reschedule, get_worker

    worker = get_worker()
    key = str(worker.get_current_task())
    worker.log_event(_TOPIC, {"key": key, "process": os.getpid()})

    def report(news: Any) -> None:
        if not wanted():
            raise InterruptedError("nobody waits for it any more")
        worker.log_event(_TOPIC, {"key": key, "news": news})

    def wanted() -> bool:
        state = worker.state.tasks.get(key)
        return state is not None and state.state != "cancelled"

    came = attempt(task, item, expected, report)
    if not wanted():
        raise Reschedule  # Dask drops what was cancelled; should it want it after all, this is no failure of the cell
    return came
