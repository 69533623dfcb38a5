"""How far a call walks: our own frames of `ask` and `tell`, in memory and in a study, and the study's transactions.

A function counts each time that it is entered; so do comprehensions and generators. A change of file is a call from one
file to another. Warm: the call before it was of the same kind. A tell that releases (in memory) or closes (in a study)
is the one that completes a round. A statement that commits by itself is a transaction. Of pairs of calls with blocks,
the mean of many is shown.
"""

import os
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np

import sottovoce as sv
from benchmarks.harness import show
from sottovoce.rounds.stores.sql.database import Database

OURS = os.path.dirname(os.path.abspath(sv.__file__)) + os.sep
AIMS = {
    "memory, warm ask": "2 calls",
    "memory, warm tell": "3 calls",
    "memory, tell that releases": "100 calls, 12 files",
    "study, warm tell": "40 calls, 8 files",
    "study, tell that closes": "150 calls, 15 files, 2 transactions",
    "study, ask and tell 256": "",
}
PAIRS = 1000
OPTIONS = {"horizon": 100_000, "loss_range": (0.0, 1.0), "privacy": sv.PureDP(1.0), "seed": 1}


class Walk:
    """Counts frames of this library while it is active: `with Walk() as walk: ...`."""

    def __init__(self):
        self.calls, self.changes, self.functions, self.files = 0, 0, Counter(), Counter()

    def __enter__(self):
        sys.setprofile(self._step)
        return self

    def __exit__(self, *_):
        sys.setprofile(None)

    def _step(self, frame, event, _):
        file = frame.f_code.co_filename
        if event != "call" or not file.startswith(OURS):
            return
        self.calls += 1
        self.functions[frame.f_code] += 1
        self.files[file[len(OURS) :]] += 1
        caller = frame.f_back
        while caller is not None and not caller.f_code.co_filename.startswith(OURS):
            caller = caller.f_back
        self.changes += caller is not None and caller.f_code.co_filename != file

    @property
    def transactions(self):
        return sum(count for code, count in self.functions.items() if code is Database._attempt.__code__)

    def row(self, name):
        return name, self.calls, len(self.functions), len(self.files), self.changes, self.transactions, AIMS[name]


def walked(work, *arguments):
    with Walk() as walk:
        work(*arguments)
    return walk


def before_an_end(optimizer, rounds=3):
    """Play rounds to their ends but for the last loss of the last one; return that action, and one within a round."""
    for _ in range(rounds):
        actions = optimizer.ask_round()
        optimizer.tell(actions.ids, np.full(len(actions), 0.5))
    *others, last = list(optimizer.ask_round())
    for action in others[:-1]:
        optimizer.tell(action.id, 0.5)
    return others[-1], last


def in_memory():
    optimizer = sv.PrivateBandit(sv.domains.Ball(10), **OPTIONS)
    within, last = before_an_end(optimizer)
    yield walked(optimizer.tell, within.id, 0.5).row("memory, warm tell")
    yield walked(optimizer.tell, last.id, 0.5).row("memory, tell that releases")
    optimizer.ask()
    yield walked(optimizer.ask).row("memory, warm ask")


def in_a_study():
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder) / 'walks.db'}"
        study = sv.Study.open(url, name="walks", domain=sv.domains.Ball(10), **OPTIONS)
        within, last = before_an_end(study)
        for name, action in (("study, warm tell", within), ("study, tell that closes", last)):
            yield walked(study.tell, action.id, 0.5).row(name)
        study.close()


def in_blocks():
    """Yield the mean of many pairs of calls, from the first event of a long study on."""
    with tempfile.TemporaryDirectory() as folder:
        url, losses = f"sqlite:///{Path(folder) / 'blocks.db'}", np.linspace(0.0, 1.0, 256)
        study = sv.Study.open(url, name="walks", domain=sv.domains.Ball(10), **{**OPTIONS, "horizon": 10**7})
        walk = walked(lambda: [study.tell(study.ask(256).ids, losses) for _ in range(PAIRS)])
        name, calls, functions, files, changes, transactions, aim = walk.row("study, ask and tell 256")
        yield name, calls // PAIRS, functions, files, changes // PAIRS, f"{transactions / PAIRS:.2f}", aim
        study.close()


def main():
    rows = [*in_memory(), *in_a_study(), *in_blocks()]
    show("walks", "Own frames of one call", ["", "calls", "functions", "files", "changes", "transactions", "aim"], rows)


if __name__ == "__main__":
    main()
