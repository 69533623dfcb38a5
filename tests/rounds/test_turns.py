"""Turns at a file: whoever gives up waiting, for whatever reason, leaves neither the lock nor a descriptor behind."""

import fcntl
import os
import random
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from sottovoce.errors import StorageError
from sottovoce.rounds.stores.sql._files import Turns

from .tools import SOAK


def is_free(path: Path) -> bool:
    """Whether somebody else could take the lock."""
    descriptor = os.open(path, os.O_RDWR)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True


def comes_true(condition: Callable[[], bool], seconds: float = 60.0) -> bool:
    """Whether it does: a thread that waits lets go when it gets the lock."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.001)
    return False


def descriptors(path: Path) -> int:
    """How many of this process are of the file: others come and go, with whatever ran before."""
    found = 0
    for one in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):
            found += os.readlink(f"/proc/self/fd/{one}") == str(path)
    return found


def test_a_turn_comes_when_the_one_before_has_ended(tmp_path: Path) -> None:
    path = tmp_path / "turns"
    one, other = Turns(str(path), 60.0), Turns(str(path), 60.0)
    for _ in range(20):
        one.acquire()
        ending = threading.Timer(0.001, one.release)
        ending.start()
        other.acquire()
        assert not is_free(path)
        other.release()
        ending.join()
    assert is_free(path)
    one.close()
    other.close()


def test_who_has_waited_too_long_is_told_so_and_holds_nothing_later(tmp_path: Path) -> None:
    path = tmp_path / "turns"
    one, other = Turns(str(path), 60.0), Turns(str(path), 0.01)
    one.acquire()
    with pytest.raises(StorageError, match="has held the database for too long; nothing was changed"):
        other.acquire()
    other.release()
    one.release()
    assert comes_true(lambda: is_free(path))
    one.close()
    other.close()


def test_an_interrupt_at_any_moment_of_a_wait_leaves_nothing_behind(tmp_path: Path) -> None:
    path, rng, cut = tmp_path / "turns", random.Random(3), 0
    one, other = Turns(str(path), 60.0), Turns(str(path), 60.0)

    def ring(*_: Any) -> None:
        raise KeyboardInterrupt

    one.acquire()
    one.release()
    other.acquire()
    other.release()
    kept, before = signal.signal(signal.SIGALRM, ring), descriptors(path)
    try:
        for _ in range(1000 if SOAK else 60):
            one.acquire()
            try:
                signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-6, 1e-3))
                other.acquire()
            except KeyboardInterrupt:
                cut += 1
            other.release()
            one.release()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, kept)
    assert cut
    assert comes_true(lambda: descriptors(path) == before == 2)  # no thread waits any more
    assert is_free(path)
    one.close()
    other.close()
