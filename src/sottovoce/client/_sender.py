"""Brings tells to a service: at once, or, while it is away, from a queue on disk and in the order of the queue.

Sending a tell twice is harmless, since an action takes one loss: so a tell is erased after it was acknowledged, never
before, and several processes may deliver what waits in one file. A block of which the service refuses something for
good is sent in halves, so that the rest of it arrives.

Tests: tests/client/test_queue.py.
"""

import logging
import threading
from collections.abc import Iterator
from contextlib import suppress

from sottovoce import _fork
from sottovoce.client._problems import refused_for_good
from sottovoce.client._telling import Teller, Told
from sottovoce.client._wire import Tell
from sottovoce.client.retries import BRIEFLY, Retries
from sottovoce.client.tell_queue import Destination, TellQueue
from sottovoce.errors import SottovoceError, StorageError

_log = logging.getLogger("sottovoce.client")


class Sender:
    """Delivers the tells of one study, by way of a queue.

    Parameters
    ----------
    teller
        Who tells the study.
    queue, to
        Where tells wait, and what the queue has them under.
    retries
        How long to wait between attempts in the background: they go on for as long as anything waits.
    """

    def __init__(self, teller: Teller, queue: TellQueue, to: Destination, retries: Retries) -> None:
        self._teller, self.queue, self._to, self._retries = teller, queue, to, retries
        self._begin()

    def _begin(self) -> None:
        self._fork_count = _fork.fork_count()
        self._lock, self._stopped = threading.Lock(), threading.Event()
        self._thread: threading.Thread | None = None

    def tell(self, tell: Tell) -> Told:
        """Send a tell if nothing waits before it; otherwise, or if the service is away, have it wait."""
        if not self.queue.waits_for(self._to):
            with suppress(StorageError):  # away, or its storage is
                return self._teller.send(tell, BRIEFLY)
        self.queue.add(self._to, tell)
        self.wake()
        return Told(queued=len(tell))

    def flush(self) -> None:
        """Deliver all that waits, or raise why that cannot be done."""
        self._deliver(self._retries)

    def wake(self) -> None:
        """See to it that somebody delivers what waits; a child of a fork does so itself."""
        if self._fork_count != _fork.fork_count():
            self._begin()
        with self._lock:
            running = self._thread is not None and self._thread.is_alive()  # its start may have been interrupted
            if not running and not self._stopped.is_set():
                self._thread = threading.Thread(target=self._work, name="sottovoce tells", daemon=True)
                self._thread.start()

    def stop(self) -> None:
        """Deliver no more; what waits stays on the disk."""
        self._stopped.set()

    # ------------------------------------------------------------------ in the background

    def _work(self) -> None:
        """Deliver until nothing waits; the next tell that has to wait starts a thread again."""
        attempt, said = 0, ""
        while not self._stopped.is_set():
            try:
                self._deliver(BRIEFLY)
                with self._lock:
                    if not self.queue.waits_for(self._to):
                        self._thread = None
                        return
            except (SottovoceError, OSError, ValueError) as problem:  # the last of them: closed meanwhile
                if str(problem) != said and not self._stopped.is_set():
                    _log.warning("losses wait in %s: %s", self.queue.path, problem)
                said, told = str(problem), getattr(problem, "retry_after", 0.0)
                self._stopped.wait(self._retries.wait(attempt, told))
                attempt += 1

    def _deliver(self, retries: Retries) -> None:
        try:
            while not self._stopped.is_set() and (waiting := self.queue.first(self._to)) is not None:
                number, tell = waiting
                refused = list(self._refused(tell, retries))
                self.queue.done(number, self._to, refused)
                if refused:
                    _log.warning("%d losses that waited in %s were refused for good", len(refused), self.queue.path)
        finally:
            self.queue.erase()

    def _refused(self, tell: Tell, retries: Retries) -> Iterator[tuple[str, str]]:
        """Send a tell, in parts if need be; yield the ids that are refused for good, each with the kind of refusal."""
        kind = ""
        try:
            self._teller.send(tell, retries)
        except SottovoceError as problem:
            kind = refused_for_good(problem)
            if not kind:
                raise
        if kind and len(tell) > 1:
            for half in tell.halves():
                yield from self._refused(half, retries)
        elif kind:
            yield tell.ids[0], kind
