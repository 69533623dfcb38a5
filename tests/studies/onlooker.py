"""Another process, which looks whether anybody holds a lock on a storage, and sends signals. Run as a program.

It reads one request a line, and answers each with a line of JSON:

- ["look", url, [files]]: what is held of a storage, and of other SQLite files beside it; an empty list if nothing is.
- ["signal", seconds]: sends SIGINT to whoever has started it, after so long.
"""

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

SECONDS = 120.0
"""How long a server may take to notice a connection that was closed: less than it waits for one that does nothing."""


class Onlooker:
    """The side of whoever asks."""

    def __enter__(self):
        self._process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        return self

    def __exit__(self, *_):
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(60)

    def say(self, *request):
        """Send a request; its answer is to be read."""
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()

    def answer(self):
        """Return the answer to the oldest request without one."""
        return json.loads(self._process.stdout.readline())

    def held(self, url, files=()):
        """Return in words what is held of a storage by anybody but the onlooker."""
        self.say("look", url, [str(one) for one in files])
        return self.answer()


def main():
    connections = {}
    for line in sys.stdin:
        kind, *request = json.loads(line)
        found = None
        if kind == "signal":
            time.sleep(request[0])
            os.kill(os.getppid(), signal.SIGINT)
        else:
            url, files = request
            if url.startswith("sqlite"):
                found = _held_in(connections, url.removeprefix("sqlite:///"))
            else:
                found = _held_at(connections, url)
            for one in files:
                found += _held_in(connections, one)
        print(json.dumps(found), flush=True)


def _held_in(connections, path):
    """What is held of an SQLite file, and of files beside it that processes take turns by."""
    import fcntl

    if not os.path.exists(path):
        return []
    found = []
    of_sqlite = {Path(path).name + end for end in ("", "-wal", "-shm", "-journal")}
    for beside in Path(path).parent.glob(f"{Path(path).name}*"):
        if beside.name in of_sqlite:  # to close one of these would undo SQLite's own locks of this process
            continue
        with contextlib.suppress(FileNotFoundError), open(beside, "rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                found.append(f"the lock of {beside.name}")
    if path not in connections:
        connections[path] = sqlite3.connect(path, timeout=0.0, isolation_level=None)
    connection = connections[path]
    try:
        connection.execute("BEGIN EXCLUSIVE")  # without a log, whoever reads is in the way as well
        connection.execute("ROLLBACK")
    except sqlite3.OperationalError:
        return [*found, "the write lock"]
    try:
        if connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
            found.append("a read lock")
    except sqlite3.OperationalError:
        found.append("a lock of the log")
    return found


def _held_at(connections, url):
    """What is held at a server: transactions that are open, by anybody."""
    import psycopg

    if url not in connections:
        connections[url] = psycopg.connect(url.replace("+psycopg", ""), autocommit=True)
    open_ones = (
        "SELECT DISTINCT a.state FROM pg_stat_activity a WHERE a.backend_type = 'client backend' AND "
        "a.pid <> pg_backend_pid() AND (a.xact_start IS NOT NULL OR a.pid IN (SELECT l.pid FROM pg_locks l))"
    )
    end = time.monotonic() + SECONDS
    while True:
        found = [f"a transaction ({state})" for (state,) in connections[url].execute(open_ones).fetchall()]
        if not found or time.monotonic() > end:
            return found
        time.sleep(0.002)


if __name__ == "__main__":
    main()
