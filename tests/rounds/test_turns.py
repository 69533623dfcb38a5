"""Turns at a file: whoever gives up waiting, for whatever reason, leaves neither the lock nor a descriptor behind."""

import fcntl
import os
import random
import signal
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from sottovoce.errors import StorageError
from sottovoce.rounds.stores.sql._files import Turns


def is_free(path: Path) -> bool:
    """Whether somebody else could take the lock."""
    with open(path, "r+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def descriptors(path: Path) -> int:
    """How many of this process are of the file: others come and go, with whatever ran before."""
    found = 0
    for one in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):
            found += os.readlink(f"/proc/self/fd/{one}") == str(path)
    return found


@pytest.fixture
def turns(tmp_path: Path) -> Iterator[tuple[Path, Turns, Turns]]:
    """A file, and two that take turns at it; the second waits for a moment only."""
    path = tmp_path / "turns"
    one, other = Turns(str(path), 60.0), Turns(str(path), 0.01)
    yield path, one, other
    assert is_free(path)
    one.close()
    other.close()


def test_a_turn_comes_when_the_one_before_has_ended(turns: tuple[Path, Turns, Turns]) -> None:
    path, one, other = turns
    for _ in range(20):
        other.acquire()
        ending = threading.Timer(0.001, other.release)
        ending.start()
        one.acquire()
        assert not is_free(path)
        one.release()
        ending.join()


def test_who_has_waited_too_long_is_told_so_and_holds_nothing_later(turns: tuple[Path, Turns, Turns]) -> None:
    _, one, other = turns
    one.acquire()
    with pytest.raises(StorageError, match="has held the database for too long; nothing was changed"):
        other.acquire()
    other.release()
    one.release()


def test_an_interrupt_at_any_moment_of_a_wait_leaves_nothing_behind(turns: tuple[Path, Turns, Turns]) -> None:
    path, waiting, holding = turns
    rng, cut = random.Random(3), 0

    def ring(*_: Any) -> None:
        raise KeyboardInterrupt

    for one in turns[1:]:
        one.acquire()
        one.release()
    kept = signal.signal(signal.SIGALRM, ring)
    try:
        for _ in range(60):
            holding.acquire()
            try:
                signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-6, 1e-3))
                waiting.acquire()
            except KeyboardInterrupt:
                cut += 1
            waiting.release()
            holding.release()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, kept)
    assert cut
    assert descriptors(path) == 2
