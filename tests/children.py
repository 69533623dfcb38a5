"""Processes that a test forks, kills, and hears of afterwards; and threads and processes that start at once."""

import json
import os
import threading
import traceback

from sottovoce.errors import ForkRefused


class Child:
    """A forked process: it runs `work(report)`, and what it reports is read once it is gone."""

    def __init__(self, work):
        reading, writing = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            status = 1
            try:
                os.close(reading)
                work(lambda *message: os.write(writing, (json.dumps(message) + "\n").encode()))
                status = 0
            except BaseException:
                os.write(writing, (json.dumps(["failed", traceback.format_exc()]) + "\n").encode())
            finally:
                os._exit(status)
        os.close(writing)
        self._reading = reading

    def finish(self):
        """Return (what was reported, whether it was killed)."""
        with os.fdopen(self._reading, "rb") as pipe:
            said = [json.loads(line) for line in pipe.read().splitlines()]
        _, status = os.waitpid(self.pid, 0)
        failures = [what for kind, what in said if kind == "failed"]
        assert not failures, failures[0]
        return said, os.WIFSIGNALED(status)


def is_refused_after_a_fork(call):
    """Whether a call raises ForkRefused in a forked child."""

    def work(report):
        try:
            call()
        except ForkRefused:
            report("refused", True)

    return Child(work).finish()[0] == [["refused", True]]


def at_once(work, count=4):
    """Call work(0), work(1), ... in threads that start together; return what each returned, or raise what one did."""
    start, found, problems = threading.Barrier(count), [None] * count, []

    def guarded(number):
        try:
            start.wait()
            found[number] = work(number)
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=guarded, args=(number,), daemon=True) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(600)
        assert not thread.is_alive(), "a thread is stuck"
    if problems:
        raise problems[0]
    return found


def forked_at_once(work, count=4):
    """Call work(number, report) in forked children that start together; return what each reported."""
    reading, writing = os.pipe()

    def waiting(number):
        def wait(report):
            os.close(writing)
            os.read(reading, 1)  # until the parent closes its end
            work(number, report)

        return wait

    children = [Child(waiting(number)) for number in range(count)]
    os.close(writing)
    os.close(reading)
    return [child.finish()[0] for child in children]
