"""A sign of life for PostgreSQL: a transaction in which nothing happens is ended by the server within seconds.

So a process that was stopped half-way holds up no other for long. One that computes within a transaction (a point, a
plan) is alive, though, and says so from a thread of its own; a stopped process has all of its threads stopped.
"""

import os
import threading
import time
from typing import Any

__all__ = ["BEAT_SECONDS", "IDLE_SECONDS", "Pulse"]

IDLE_SECONDS = float(os.environ.get("SOTTOVOCE_IDLE_SECONDS", "10"))
"""How long a server waits for a transaction in which nothing happens."""

BEAT_SECONDS = 2.5
"""How often a process that computes within a transaction says that it is alive."""


class Pulse:
    """Beats while a transaction lasts, on the connection of that transaction.

    Whoever sends a statement past the driver's own connection holds `lock` meanwhile: a beat must not come in between.
    Its thread sleeps between beats, and looks: an event to wake it up by would be left locked, should an interrupt come
    while it is set.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._over = False
        self._connection: Any = None
        self._last = 0.0
        self.failure: Exception | None = None  # that a beat of the last transaction has met
        self._thread: threading.Thread | None = None

    def beat_on(self, connection: Any) -> None:
        """Beat on a driver's connection until `rest`: before the commit, for a beat would begin a new transaction."""
        if self._thread is None:
            thread = threading.Thread(target=self._run, name="sottovoce pulse", daemon=True)
            thread.start()
            self._thread = thread
        with self.lock: self._connection, self._last, self.failure = connection, time.monotonic(), None  # noqa: E701  # fmt: skip

    def rest(self) -> None:
        """Beat no more until the next transaction."""
        with self.lock: self._connection = None  # noqa: E701  # fmt: skip

    def stop(self) -> None:
        """Let the thread end."""
        self._over = True

    def _run(self) -> None:
        while not self._over:
            time.sleep(BEAT_SECONDS / 2)
            with self.lock:
                if self._connection is not None and time.monotonic() >= self._last + BEAT_SECONDS / 2:
                    try:
                        self._connection.execute("SELECT 1")
                    except Exception as problem:  # a server says only once why it has ended a session
                        self.failure = self.failure or problem
                    self._last = time.monotonic()
