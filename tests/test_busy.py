"""`make test-busy` keeps the machine busy for as long as the tests run, and no longer."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

BUSY = Path(__file__).with_name("busy.py")
LOOK = """
import os, sys
mine, found = os.getppid(), 0
for entry in filter(str.isdigit, os.listdir("/proc")):
    try:
        with open(f"/proc/{entry}/stat") as stat:
            found += int(stat.read().rpartition(")")[2].split()[1]) == mine
    except OSError:
        pass
print(found - 1, mine, flush=True)  # without this process
sys.stdin.read()
sys.exit(3)
"""

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")


def children(parent):
    """Return the processes that belong to the group that was begun with a process."""
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            stat = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(stat[2]) == parent and stat[0] != "Z":
            found.append(int(entry))
    return found


@pytest.mark.parametrize("killed", [False, True])
def test_it_is_busy_for_as_long_as_the_command_runs_and_no_longer(killed):
    command = [sys.executable, str(BUSY), sys.executable, "-c", LOOK]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as busy:
        count, parent = map(int, busy.stdout.readline().split())
        assert (count, parent) == (4 * os.cpu_count(), busy.pid)
        if killed:
            busy.kill()
        busy.stdin.close()
        assert busy.wait(600) == (-9 if killed else 3)
    deadline = time.monotonic() + 600
    while children(busy.pid):
        assert time.monotonic() < deadline
        time.sleep(0.01)
