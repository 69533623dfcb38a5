"""A sign of life for PostgreSQL: a transaction in which nothing happens is ended by the server within seconds.

So a process that was stopped half-way holds up no other for long. One that computes within a transaction (a point, a
plan) is alive, though, and says so from a thread of its own; a stopped process has all of its threads stopped.
"""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["BEAT_SECONDS", "IDLE_SECONDS", "Pulse"]

IDLE_SECONDS = float(os.environ.get("SOTTOVOCE_IDLE_SECONDS", "10"))
"""How long a server waits for a transaction in which nothing happens."""

BEAT_SECONDS = 2.5
"""How often a process that computes within a transaction says that it is alive."""


class Pulse:
    """Beats while a transaction lasts, on the connection of that transaction.

    Its thread sleeps between beats, and looks: an event to wake it up by would be left locked, should an interrupt come
    while it is set.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._over = False
        self._connection: Any = None
        self._last = 0.0
        self.failure: Exception | None = None  # that a beat of the last transaction has met
        self._thread: threading.Thread | None = None

    @contextmanager
    def beating(self, connection: Any) -> Iterator[None]:
        """Beat on a driver's connection; it must end before the commit, for a beat would begin a new transaction."""
        if self._thread is None:
            thread = threading.Thread(target=self._run, name="sottovoce pulse", daemon=True)
            thread.start()
            self._thread = thread
        try:
            with self._lock:
                self._connection, self._last, self.failure = connection, time.monotonic(), None
            yield
        finally:
            self.rest()
        if self.failure is not None:  # then nothing can be committed any more
            raise self.failure

    def rest(self) -> None:
        """Beat no more until the next transaction."""
        with self._lock:
            self._connection = None

    def stop(self) -> None:
        """Let the thread end."""
        self._over = True

    def _run(self) -> None:
        while not self._over:
            time.sleep(BEAT_SECONDS / 2)
            with self._lock:
                if self._connection is not None and time.monotonic() >= self._last + BEAT_SECONDS / 2:
                    try:
                        self._connection.execute("SELECT 1")
                    except Exception as problem:  # a server says only once why it has ended a session
                        self.failure = self.failure or problem
                    self._last = time.monotonic()
