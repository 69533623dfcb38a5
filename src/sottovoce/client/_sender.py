"""Brings tells to a service: at once, or, while it is away, from a queue on disk and in the order of the queue.

Sending a tell twice is harmless, since an action takes one loss: so a tell is erased after it was acknowledged, never
before. A block of which the service refuses something for good is sent in halves, so that the rest of it arrives.

Tests: tests/client/test_queue.py.
"""

import logging
import threading
from collections.abc import Iterator
from typing import NamedTuple

from sottovoce import _fork
from sottovoce._losses import raw_loss_refused
from sottovoce.client._channel_info import ChannelInfo
from sottovoce.client._delivering import delivering
from sottovoce.client._problems import refused_for_good
from sottovoce.client._service import Service
from sottovoce.client._wire import Tell
from sottovoce.client.retries import BRIEFLY, Retries
from sottovoce.client.tell_queue import Destination, TellQueue
from sottovoce.errors import ServiceError, SottovoceError, StorageError

_log = logging.getLogger("sottovoce.client")


class Told(NamedTuple):
    """What became of a call of tell.

    Attributes
    ----------
    recorded
        Losses that are on record now.
    already
        Losses that were on record before: the call was repeated.
    dropped
        Losses that came too late, with `late="drop"`, or that nobody wanted.
    queued
        Losses that wait on disk until the service is back.
    """

    recorded: int = 0
    already: int = 0
    dropped: int = 0
    queued: int = 0


def send(service: Service, where: str, tell: Tell, retries: Retries) -> Told:
    """Send a tell; return what became of it, or raise why it was refused, or that the service is away."""
    answer = service.call("POST", where, tell.body(), retries=retries)
    counts = [answer.get(name, 0) for name in ("recorded", "already", "dropped")]
    if not all(type(count) is int and count >= 0 for count in counts) or sum(counts) != len(tell):
        # Erasing a loss takes an acknowledgement of every one of them.
        raise ServiceError(f"{service.address.base} has acknowledged another number of losses than were sent")
    return Told(*counts)


class Sender:
    """Delivers the tells of one study, by way of a queue.

    Parameters
    ----------
    service, where, to
        Where to: the address, and what the queue has it under.
    channel_info
        What the study wants: no raw loss is sent unless the service itself has said that it does.
    queue
        Where tells wait.
    retries
        How long to wait between attempts in the background: they go on for as long as anything waits.
    """

    def __init__(
        self,
        service: Service,
        where: str,
        to: Destination,
        channel_info: ChannelInfo,
        queue: TellQueue,
        retries: Retries,
    ) -> None:
        self._service, self._where, self._to = service, where, to
        self._channel_info, self.queue, self._retries = channel_info, queue, retries
        self._begin()

    def _begin(self) -> None:
        self._fork_count = _fork.fork_count()
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self._empty = False  # whether nothing waits, as far as this process knows
        self._troubles: set[str] = set()  # said since something was last delivered

    def tell(self, tell: Tell) -> Told:
        """Send a tell if nothing waits before it; otherwise, or if the service is away, have it wait."""
        self._refresh()
        if self._is_empty():
            try:
                return self._send(tell, BRIEFLY)
            except StorageError:  # away, or its storage is
                pass
        with self._lock:
            self._empty = False  # first: an interrupt may come as soon as it is on the disk
            self.queue.add(self._to, tell)
        self.wake()
        return Told(queued=len(tell))

    def _is_empty(self) -> bool:
        """Say whether nothing waits; the file is looked at only while something may. Others' tells may be overtaken."""
        with self._lock:
            self._empty = self._empty or not self.queue.waits_for(self._to)
            return self._empty

    def _send(self, tell: Tell, retries: Retries) -> Told:
        if tell.kind == "loss":
            if self._channel_info.channel(confirmed=True) is not None:
                raise raw_loss_refused("remote")
            self._channel_info.refuse_raw()
        return send(self._service, self._where, tell, retries)

    def flush(self, seconds: float) -> None:
        """Deliver all that waits, or raise why that cannot be done."""
        if not delivering(self.queue.path, seconds, lambda: self._deliver(self._retries)):
            raise StorageError(f"another process is delivering {self.queue.path}, and has not finished: wait")

    def wake(self) -> None:
        """See to it that somebody delivers what waits; a child of a fork does so itself."""
        self._refresh()
        with self._lock:
            running = self._thread is not None and self._thread.is_alive()  # its start may have been interrupted
            if not running and not self._stopped.is_set():
                self._thread = threading.Thread(target=self._work, name="sottovoce tells", daemon=True)
                self._thread.start()

    def _refresh(self) -> None:
        if self._fork_count != _fork.fork_count():
            self._begin()

    def stop(self) -> None:
        """Deliver no more; what waits stays on the disk."""
        self._stopped.set()

    def join(self, seconds: float) -> None:
        """Wait until a call in flight is answered, but not for long."""
        thread = self._thread if self._fork_count == _fork.fork_count() else None
        if thread is not None and thread is not threading.current_thread():
            thread.join(seconds)

    # ------------------------------------------------------------------ in the background

    def _work(self) -> None:
        attempt = 0
        while not self._stopped.is_set():
            trouble, told = self._try()
            if self._stopped.is_set() or (not trouble and self._is_finished()):
                return
            attempt = attempt + 1 if trouble else 0
            self._say(trouble)
            self._stopped.wait(self._retries.wait(attempt, told))

    def _say(self, trouble: str) -> None:
        if not trouble:
            self._troubles.clear()
        elif trouble not in self._troubles:
            self._troubles.add(trouble)
            _log.warning("losses wait in %s: %s", self.queue.path, trouble)

    def _try(self) -> tuple[str, float]:
        """Deliver what there is; say what stood in the way, and for how long the service wants to be left alone."""
        try:
            delivering(self.queue.path, 0.0, lambda: self._deliver(BRIEFLY))
            return "", 0.0
        except (SottovoceError, OSError, ValueError) as problem:  # the last of them: closed meanwhile
            return str(problem), getattr(problem, "retry_after", 0.0)

    def _is_finished(self) -> bool:
        """Say whether nothing waits; and then see to it that the next tell starts a thread again."""
        with self._lock:
            try:
                finished = not self.queue.waits_for(self._to)
            except StorageError:
                return False
            if finished:
                self._empty, self._thread = True, None
            return finished

    def _deliver(self, retries: Retries) -> None:
        try:
            while not self._stopped.is_set() and (waiting := self.queue.first(self._to)) is not None:
                refused = list(self._refused(waiting.tell, retries))
                self.queue.done(waiting.number, self._to, refused)
                if refused:
                    _log.warning("%d losses that waited in %s were refused for good", len(refused), self.queue.path)
        finally:
            self.queue.erase()

    def _refused(self, tell: Tell, retries: Retries) -> Iterator[tuple[str, str]]:
        """Send a tell, in parts if need be; yield the ids that are refused for good, each with the kind of refusal."""
        kind = ""
        try:
            self._send(tell, retries)
        except SottovoceError as problem:
            kind = refused_for_good(problem)
            if not kind:
                raise
        if kind and len(tell) > 1:
            for half in tell.halves():
                yield from self._refused(half, retries)
        elif kind:
            yield tell.ids[0], kind
