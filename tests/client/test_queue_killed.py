"""SIGKILL at any moment: what was accepted is in the queue or at the service, and arrives once."""

import os
import random
import signal
import subprocess
import sys

import pytest

from sottovoce.client import TellQueue

TELLER = """
import sys
import sottovoce as sv
from sottovoce.client import Retries
url, key, path, ids = sys.argv[1:]
quick = Retries(attempts=2, first=0.001, longest=0.01)
remote = sv.connect(url, study="spring", key=key, queue=path, retries=quick, raw_losses=True)
for line in open(ids):
    sys.stdout.write(f"asked {line.strip()}\\n")
    remote.tell(line.strip(), 0.5)
    sys.stdout.write(f"accepted {line.strip()}\\n")
    sys.stdout.flush()
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL")
def test_no_loss_that_was_accepted_is_lost(stand_in, connected, key, tmp_path):
    chance, path, ids = random.Random(7), tmp_path / "tells.db", tmp_path / "ids"
    remote = connected(queue=path)
    left = remote.ask(1500).ids.tolist()
    remote.tell(left.pop(), 0.5)  # from now on the file knows that the study wants losses
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    accepted, killed = [], 0
    for turn in range(3):
        ids.write_text("\n".join(left) + "\n")
        stand_in.faults.extend(chance.choices(["before", "after", 503, None, None], k=150))
        command = [sys.executable, "-c", TELLER, stand_in.url, key, str(path), str(ids)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as teller:
            wanted, lines = chance.randrange(1, 80), []
            for line in teller.stdout:
                lines.append(line.split())
                if sum(word == "accepted" for word, _ in lines) == wanted:
                    teller.send_signal(signal.SIGKILL)
                    break
            lines += [line.split() for line in teller.stdout if line.endswith("\n")]
        killed += teller.returncode == -signal.SIGKILL
        mine = [one for word, *rest in lines if word == "accepted" for one in rest]
        accepted += mine
        left = left[len(mine) :]
        assert mine, turn
    assert killed >= 2
    stand_in.faults.clear()
    connected(queue=path).flush()
    assert set(accepted) <= set(stand_in.told)
    assert len(accepted) == len(set(accepted)) > 40
    assert len(set(stand_in.told) - set(accepted)) <= 1 + 3  # told, and killed before it could say so
    assert TellQueue(path).waiting == 0
