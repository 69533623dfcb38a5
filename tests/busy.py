"""Run a command while the machine is busy: four endless loops for each core, at a low priority (`make test-busy`).

They end with this process, however that ends: each of them looks whether it is still its child.
"""

import os
import subprocess
import sys

BURN = """
import os, sys
os.nice(10)
while os.getppid() == int(sys.argv[1]):
    sum(range(100_000))
"""


def main(command):
    """Return the exit status of the command."""
    burners = [
        subprocess.Popen([sys.executable, "-c", BURN, str(os.getpid())]) for _ in range(4 * (os.cpu_count() or 1))
    ]
    try:
        return subprocess.run(command, check=False).returncode
    finally:
        for one in burners:
            one.kill()
        for one in burners:
            one.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
