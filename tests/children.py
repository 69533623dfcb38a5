"""Processes that a test forks, kills, and hears of afterwards."""

import json
import os
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

    def stops(self):
        """Wait until it has stopped, or is gone; return whether it has stopped."""
        found = os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        return found.si_code == os.CLD_STOPPED

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
